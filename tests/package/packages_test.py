#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is installed serves other builds: pkg-config, CMake, Meson with Tenon installed and as a
subproject. The prefix was moved.

usage: packages_test.py BUILD SOURCE COMPILER...
"""

import configparser
import json
import pathlib
import re
import shutil
import sys
import unittest

from prefix import Prefix, run

build, source, *compiler = sys.argv[1:]
source = pathlib.Path(source)
here = pathlib.Path(__file__).resolve().parent
has_cmake = shutil.which("cmake") is not None
CMAKE_HEAD = "cmake_minimum_required(VERSION 3.17)\nproject(consumer LANGUAGES C CXX)\n"


def value_of(text, pattern):
    [found] = re.findall(pattern, text, re.MULTILINE)
    return found


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = prefix.folder / self.id().rpartition(".")[2]
        self.folder.mkdir()
        self.env = prefix.environment()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def cmake(self, text, *arguments, expect=0):
        self.write("CMakeLists.txt", CMAKE_HEAD + text)
        return run("cmake", "-B", "build", *arguments, env=self.env, cwd=self.folder, expect=expect)

    def check_plugin(self, path, backend="Add"):
        shown = run("tenon-inspect", path, "--load", "--json", env=self.env).stdout
        self.assertEqual(json.loads(shown)["record"]["backends"][0]["id"], backend)

    def test_versions_come_from_one_place(self):
        header = (prefix.path / "include/tenon/abi/version.h").read_text()
        sdk = value_of(header, r'VERSION_STRING "(.*)"')
        abi = ".".join(value_of(header, rf"TENON_ABI_{part} (\d+)") for part in ("MAJOR", "MINOR"))
        for package in ("tenon", "tenon-host", "tenon-conformance"):
            self.assertEqual(prefix.pkg_config("--modversion", package), sdk)
        self.assertEqual(prefix.pkg_config("--variable=abi_version", "tenon"), abi)
        self.assertIn(f"\n## {sdk} ", (source / "CHANGELOG.md").read_text())
        for tool in sorted((prefix.path / "bin").iterdir()):
            shown = run(tool, "--version", env=self.env).stdout
            self.assertEqual(shown, f"{tool.name} {sdk}\n")
        if has_cmake:
            shown = self.cmake("find_package(Tenon REQUIRED)\n"
                               'message("sdk=${Tenon_VERSION} abi=${Tenon_ABI_VERSION}")\n').stdout
            self.assertIn(f"sdk={sdk} abi={abi}\n", shown)

    def test_what_is_fetched_is_pinned_and_written_down(self):
        page = (source / "docs/getting-started/packages.md").read_text()
        wraps = sorted((source / "subprojects").glob("*.wrap"))
        self.assertGreaterEqual(len(wraps), 5)
        for path in wraps:
            with self.subTest(path.name):
                wrap = configparser.ConfigParser()
                wrap.read(path)
                of = wrap["wrap-file"]
                self.assertRegex(of["source_hash"], "^[0-9a-f]{64}$")
                self.assertRegex(of["source_url"], "^https://")
                version = of["directory"].rpartition("-")[2]
                self.assertIn(version, of["source_url"])
                self.assertIn(f"| {version} |", page)
                if "patch_directory" in of:
                    build_file = source / "subprojects/packagefiles" / of["patch_directory"] / "meson.build"
                    self.assertIn(f"version: '{version}'", build_file.read_text())

    def test_no_installed_text_names_the_place_of_the_build(self):
        checked = 0
        for path in prefix.path.rglob("*"):
            if path.suffix in (".pc", ".cmake", ".hpp", ".h", ".json", ".md", ".txt"):
                checked += 1
                text = path.read_text()
                for place in (str(source), build):
                    # Not the end of another path, as of include/tenon where the sources are in /tenon.
                    self.assertNotRegex(text, rf"((?<![\w.}}@])|(?<=-[IL])){re.escape(str(place))}(?![\w-])", path)
        self.assertGreater(checked, 200)

    def test_places_in_packages_are_in_the_moved_prefix(self):
        for name in ("plugin_map", "plugindir", "templatesdir", "schemasdir", "bindir", "datadir",
                     "tenon_conformance", "tenon_new"):
            place = pathlib.Path(prefix.pkg_config(f"--variable={name}", "tenon")).resolve()
            self.assertTrue(place.exists(), f"{name}: {place}")
            self.assertTrue(place.is_relative_to(prefix.path), f"{name}: {place}")
        self.assertIn(str(prefix.path), prefix.pkg_config("--cflags", "tenon-host"))

    def test_a_plugin_is_one_line_with_pkg_config(self):
        page = (source / "docs/getting-started/packages.md").read_text()
        [line] = re.findall(r"```sh\n(c\+\+ .*?)```", page, re.DOTALL)
        shutil.copy(source / "examples/backends/hello/hello.cpp", self.folder / "acme.cpp")
        run(line.replace("c++ ", self.env["CXX"] + " ", 1), env=self.env, cwd=self.folder)
        self.check_plugin(self.folder / "acme.so")

    def test_a_plugin_in_c_is_one_line_with_pkg_config_and_no_warning(self):
        page = (source / "docs/backends/c-and-rust.md").read_text()
        [line] = re.findall(r"```sh\n(cc .*)\n", page)
        for path in (source / "examples/backends/in_c").glob("*.[ch]"):
            shutil.copy(path, self.folder)
        run(line.replace("cc ", "cc -Werror ", 1), env=self.env, cwd=self.folder)
        self.check_plugin(self.folder / "in_c.so", "ScaleBias")

    @unittest.skipUnless(has_cmake, "there is no cmake")
    def test_cmake_builds_plugins_and_applications(self):
        shutil.copy(source / "examples/backends/hello/hello.cpp", self.folder / "acme.cpp")
        shutil.copy(source / "examples/applications/embed/embed.cpp", self.folder)
        shutil.copy(source / "examples/applications/c_host/sines.c", self.folder)
        self.cmake("find_package(Tenon 0.1 REQUIRED COMPONENTS host)\n"
                   "tenon_add_plugin(acme acme.cpp)\n"
                   "add_executable(embed embed.cpp)\n"
                   "target_link_libraries(embed PRIVATE Tenon::host)\n"
                   "add_executable(sines sines.c)\n"
                   "target_link_libraries(sines PRIVATE Tenon::c)\n"
                   "include(CTest)\n"
                   "tenon_add_conformance_test(acme LEVEL 2 ARGS --color never\n"
                   f"  --cases \"{source}/tests/conformance/cases/hello\")\n")
        run("cmake", "--build", "build", env=self.env, cwd=self.folder)
        self.check_plugin(self.folder / "build/acme.so")
        model = source / "tests/conformance/cases/hello/add/model.pte"
        refused = run("build/embed", "build/acme.so", model, env=self.env, cwd=self.folder, expect=1)
        self.assertIn("embed: NotSupported (0x10): method forward: input 0", refused.stdout)
        refused = run("build/sines", "build/acme.so", model, env=self.env, cwd=self.folder, expect=1)
        self.assertIn("sines: NotSupported: method forward: input 0", refused.stdout)
        shown = run("ctest", "--test-dir", "build", env=self.env, cwd=self.folder).stdout
        self.assertIn("acme-conformance", shown)
        self.assertIn("100% tests passed", shown)

    @unittest.skipUnless(has_cmake, "there is no cmake")
    def test_cmake_fails_the_build_of_a_plugin_that_hosts_refuse(self):
        # Runs code when it is loaded: TN-BIN-2.
        text = (source / "examples/backends/hello/hello.cpp").read_text()
        self.write("acme.cpp", text + "\nextern int at_load;\nint at_load = "
                                      "static_cast<int>(std::string_view(__FILE__).size() + "
                                      "reinterpret_cast<std::size_t>(&at_load) % 7);\n"
                                      "__attribute__((constructor)) static void now() { ++at_load; }\n")
        self.cmake("find_package(Tenon 0.1 REQUIRED)\ntenon_add_plugin(acme acme.cpp)\n")
        shown = run("cmake", "--build", "build", env=self.env, cwd=self.folder, expect=None)
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("is no good plugin", shown.stdout)
        self.assertIn("TN-BIN-2", shown.stdout)

    @unittest.skipUnless(has_cmake, "there is no cmake")
    def test_cmake_says_what_is_wrong_with_a_request(self):
        for request, text in (
                ("0.2", 'compatible with requested version "0.2"'),
                ("1", 'compatible with requested version "1"'),
                ("0.1.99", 'compatible with requested version "0.1.99"'),
                ("COMPONENTS nonsense", "there are tenon, host and conformance"),
        ):
            with self.subTest(request):
                shutil.rmtree(self.folder / "build", ignore_errors=True)
                shown = self.cmake(f"find_package(Tenon {request} REQUIRED)\n", expect=1).stdout
                self.assertIn(text, " ".join(shown.split()))
        for request in ("0", "0.1", "0.1.0 EXACT", "0.1...<0.2", "COMPONENTS tenon host conformance"):
            with self.subTest(request):
                shutil.rmtree(self.folder / "build", ignore_errors=True)
                self.cmake(f"find_package(Tenon {request} REQUIRED)\n"
                           "if(NOT TARGET Tenon::conformance)\nmessage(FATAL_ERROR no)\nendif()\n")
        for use, text in (("tenon_add_plugin(acme)", "expected sources after the name"),
                          ("tenon_add_conformance_test(acme)", "there is no such target")):
            with self.subTest(use):
                shown = self.cmake(f"find_package(Tenon REQUIRED)\n{use}\n", expect=1).stdout
                self.assertIn(text, " ".join(shown.split()))

    @unittest.skipUnless(has_cmake, "there is no cmake")
    def test_cmake_names_what_the_host_lacks(self):
        without = "set(CMAKE_DISABLE_FIND_PACKAGE_{} ON)\n"
        for package, component, text in (("nlohmann_json", "host", "nlohmann_json 3"),
                                         ("fmt", "conformance", "fmt 9 or later")):
            shown = self.cmake(without.format(package) + "find_package(Tenon REQUIRED COMPONENTS "
                               f"{component})\n", expect=1).stdout
            self.assertIn(f"component {component}: not found: {text}", " ".join(shown.split()))
            shutil.rmtree(self.folder / "build")
        self.cmake(without.format("nlohmann_json") + "find_package(Tenon REQUIRED)\n"
                   "if(TARGET Tenon::host)\nmessage(FATAL_ERROR no)\nendif()\n")

    def meson_consumer(self, *lines):
        shutil.copy(source / "examples/backends/hello/hello.cpp", self.folder / "acme.cpp")
        page = (source / "docs/getting-started/packages.md").read_text()
        [block] = re.findall(r"```meson\n(.*?)```", page, re.DOTALL)
        self.write("meson.build",
                   "project('consumer', 'cpp', default_options: 'cpp_std=c++20')\n"
                   + block + "\n".join(lines))
        run("meson", "setup", "build", env=self.env, cwd=self.folder)
        run("ninja", "-C", "build", env=self.env, cwd=self.folder)
        self.check_plugin(self.folder / "build/acme.so")

    def test_meson_finds_the_installed_one(self):
        self.meson_consumer("assert(tenon_dep.type_name() == 'pkgconfig')")

    def test_meson_takes_it_as_a_subproject(self):
        self.env.pop("PKG_CONFIG_PATH")
        (self.folder / "subprojects").mkdir()
        (self.folder / "subprojects/tenon").symlink_to(source)
        page = (source / "docs/getting-started/packages.md").read_text()
        [wrap] = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
        self.write("subprojects/tenon.wrap", wrap)
        self.meson_consumer(
            "assert(tenon_dep.type_name() == 'internal')",
            "kwargs = subproject('tenon').get_variable('plugin_kwargs')",
            "shared_module('acme2', 'acme.cpp', dependencies: tenon_dep, kwargs: kwargs)\n")
        built = {path.name for path in (self.folder / "build").rglob("*.so")}
        self.assertEqual(built, {"acme.so", "acme2.so"})


if __name__ == "__main__":
    with Prefix(build, compiler) as prefix:
        unittest.main(argv=sys.argv[:1], verbosity=2)
