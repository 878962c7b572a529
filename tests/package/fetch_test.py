#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The top-level CMakeLists.txt. `agreement`: what a project gets of it is what Meson builds and find_package(Tenon) gives.
`application`: a copy of examples/applications/consumer, which has nothing but an archive of the sources, is built by the
commands of its README and prints what that shows; then the lines of docs/getting-started/cmake.md, in the same project, so
that the host is compiled once. Nothing is downloaded.

usage: fetch_test.py BUILD SOURCE agreement|application COMPILER...
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import unittest

from prefix import Stopwatch, run

build, source, which, *compiler = sys.argv[1:]
build, source = pathlib.Path(build), pathlib.Path(source)
environment = dict(os.environ, CXX=" ".join(compiler))
if not shutil.which("cmake"):
    print("skipped: there is no cmake", file=sys.stderr)
    sys.exit(77)
HEAD = "cmake_minimum_required(VERSION 3.17)\nproject(consumer LANGUAGES CXX)\n"
FETCH = "include(FetchContent)\nFetchContent_Declare(tenon URL none)\nFetchContent_MakeAvailable(tenon)\n"
GENERATED = ("enums", "flat_tensor", "flat_tensor_objects", "program", "program_objects")
PLUGIN = "tenon_add_plugin(hello hello.cpp)\n"


def meson_option(name):
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    [value] = [option["value"] for option in options if option["name"] == name]
    return value


class Project(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon-fetch-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        shutil.copy(source / "examples/backends/hello/hello.cpp", self.folder)

    def cmake(self, text, *arguments, expect=0):
        (self.folder / "CMakeLists.txt").write_text(text)
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        return run("cmake", "-Wno-dev", "-G", "Ninja", "-B", "build", f"-DFETCHCONTENT_SOURCE_DIR_TENON={source}", *arguments,
                   env=environment, cwd=self.folder, expect=expect).stdout

    def make(self, *targets):
        words = ["--target", *targets] if targets else []
        return run("cmake", "--build", "build", *words, env=environment, cwd=self.folder).stdout


class Agreement(Project):
    def test_it_is_what_meson_builds_and_find_package_gives(self):
        prefix, libdir = meson_option("prefix"), meson_option("libdir")
        shown = self.cmake(HEAD + FETCH + PLUGIN +
                           "get_property(names DIRECTORY PROPERTY CACHE_VARIABLES)\n"
                           "foreach(name IN LISTS names)\nif(name MATCHES \"^Tenon_\")\n"
                           "message(\"${name}=${${name}}\")\nendif()\nendforeach()\n"
                           "foreach(target tenon host)\nif(NOT TARGET Tenon::${target})\n"
                           "message(FATAL_ERROR ${target})\nendif()\nendforeach()\n"
                           "if(NOT COMMAND tenon_add_conformance_test)\nmessage(FATAL_ERROR no)\nendif()\n",
                           f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_LIBDIR={libdir}")
        values = dict(re.findall(r"^(Tenon_\w+)=(.*)$", shown, re.MULTILINE))

        # The variables of TenonConfig.cmake, besides find_package's own.
        config = (build / "include/packages/TenonConfig.cmake").read_text()
        installed = dict(re.findall(r'^set\((Tenon_\w+) "?([^")]*)"?\)$', config, re.MULTILINE))
        del installed["Tenon_FOUND"]
        self.assertGreater(len(installed), 9)
        self.assertEqual(set(installed) - set(values), set())
        for name in ("Tenon_VERSION", "Tenon_ABI_VERSION", "Tenon_HAS_HOST", "Tenon_tenon_FOUND"):
            self.assertEqual(values[name], installed[name], name)
        self.assertEqual(values["Tenon_PLUGIN_DIR"], installed["Tenon_PLUGIN_DIR"].replace("${TENON_PREFIX}", prefix))
        self.assertEqual(values["Tenon_PLUGIN_EXPORT_OPTION"],
                         installed["Tenon_PLUGIN_EXPORT_OPTION"].replace("${Tenon_PLUGIN_MAP}", values["Tenon_PLUGIN_MAP"]))
        self.assertEqual(pathlib.Path(values["Tenon_PLUGIN_MAP"]).name, pathlib.Path(installed["Tenon_PLUGIN_MAP"]).name)
        for name in ("INCLUDE_DIR", "TEMPLATES_DIR", "SCHEMAS_DIR", "PLUGIN_MAP"):
            self.assertTrue(pathlib.Path(values[f"Tenon_{name}"]).exists(), name)

        # Both have the same sources, and the same headers from flatc.
        made, ours = self.folder / "build/_deps/tenon-build", build / "include/tenon/host"
        self.assertEqual({path.read_text() for path in made.glob("*.cpp")},
                         {path.read_text() for path in ours.glob("host_*.cpp")})
        headers = [f"include/tenon/host/schema/{name}_generated.h" for name in GENERATED]
        self.make(*(f"_deps/tenon-build/{name}" for name in headers))
        for name in [*headers, "include/tenon/host/plugindir.hpp"]:
            self.assertEqual((made / name).read_text(), (build / name).read_text(), name)

        # A plugin alone compiles nothing of the host.
        self.make()
        self.assertTrue((self.folder / "build/hello.so").is_file())
        self.assertEqual(list(made.rglob("*.a")), [])
        shown = run(build / "examples/programs/tenon-inspect/tenon-inspect", self.folder / "build/hello.so", "--json",
                    env=environment)
        self.assertEqual(json.loads(shown.stdout)["record"]["backends"][0]["id"], "Add")

    def test_a_host_that_cannot_be_is_left_out_or_refused_with_the_reason(self):
        report = "if(TARGET Tenon::host)\nmessage(FATAL_ERROR no)\nendif()\nmessage(\"why: ${Tenon_host_MISSING}\")\n"
        lacking = ("-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON",)
        for arguments, text in ((("-DTENON_HOST=OFF",), "why: Tenon was installed with -Dhost=disabled, or TENON_HOST is OFF"),
                                (lacking, "why: not found: nlohmann_json 3")):
            with self.subTest(arguments):
                self.assertIn(text, self.cmake(HEAD + FETCH + report, *arguments))
        shown = self.cmake(HEAD + FETCH, "-DTENON_HOST=ON", *lacking, expect=1)
        self.assertIn("Tenon: TENON_HOST is ON, but not found: nlohmann_json 3", " ".join(shown.split()))

    def test_dependencies_may_be_targets_of_the_project(self):
        # As flatbuffers and nlohmann_json give them by FetchContent; and Tenon in a folder of the project, whose functions
        # are called from another one.
        (self.folder / "third_party").mkdir()
        (self.folder / "third_party/CMakeLists.txt").write_text(f"add_subdirectory({source} tenon)\n")
        self.cmake(HEAD + "find_path(found flatbuffers/flatbuffers.h)\nfind_program(TENON_FLATC flatc)\n"
                   "add_library(json INTERFACE)\nadd_library(nlohmann_json::nlohmann_json ALIAS json)\n"
                   "add_library(flatbuffers INTERFACE)\n"
                   "target_include_directories(flatbuffers INTERFACE $<BUILD_INTERFACE:${found}/own/..>)\n"
                   "add_subdirectory(third_party)\n" + PLUGIN +
                   "get_target_property(folders Tenon::host INTERFACE_INCLUDE_DIRECTORIES)\n"
                   "if(NOT folders MATCHES \"/own/\")\nmessage(FATAL_ERROR \"${folders}\")\nendif()\n",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", "-DTENON_HOST=ON")
        self.make("hello")


# What CMake reads of the sources.
FETCHED = ("CMakeLists.txt", "include", "templates", "docs/schemas", "tests/conformance/kit")


class Application(Project):
    def test_the_folder_to_copy_and_the_lines_of_the_page(self):
        shutil.copytree(source / "examples/applications/consumer", self.folder, dirs_exist_ok=True)
        archive = self.folder / "tenon.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
            for name in FETCHED:
                tar.add(source / name, f"tenon/{name}")
        watch = Stopwatch()
        shown = self.session((self.folder / "README.md").read_text(), archive)
        print("consumer, not optimised: {:.0f} s, {:.0f} s of CPU".format(*watch.read()))
        self.assertEqual(shown.split(), ["2.5", "5", "7.5", "10"])
        # A folder in place of the archive.
        self.configure("folder", f"-DTENON={source}", "-DTENON_HOST=ON")

        lines = self.lines_of_the_page()
        for name in ("applications/embed", "backends/demo_backend"):
            for path in (source / "examples" / name).glob("*.?pp"):
                shutil.copy(path, self.folder)
        with open(self.folder / "CMakeLists.txt", "a", encoding="utf-8") as project:
            project.write(lines)
        self.make()
        model = source / "tests/fixtures/demo_sin_inline/model.pte"
        shown = run("build/embed", "build/demo_backend.so", model, env=environment, cwd=self.folder).stdout
        self.assertEqual([round(float(line), 4) for line in shown.split()], [0.0998, 0.1987, 0.2955, 0.3894])

    def configure(self, folder, *arguments):
        run("cmake", "-G", "Ninja", "-B", folder, *arguments, env=environment, cwd=self.folder)

    def session(self, page, archive):
        """Runs the commands of the README; what the last one prints, which the page shows."""
        [block] = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
        commands = re.findall(r"^\$ (.*)$", block, re.MULTILINE)
        self.assertEqual(len(commands), 3)
        for command in commands:
            shown = run(command, env=environment | {"TENON": str(archive), "CXXFLAGS": "-O0", "CMAKE_GENERATOR": "Ninja"},
                        cwd=self.folder).stdout
        self.assertEqual(shown, block.split(commands[-1] + "\n")[1])
        return shown

    @staticmethod
    def lines_of_the_page():
        """The targets of the page; its own FetchContent, of an address and the tag of this version, is not run."""
        page = (source / "docs/getting-started/cmake.md").read_text()
        [text] = [block for block in re.findall(r"```cmake\n(.*?)```", page, re.DOTALL) if "FetchContent" in block]
        header = (source / "include/tenon/abi/version.h").read_text()
        tag = re.search('VERSION_STRING .(.*).$', header, re.M)[1]
        head, targets = text.split("FetchContent_MakeAvailable(tenon)\n")
        if HEAD + "\ninclude(FetchContent)\n" not in head or f"GIT_TAG v{tag}\n" not in head:
            raise AssertionError(f"docs/getting-started/cmake.md:\n{head}")
        return targets


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], which.capitalize()], verbosity=2)
