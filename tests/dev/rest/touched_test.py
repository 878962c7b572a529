#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of which slices a change can touch, and in which order `.ci/run` runs them.

usage: touched_test.py BUILD SOURCE
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from dev.rest import runner, touched  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest.in_copy import InCopy  # noqa: E402  pylint: disable=wrong-import-position
from dev.rest.slices import MAX_MINUTES, SLICES  # noqa: E402  pylint: disable=wrong-import-position

build, source = map(pathlib.Path, sys.argv[1:3])
for variable in (runner.CI_STARTED, touched.BASE):
    os.environ.pop(variable, None)


def paths():
    """The files of the sources, without what git and builds make."""
    for folder, inner, files in os.walk(source):
        inner[:] = [name for name in inner if name not in (".git", "__pycache__") and
                    not (pathlib.Path(folder) == source and name == "build")]
        yield from (pathlib.Path(folder, name).relative_to(source).as_posix() for name in files)


class Table(unittest.TestCase):
    def test_each_file_has_a_row_and_each_row_has_files(self):
        found = list(paths())
        self.assertEqual([path for path in found if touched.row_of(path) == ""], [])
        self.assertEqual([row for row in touched.TABLE if not any(path.startswith(row) for path in found)], [])

    def test_each_name_is_a_slice(self):
        names = [each.name for each in (*SLICES, *touched.NEAR)]
        self.assertEqual(len(names), len(set(names)))
        used = {name for row in touched.TABLE.values() for name in row}
        self.assertEqual(used - set(names), set())
        self.assertEqual({each.name for each in touched.NEAR} - used, set())
        self.assertTrue(all(each.minutes <= MAX_MINUTES for each in touched.NEAR))

    def test_each_suite_that_a_near_slice_names_has_tests(self):
        shown = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout
        suites = {suite.split(":")[-1] for test in json.loads(shown) for suite in test["suite"]}
        for each in touched.NEAR:
            [(_, words)] = each.words()
            self.assertEqual(words[:2], ["./dev", "test"])
            named = set(words[3::2])
            self.assertTrue(named - suites <= {"python", "bridges", "opencl"}, f"{each.name}: no test of {named - suites}")

    def test_the_slice_that_sees_a_fault_is_the_first(self):
        for path, first in (
            ("reference_backends/cuda_aoti/shims/memory.hpp", "near-cuda"),
            ("reference_backends/metal_aoti/operators/pointwise.hpp", "near-metal"),
            ("examples/backends/opencl/opencl.cpp", "near-opencl"),
            ("include/tenon/executorch/adapter/adapter.hpp", "near-bridges"),
            ("examples/python/tenon/__init__.py", "near-python"),
            ("examples/python/packaging/build_wheel.py", "wheel"),
            ("examples/python/pyproject.toml", "wheel"),
            ("include/tenon/host/loader/method.hpp", "near-bridges"),
            ("docs/faq.md", "docs"),
            ("unheard/of", "near-bridges"),
        ):
            with self.subTest(path):
                self.assertEqual(touched.touched([path, "CHANGELOG.md"])[0].name, first)
        many = ["examples/python/tenon/a.py", "examples/python/tenon/b.py", "include/tenon/aot/a.hpp"]
        self.assertEqual([each.name for each in touched.touched(many)], ["near-python", "near-compiler", "near-graph"])
        self.assertEqual(touched.touched(["CHANGELOG.md", "tests/lint/lint_test.py", ".clang-tidy"]), [])


class Order(InCopy):
    def setUp(self):
        super().setUp()
        self.touched({"": ("near-a",), "b": ("near-b", "two"), "long": ("long",), "d": ()}, "a", "b")
        self.slices(("one", "true"), ("two", "true"), ("long", "true", 12))
        self.dev("echo 7 passed, 0 failed, 0 skipped")
        self.git("init", "--quiet")
        (self.root / ".gitignore").write_text("/build\n__pycache__\n")
        self.commit()

    def change(self, name):
        """Commits a new file and returns the commit."""
        (self.root / name).write_text("")
        self.commit()
        return self.git("rev-parse", "HEAD").strip()

    def ran(self, *words, expect=0, **more):
        """The slices that ran, in their order, and what was printed."""
        shown = self.run_it(*(words or ("./dev", "rest", "--slice", "touched")), expect=expect, **more)
        return re.findall(r"== rest: ([\w-]+):", shown), shown

    def test_slices_of_the_changed_files_run_first_and_each_once(self):
        first = self.change("d1")
        self.change("b1")
        found, shown = self.ran(".ci/run")
        self.assertEqual(found[:2], ["near-b", "two"])
        self.assertEqual(len(found), len(set(found)))
        self.assertIn('"slice": "two"', shown)
        self.assertNotIn('"slice": "near-b"', shown)
        self.change("d2")
        self.assertEqual(self.ran()[0], [])
        self.assertEqual(self.ran(TENON_CI_BASE=first)[0], ["near-b", "two"])

    def test_a_fault_in_the_first_slice_fails_ci(self):
        self.change("b1")
        self.dev('case "$*" in *of-b*) echo 1 passed, 1 failed, 0 skipped; exit 1;; esac; echo 7 passed, 0 failed, 0 skipped')
        found, shown = self.ran(".ci/run", expect=1)
        self.assertEqual(found[0], "near-b")
        self.assertIn("failed: ./dev test of-b: 1 passed, 1 failed, 0 skipped, exit status 1", shown)
        self.assertFalse((self.root / "build/ci-seen").exists())

    def test_the_base_is_what_ci_saw_or_where_the_branch_began_or_the_parent(self):
        seen = self.change("d1")
        self.change("b1")
        self.change("a1")
        self.assertEqual(self.ran()[0], ["near-a"])
        self.git("branch", "main", seen)
        self.assertEqual(self.ran()[0], ["near-a", "near-b", "two"])
        (self.root / "build").mkdir()
        (self.root / "build/ci-seen").write_text(self.git("rev-parse", "HEAD"))
        self.assertEqual(self.ran()[0], [])
        # What is named and unknown is passed over, as a branch that was rewritten.
        self.assertEqual(self.ran(TENON_CI_BASE="0" * 40)[0], [])
        self.assertEqual(self.ran(TENON_CI_BASE=seen)[0], ["near-a", "near-b", "two"])
        # Files that are not committed count.
        (self.root / "b2").write_text("")
        self.assertEqual(self.ran()[0], ["near-b", "two"])

    def test_without_a_parent_it_is_as_for_a_file_of_no_row(self):
        self.git("checkout", "--quiet", "--orphan", "other")
        self.commit()
        self.assertEqual(self.ran()[0], ["near-a"])

    def test_a_slice_that_does_not_fit_is_named_and_is_no_failure(self):
        self.change("long")
        found, shown = self.ran("./dev", "rest", "--slice", "touched", "--slice", "near-a",
                                TENON_CI_STARTED=str(time.time() - runner.CI_SECONDS + 10 * 60))
        self.assertEqual(found, ["near-a"])
        self.assertIn("left: long: true: .ci/run ends 30 minutes after its start", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
