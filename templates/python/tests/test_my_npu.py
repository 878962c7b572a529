# SPDX-License-Identifier: MIT
"""The installed package: python -m unittest discover tests"""

import array
import pathlib
import subprocess
import unittest

import my_npu

MODEL = pathlib.Path(__file__).with_name("scale.pte")


class MyNpu(unittest.TestCase):
    def test_the_plugin_is_installed(self):
        self.assertTrue(my_npu.plugin().is_file())

    def test_tenon_lists_the_backend(self):
        listed = subprocess.run(["tenon-list", "--all"], check=True, capture_output=True, text=True)
        self.assertIn("MyNpuBackend", listed.stdout)

    def test_a_program_runs(self):
        import tenon

        method = tenon.load(MODEL)["forward"]
        numbers = array.array("f", [-2, -1, 0, 0.25, 3, 1e6])
        output = method(memoryview(numbers).cast("B").cast("f", shape=[2, 3]))
        self.assertEqual(memoryview(output).tolist(), [[-3, -1.5, 0], [0.375, 4.5, 1.5e6]])


if __name__ == "__main__":
    unittest.main()
