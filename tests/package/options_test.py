#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each set of options in the table of docs/getting-started/packages.md configures and would install what the table
says. Configurations that compile nothing are installed and used: the smallest by a plugin, with pkg-config and with
CMake.

usage: options_test.py BUILD SOURCE COMPILER...
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from prefix import run

build, source, *compiler = sys.argv[1:]
build, source = pathlib.Path(build), pathlib.Path(source)
environment = dict(os.environ, CXX=" ".join(compiler))
# pkg-config finds nothing.
without_libraries = environment | {"PKG_CONFIG_LIBDIR": "/nonexistent", "PKG_CONFIG_PATH": ""}
HEADERS_OF_HOSTS = ("host", "conformance", "host.hpp", "aot/compiler", "executorch/adapter", "onnxruntime")


def read_table(page):
    """Rows of the table: options, headers, programs, backends, needs."""
    [table] = re.findall(r"<!-- options: .*?-->\n\|.*\n\|[-|]+\n((?:\|.*\n)+)", page)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def names_in(cell, default):
    """The names that a cell means: none, default, default without `NAME`, or `NAME`."""
    named = set(re.findall(r"`([^`]+)`", cell))
    words = re.sub(r" *`[^`]+`", "", cell)
    if words == "default without":
        return default - named
    if words not in ("none", "default", ""):
        raise ValueError(f"expected none, default, default without names, or names, found {cell!r}")
    return default if words == "default" else named


def installed(folder):
    """Programs and backends that a build installs."""
    paths = map(pathlib.PurePath, json.loads((folder / "meson-info/intro-installed.json").read_text()).values())
    programs, backends = set(), set()
    for path in paths:
        if path.parent.name == "bin":
            programs.add(path.name)
        elif path.parent.name.startswith("plugins-") and path.suffix == ".so":
            backends.add(path.stem)
    return programs, backends


class Options(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon-options-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()

    def configure(self, options, env, expect=0):
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        return run("meson", "setup", self.folder / "build", *options, "--prefix", self.folder / "prefix", "--libdir", "lib",
                   env=env, cwd=source, expect=expect).stdout

    def install(self, env):
        shutil.rmtree(self.folder / "prefix", ignore_errors=True)
        run("meson", "install", "-C", self.folder / "build", env=env)
        return self.folder / "prefix"

    def test_each_set_configures_and_installs_what_the_table_says(self):
        table = read_table((source / "docs/getting-started/packages.md").read_text())
        self.assertGreater(len(table), 8)
        programs, backends = installed(build)
        for options, headers, of_programs, of_backends, needs in table:
            with self.subTest(options):
                env = without_libraries if needs == "compiler" else environment
                shown = self.configure(options.strip("`").split(), env)
                if "-Dcuda=disabled" in options or "auto-features" in options:
                    self.assertNotRegex(shown, r"CUDA kernels\s*: yes")
                self.assertEqual(installed(self.folder / "build"),
                                 (names_in(of_programs, programs), names_in(of_backends, backends)))
                if json.loads((self.folder / "build/compile_commands.json").read_text()):
                    continue
                prefix = self.install(env)
                there = [name for name in HEADERS_OF_HOSTS if (prefix / "include/tenon" / name).exists()]
                self.assertEqual(there, list(HEADERS_OF_HOSTS) if headers == "all" else [])
                packages = sorted(path.stem for path in (prefix / "lib/pkgconfig").iterdir())
                self.assertEqual("tenon-host" in packages, headers == "all")

    def test_each_feature_is_in_the_table(self):
        features = re.findall(r"^option\('(\w+)', type: 'feature'", (source / "meson_options.txt").read_text(), re.M)
        self.assertGreater(len(features), 8)
        text = "\n".join(row[0] for row in read_table((source / "docs/getting-started/packages.md").read_text()))
        self.assertEqual([name for name in features if f"-D{name}=disabled" not in text and name != "conformance"], [])

    def test_headers_for_plugins_serve_where_there_is_nothing_but_a_compiler(self):
        self.configure(["-Dhost=disabled"], without_libraries)
        prefix = self.install(without_libraries)
        self.assertEqual([path.name for path in (prefix / "lib/pkgconfig").iterdir()], ["tenon.pc"])
        self.assertTrue((prefix / "lib/tenon/plugins-1").is_dir())
        env = without_libraries | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "CMAKE_PREFIX_PATH": str(prefix)}
        flags = run("pkg-config", "--cflags", "--libs", "tenon", env=env).stdout.split()
        self.assertEqual([pathlib.Path(flag.removeprefix("-I")).resolve() for flag in flags], [prefix / "include"])
        if not shutil.which("cmake"):
            return
        # As the templates do.
        shutil.copy(source / "examples/backends/hello/hello.cpp", self.folder)
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.17)\nproject(consumer LANGUAGES CXX)\ninclude(CTest)\n"
            "find_package(Tenon 0.1 REQUIRED)\ntenon_add_plugin(hello hello.cpp)\n"
            "if(Tenon_conformance_FOUND)\ntenon_add_conformance_test(hello)\nendif()\n"
            "if(TARGET Tenon::host OR TARGET Tenon::conformance)\nmessage(FATAL_ERROR no)\nendif()\n")
        run("cmake", "-B", self.folder / "cmake", "-S", self.folder, env=env)
        run("cmake", "--build", self.folder / "cmake", env=env)
        self.assertTrue((self.folder / "cmake/hello.so").is_file())
        for component, reason in (("host", "Tenon was installed with -Dhost=disabled"),
                                  ("conformance", "Tenon was installed with -Dhost=disabled")):
            (self.folder / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.17)\nproject(consumer LANGUAGES CXX)\n"
                f"find_package(Tenon 0.1 REQUIRED COMPONENTS {component})\n")
            shown = run("cmake", "-B", self.folder / f"cmake-{component}", "-S", self.folder, env=env, expect=1).stdout
            self.assertIn(f"component {component}: {reason}", " ".join(shown.split()))

    def test_a_feature_that_lacks_what_it_needs_is_refused_with_the_option(self):
        for options, text in (("-Dhost=disabled -Dtests=enabled", "tests need -Dhost=enabled"),
                              ("-Dhost=disabled -Dconformance=enabled", "tenon-conformance needs -Dhost=enabled"),
                              ("-Dhost=disabled -Dexamples=enabled", "example plugins and applications need -Dhost=enabled"),
                              ("-Dhost=disabled -Dprograms=enabled", "programs need -Dhost=enabled"),
                              ("-Dhost=disabled -Dcpu_aoti=enabled", "the backend for CPUs needs -Dhost=enabled"),
                              ("-Dhost=disabled -Dpython=enabled", "the Python package needs -Dprograms=enabled"),
                              ("-Dprograms=disabled -Dtests=enabled", "tests need the programs: -Dprograms=enabled"),
                              ("-Dconformance=disabled -Dtests=enabled", "tests need the conformance kit: -Dconformance=enabled"),
                              ("-Dexamples=disabled -Dtests=enabled", "tests need the example plugins: -Dexamples=enabled"),
                              ("-Dcpu_kernels=products -Dtests=enabled", "tests need all kernels of CpuAotiBackend"),
                              ("-Dcpu_kernels=", "cpu_kernels: expected at least one group of kernels")):
            with self.subTest(options):
                self.assertIn(text, self.configure(options.split(), environment, expect=1))

    def test_a_cell_that_means_nothing_is_an_error(self):
        self.assertEqual(names_in("default without `b`", {"a", "b"}), {"a"})
        self.assertEqual(names_in("`c`", {"a"}), {"c"})
        self.assertEqual(names_in("none", {"a"}), set())
        with self.assertRaises(ValueError):
            names_in("some", {"a"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
