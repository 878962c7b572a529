#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How build_wheel.py finds the names of what CpuAotiBackend loads by name, which the wheel brings.

usage: wheel_libraries_test.py SOURCE
"""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "examples/python/packaging"))
import build_wheel  # noqa: E402  pylint: disable=wrong-import-position


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-wheel-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "file")

    def test_zydis_has_the_version_of_its_headers(self):
        self.assertEqual(build_wheel.zydis(self.file), [])
        for version, name in (("(ZyanU64)0x0004000000000000", "libZydis.so.4.0"), ("0x0004000100000000ULL", "libZydis.so.4.1")):
            self.file.write_text(f"#define ZYDIS_VERSION {version}\n#define ZYDIS_VERSION_MAJOR(version) 0\n", encoding="utf-8")
            self.assertEqual(build_wheel.zydis(self.file), [name])

    def test_a_version_that_is_not_understood_is_refused(self):
        self.file.write_text("#define ZYDIS_VERSION 4\n", encoding="utf-8")
        with self.assertRaises(ValueError):
            build_wheel.zydis(self.file)

    def test_onednn_is_that_of_which_the_plugin_has_the_name(self):
        self.file.write_bytes(b"\0libdnnl.so.3.7\0libdnnl.so\0libdnnl.so.3.7\0")
        self.assertEqual(build_wheel.onednn_of(self.file), "libdnnl.so.3.7")
        for text in (b"\0libdnnl.so\0", b"\0libdnnl.so.2\0libdnnl.so.3\0"):
            self.file.write_bytes(text)
            with self.assertRaises(ValueError):
                build_wheel.onednn_of(self.file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
