# SPDX-License-Identifier: MIT
"""Plugins that installed packages offer, and where the package finds its prefix:
packages_test.py BUILD SOURCE."""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest

import tenon
from tenon import _config, _entry_points, _prefix
from tenon._error import Error

BUILD, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
MODULE = """
import pathlib

file = pathlib.Path(__file__).with_name("acme.so")


def plugin():
    return file


def relative():
    return "acme.so"


def broken():
    raise OSError("no driver")


number = 3
"""


class Packages(unittest.TestCase):
    """Each test has an installed package `acme` with a file that is taken for a plugin."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.addCleanup(setattr, sys, "path", list(sys.path))
        sys.path.insert(0, str(self.folder))
        (self.folder / "tenon_test_acme.py").write_text(MODULE)
        (self.folder / "acme.so").write_bytes(b"\x7fELF")
        self.addCleanup(sys.modules.pop, "tenon_test_acme", None)
        self.addCleanup(self.forget)

    @staticmethod
    def forget():
        _entry_points.offered.cache_clear()
        _entry_points.plugin_file.cache_clear()

    def install(self, name, version, **offers):
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{id} = tenon_test_acme:{value}" for id, value in offers.items()]
        (info / "entry_points.txt").write_text("\n".join(["[tenon.plugins]", *lines, ""]))
        self.forget()

    def refusal(self, id):
        with self.assertRaises(Error) as caught:
            _entry_points.plugin_file(id)
        return caught.exception

    def test_a_backend_is_listed_without_an_import_and_loaded_at_first_use(self):
        self.install("acme", "1.2", AcmeBackend="plugin", AcmeOther="file")
        offered = _entry_points.offered()
        self.assertEqual(offered["AcmeBackend"],
                         [_entry_points.Offer("AcmeBackend", "acme", "1.2", "tenon_test_acme:plugin")])
        self.assertNotIn("tenon_test_acme", sys.modules)
        # A function that returns the path, and the path itself.
        for id in ("AcmeBackend", "AcmeOther"):
            self.assertEqual(_entry_points.plugin_file(id), str(self.folder / "acme.so"))
        self.assertIn("tenon_test_acme", sys.modules)

    def test_an_id_that_is_not_offered_imports_nothing(self):
        self.install("acme", "1.2", AcmeBackend="plugin")
        self.assertIsNone(_entry_points.plugin_file("OtherBackend"))
        self.assertNotIn("tenon_test_acme", sys.modules)

    def test_an_id_of_two_packages_is_an_error_that_names_both(self):
        self.install("acme", "1.2", AcmeBackend="plugin")
        self.install("beta", "3", AcmeBackend="plugin")
        error = self.refusal("AcmeBackend")
        self.assertEqual((error.number, error.name), (0x16, "RegistrationAlreadyRegistered"))
        self.assertIn("acme 1.2 (tenon_test_acme:plugin)", error.text)
        self.assertIn("beta 3 (tenon_test_acme:plugin)", error.text)
        self.assertNotIn("tenon_test_acme", sys.modules)

    def test_a_directory_that_is_on_the_path_twice_is_no_duplicate(self):
        self.install("acme", "1.2", AcmeBackend="plugin")
        sys.path.append(str(self.folder) + "/.")
        self.assertEqual(len(_entry_points.offered()["AcmeBackend"]), 1)

    def test_objects_that_are_no_path_of_a_file_are_refused_with_what_was_expected(self):
        self.install("acme", "1.2", A="missing", B="number", C="broken", D="relative")
        for id, text in {"A": "has no attribute 'missing'", "B": "TypeError", "C": "OSError: no driver",
                         "D": "gives 'acme.so', expected the absolute path of a file"}.items():
            error = self.refusal(id)
            self.assertEqual((error.number, error.name), (0x22, "AccessFailed"), id)
            self.assertIn(f"backend '{id}': the entry point of acme 1.2", error.text)
            self.assertIn(text, error.text)
        (self.folder / "acme.so").unlink()
        self.install("beta", "1", E="plugin")
        self.assertIn("acme.so', expected the absolute path of a file", self.refusal("E").text)


    def test_a_package_serves_a_program_when_its_method_is_loaded(self):
        folder = SOURCE / "tests/fixtures/demo_sin_seg"
        demo = BUILD / "examples/backends/demo_backend.so"
        (self.folder / "acme.so").unlink()
        (self.folder / "acme.so").symlink_to(demo)
        program = tenon.load(folder / "model.pte", plugins=[BUILD / "examples/backends/hello.so"])
        self.install("acme", "1.2", BackendWithCompilerDemo="plugin", Add="missing")
        # Add is not what the program needs: its entry point, which is broken, is not loaded.
        self.assertIn("forward", program["forward"].name)
        self.assertIn("tenon_test_acme", sys.modules)

    def test_a_plugin_that_is_given_wins_over_what_a_package_offers(self):
        folder = SOURCE / "tests/fixtures/demo_sin_seg"
        demo = BUILD / "examples/backends/demo_backend.so"
        (self.folder / "acme.so").write_bytes(demo.read_bytes())
        self.install("acme", "1.2", BackendWithCompilerDemo="plugin")
        program = tenon.load(folder / "model.pte", plugins=[demo])
        self.assertIsNotNone(program.load_method("forward"))

    def test_two_packages_with_the_backend_of_a_program_are_an_error_when_it_is_loaded(self):
        self.install("acme", "1.2", BackendWithCompilerDemo="plugin")
        self.install("beta", "3", BackendWithCompilerDemo="plugin")
        program = tenon.load(SOURCE / "tests/fixtures/demo_sin_seg/model.pte",
                             plugins=[BUILD / "examples/backends/hello.so"])
        with self.assertRaises(Error) as caught:
            program.load_method("forward")
        self.assertIn("acme 1.2", caught.exception.text)
        self.assertIn("beta 3", caught.exception.text)


class Prefix(unittest.TestCase):
    def test_a_build_directory_is_no_prefix(self):
        self.assertIsNone(_prefix.prefix())
        self.assertIsNone(_prefix.plugin_folder())
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(_config.main(["--includedir"]), 1)
        self.assertIn("in a build directory, not installed", said.getvalue())

    def test_the_directory_of_plugins_is_that_of_the_abi(self):
        header = (SOURCE / "include/tenon/abi/version.h").read_text()
        [major] = re.findall(r"#define TENON_ABI_MAJOR (\d+)", header)
        self.assertEqual(_prefix._ABI_MAJOR, int(major))
        recipe = (SOURCE / "examples/python/packaging/build_wheel.py").read_text()
        self.assertIn(f'ABI_MAJOR = "{major}"', recipe)

    def test_the_template_installs_its_manifest_where_hosts_search(self):
        recipe = (SOURCE / "templates/python/meson.build").read_text()
        self.assertIn(f"'{_prefix._PLUGINS}'", recipe)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
