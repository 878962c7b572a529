#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the recipes for Conan and conda and the port for vcpkg say of Tenon is so. No such program is run: Conan is not
needed to read its recipe, and functions of the same names replace vcpkg's scripts.

usage: ports_test.py SOURCE
"""

import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

source = pathlib.Path(sys.argv[1]).resolve()
ports = source / "include/packages"
VERSION = re.search(r'VERSION_STRING "(.*)"', (source / "include/tenon/abi/version.h").read_text())[1]
# Each prints its name and arguments.
STAND_INS = "cmake_minimum_required(VERSION 3.17)\n" + "".join(
    f'function({name})\n  message("{name}: ${{ARGN}}")\nendfunction()\n' for name in (
        "vcpkg_configure_meson", "vcpkg_install_meson", "vcpkg_cmake_config_fixup", "vcpkg_replace_string",
        "vcpkg_fixup_pkgconfig", "vcpkg_install_copyright"))


class Name(unittest.TestCase):
    def test_it_is_tenon_and_on_pypi_tenon_ml(self):
        # docs/project/decisions.md says why.
        names = {
            "meson.build": r"^project\(\s*'([^']*)'",
            "include/packages/conda/recipe.yaml": r"^  name: (.*)$",
            "include/packages/conan/conanfile.py": r'^    name = "(.*)"$',
            "include/packages/vcpkg/vcpkg.json": r'^  "name": "(.*)",$',
            "include/packages/debian/files/control": r"^Source: (.*)$",
            "examples/python/pyproject.toml": r'^name = "(.*)"$',
        }
        found = {path: re.search(pattern, (source / path).read_text(), re.M)[1] for path, pattern in names.items()}
        self.assertEqual(found, dict.fromkeys(names, "tenon") | {"examples/python/pyproject.toml": "tenon-ml"})
        # Pages must not name the other project.
        for path in [*source.glob("*.md"), *(source / "docs").rglob("*.md"), *(source / "templates").rglob("*.md")]:
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                self.assertNotRegex(line, r"pip3? install (\S+ )*[\"']?tenon(?![\w-])", path)


class Vcpkg(unittest.TestCase):
    def test_the_manifest_has_the_version_and_what_the_host_needs(self):
        manifest = json.loads((ports / "vcpkg/vcpkg.json").read_text())
        self.assertEqual((manifest["name"], manifest["version"], manifest["license"]), ("tenon", VERSION, "MIT"))
        names = [each if isinstance(each, str) else each["name"] for each in manifest["features"]["host"]["dependencies"]]
        self.assertEqual(set(names), {"flatbuffers", "fmt", "nlohmann-json"})

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_the_port_builds_these_sources_with_and_without_the_host(self):
        with tempfile.TemporaryDirectory(prefix="tenon-ports-") as name:
            for features, host in (("core;host", "enabled"), ("core", "disabled")):
                script = pathlib.Path(name, "run.cmake")
                script.write_text(f"{STAND_INS}set(FEATURES \"{features}\")\nset(CURRENT_PACKAGES_DIR /packages)\n"
                                  f"include({ports}/vcpkg/portfile.cmake)\n")
                shown = subprocess.run(["cmake", "-P", script], check=True, capture_output=True, text=True).stderr
                self.assertIn(f"vcpkg_configure_meson: SOURCE_PATH;{source};OPTIONS;", shown)
                self.assertIn(f";-Dhost={host};", shown)
                for text in re.findall(rf"(?<!\w){source}/(\w+)", shown):
                    self.assertTrue((source / text).exists(), text)

    def test_what_the_port_replaces_is_in_the_installed_file(self):
        text = (ports / "vcpkg/portfile.cmake").read_text()
        [replaced] = re.findall(r'^  "\\(\$.*?)" ', text, re.M)
        # As packages/meson.build makes it of lib/cmake/Tenon.
        self.assertEqual(replaced, "/".join(["${CMAKE_CURRENT_LIST_DIR}"] + [".."] * 3))
        self.assertIn('get_filename_component(TENON_PREFIX "@prefix@" ABSOLUTE)', (ports / "TenonConfig.cmake.in").read_text())


class Conan(unittest.TestCase):
    def test_what_the_recipe_takes_of_the_sources_is_there(self):
        for path in ("conanfile.py", "test_package/conanfile.py"):
            ast.parse((ports / "conan" / path).read_text())
        text = (ports / "conan/conanfile.py").read_text()
        [patterns] = re.findall(r"for pattern in \((.*?)\):", text, re.S)
        names = ast.literal_eval(f"[{patterns}]")
        self.assertGreater(len(names), 8)
        for name in names:
            self.assertTrue((source / name.removesuffix("/*")).exists(), name)
        # Each folder that the build enters without the tests and examples.
        entered = set(re.findall(r"^subdir\('(\w+)'\)$", (source / "meson.build").read_text(), re.M))
        self.assertEqual({f"{name}/*" for name in entered} - set(names), set())


class Conda(unittest.TestCase):
    TEXT = (ports / "conda/recipe.yaml").read_text()

    def test_the_recipe_has_the_version_and_no_sum_of_another_archive(self):
        self.assertIn(f'  version: "{VERSION}"\n', self.TEXT)
        self.assertIn(f'  sha256: "{64 * "0"}"\n', self.TEXT)

    def test_options_and_files_that_the_recipe_names_are_there(self):
        options = (source / "meson_options.txt").read_text()
        named = re.findall(r" -D(\w+)=enabled", self.TEXT)
        self.assertGreater(len(named), 3)
        for name in named:
            self.assertIn(f"option('{name}', type: 'feature'", options)
        for path in re.findall(r"^        - ((?:examples|tests)/\S+)$", self.TEXT, re.M):
            self.assertTrue((source / path).exists(), path)
        for path in re.findall(r"^        - (tenon/\S+)$", self.TEXT, re.M):
            self.assertTrue((source / "include" / path).exists(), path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
