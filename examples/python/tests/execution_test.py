# SPDX-License-Identifier: MIT
"""Threads, hints and publishers of an application, and bytes of programs: execution_test.py BUILD SOURCE. Needs NumPy, not PyTorch."""

import gc
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
FIXTURES = SOURCE / "tests/fixtures"
DEMO = BUILD / "examples/backends/demo_backend.so"
ADD = FIXTURES / "bench/demo_add.pte"
WORKER = BUILD / "examples/programs/isolation/tenon-worker"
CPU_AOTI = BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"
INPUTS = [np.full((2, 2), value, np.float32) for value in (1, 2, 3)]


class Execution(unittest.TestCase):
    def assertFails(self, name, text, function, *arguments, **keywords):
        with self.assertRaises(tenon.Error) as caught:
            function(*arguments, **keywords)
        self.assertEqual(caught.exception.name, name)
        self.assertIn(text, caught.exception.text)

    def test_publishers_that_the_environment_names_decide_what_is_loaded(self):
        def load():
            return tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS)

        with tempfile.TemporaryDirectory() as folder:
            publishers = pathlib.Path(folder).resolve() / "publishers.json"
            publishers.write_text('{"publishers_version": 1, "publishers": []}')
            publishers.chmod(0o644)
            with unittest.mock.patch.dict(os.environ, TENON_PUBLISHERS=str(publishers)):
                self.assertFails("AccessFailed", f"its signature {DEMO}.minisig is not there", load)
            with unittest.mock.patch.dict(os.environ, TENON_PUBLISHERS="/no/such/publishers.json"):
                self.assertFails("NotFound", "TENON_PUBLISHERS: /no/such/publishers.json", load)
        load()

    def test_a_plugin_runs_in_a_process_of_its_own_by_an_argument_or_by_the_variable(self):
        expected = tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS).tolist()
        gc.collect()

        def is_here():
            return DEMO.name in pathlib.Path("/proc/self/maps").read_text()

        with unittest.mock.patch.dict(os.environ, TENON_WORKER=str(WORKER)):
            self.assertFails("InvalidArgument", "isolate: 'demo*=tight'", tenon.load, ADD, plugins=[DEMO],
                             isolate="demo*=tight")
            for isolate, variable, here in ((None, "", True), ("other*", "", True),
                                            ("demo*", "", False), ("BackendWithCompilerDemo=none", "", False),
                                            (None, "demo_backend.so", False)):
                with unittest.mock.patch.dict(os.environ, TENON_ISOLATE=variable), self.subTest(isolate, variable=variable):
                    method = tenon.load(ADD, plugins=[DEMO], isolate=isolate)["forward"]
                    self.assertEqual((is_here(), method(*INPUTS).tolist()), (here, expected))
                    method.close()
                    del method
                    gc.collect()
        with unittest.mock.patch.dict(os.environ, TENON_WORKER="/nowhere/tenon-worker"):
            self.assertFails("NotFound", "/nowhere/tenon-worker", tenon.load(ADD, plugins=[DEMO], isolate="*").load_method)

    def test_bytes_that_are_changed_after_they_were_verified_change_nothing(self):
        raw = ADD.read_bytes()
        for view in (lambda given: given, memoryview, lambda given: memoryview(given).toreadonly()):
            changeable = bytearray(raw)
            program = tenon.load(view(changeable), plugins=[DEMO])
            changeable[:] = b"\xff" * len(raw)
            self.assertEqual(program["forward"](*INPUTS).tolist(), tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS).tolist())

    def test_bytes_at_any_address_are_opened(self):
        raw = ADD.read_bytes()
        for offset in (0, 1):
            padded = memoryview(b"x" * offset + raw)[offset:]
            program = tenon.load(padded, plugins=[DEMO])
            self.assertEqual(program.name, "<bytes>")
            method = program["forward"]
            del padded, program
            gc.collect()
            self.assertEqual(method(*INPUTS).tolist(), tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS).tolist())

    def test_programs_share_a_pool_of_threads(self):
        pool = tenon.ThreadPool(2)
        self.assertEqual(pool.num_threads, 2)
        methods = [tenon.load(ADD, plugins=[DEMO], threads=threads)["forward"]
                   for threads in (pool, pool, 3, None)]
        del pool
        gc.collect()
        self.assertEqual([method(*INPUTS).tolist() for method in methods],
                         [tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS).tolist()] * 4)
        self.assertFails("InvalidArgument", "expected 1 thread or more, found 0",
                         tenon.ThreadPool, 0)
        self.assertFails("InvalidArgument", "expected 1 thread or more, found 0",
                         tenon.load, ADD, threads=0)
        with self.assertRaises(TypeError):
            tenon.load(ADD, threads="2")

    def test_hints_are_checked_and_change_no_output(self):
        method = tenon.load(ADD, plugins=[DEMO], priority="low", goal="throughput",
                            power="high")["forward"]
        self.assertEqual(method(*INPUTS).tolist(), tenon.load(ADD, plugins=[DEMO])["forward"](*INPUTS).tolist())
        self.assertFails("InvalidArgument", "priority: expected low, normal, high or None, found 'max'",
                         tenon.load, ADD, priority="max")
        self.assertFails("InvalidArgument", "goal: expected latency, throughput or None, found ''",
                         tenon.load, ADD, goal="")

    @unittest.skipUnless(CPU_AOTI.exists(), "built without CpuAotiBackend")
    def test_a_model_of_aotinductor_computes_on_a_pool(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        outputs = [tenon.load(FIXTURES / "cpu_addmul/model.pte", plugins=[CPU_AOTI],
                              threads=threads)["forward"](x, x).tolist()
                   for threads in (None, 1, 3)]
        self.assertEqual(outputs[1:], outputs[:1] * 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
