#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what reads the list of the kernels of CpuAotiBackend (kernel_list.py), and of the page of functions that is made
of it (operator_table.py).

usage: kernel_list_test.py ROOT
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "reference_backends/cpu_kernels"), str(ROOT / "docs/aoti")]

import kernel_list  # noqa: E402  pylint: disable=wrong-import-position
import operator_table  # noqa: E402  pylint: disable=wrong-import-position

HEADER = """#define TENON_CPU_AOTI_SORT(X) \\
  X(aoti_torch_cpu_topk, (ModelTensor * self)) \\
  X(aoti_torch_cpu_sort, (ModelTensor * self))
#define TENON_CPU_AOTI_INDEX(X)                                                       \\
  X(aoti_torch_index_put_out, (ModelTensor * out))
// Functions without a kernel:
//   pad: Inductor decomposes it
"""


class Lists(unittest.TestCase):
    def test_each_function_has_the_group_of_its_list(self):
        self.assertEqual(kernel_list.read_served(HEADER), {
            "aoti_torch_cpu_topk": "sort", "aoti_torch_cpu_sort": "sort", "aoti_torch_index_put_out": "index"})

    def test_an_exporter_lets_both_spellings_through(self):
        self.assertEqual(kernel_list.exporter_names(HEADER), [
            "aoti_torch_cpu_sort", "aoti_torch_cpu_topk", "aoti_torch_index_put_out",
            "at::_ops::sort::call", "at::_ops::topk::call"])

    def test_a_source_is_of_the_group_of_its_name_or_folder_or_says_another(self):
        for place, text, group in (
            ("sort.cpp", "// Licence\n", "sort"),
            ("sort/top.cpp", "// Licence\n#include <x>\n", "sort"),
            ("lines.cpp", "// Licence\n// Of the group sort.\n", "sort"),
            ("sort/lines.cpp", "// Licence\n//\n// Of the group index.\n", "index"),
            ("lines.cpp", "// Licence\n// Of every build.\n", ""),
            ("lines.cpp", "// Licence\n", None),
            ("lines.cpp", "int n;\n// Of the group sort.\n", None),
            ("sort.cpp", "// Of the group fft.\n", None),
        ):
            with self.subTest(text):
                self.assertEqual(kernel_list.group_of(pathlib.PurePath(place), text, {"sort", "index"}), group)

    def test_each_source_of_the_kernels_has_a_group(self):
        found = kernel_list.sources()
        self.assertIn("attention:products/one_query.cpp", found)
        self.assertIn("products:products/grouped_mm.cpp", found)
        self.assertFalse([line for line in found if "kissfft" in line or "vectors/" in line])


class Functions(unittest.TestCase):
    def table(self, *names, header=HEADER):
        return operator_table.make_table(list(names), header)

    def test_a_function_has_its_group_or_the_reason_why_it_has_none(self):
        text, problems = self.table("pad", "sort", "sort_backward", "topk")
        self.assertEqual(problems, [])
        self.assertTrue(text.startswith("Of 4 functions 1 compute gradients. Of the other 3 the plugin has 2.\n"))
        self.assertIn("\n| `pad` | no | Inductor decomposes it |\n| `sort` | `sort` |  |\n"
                      "| `sort_backward` | no | gradients: programs are for inference |\n| `topk` | `sort` |  |\n", text)

    def test_a_function_with_neither_or_both_and_an_unknown_one_are_found(self):
        self.assertEqual(self.table("pad", "sort", "unique")[1], ["unique: expected a kernel or a reason in kernel_list.hpp"])
        self.assertEqual(self.table("sort")[1], ["pad: has a reason, and is in no header"])
        self.assertEqual(self.table("pad", "sort", header=HEADER + "//   sort: not written\n")[1],
                         ["sort: served, and has a reason not to be"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
