# SPDX-License-Identifier: MIT
"""What happened inside of a run: intermediates_test.py BUILD SOURCE. Needs NumPy, not PyTorch."""

import pathlib
import sys
import unittest

import numpy as np

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
ADD = SOURCE / "tests/fixtures/add_dynamic_portable/model.pte"
ARITHMETIC = BUILD / "examples/backends/arithmetic_kernels.so"
GRAPH_CASE = SOURCE / "tests/conformance/cases/graph_backend/mlp"
GRAPH = BUILD / "examples/backends/graph_backend/graph_backend.so"
X = np.arange(48, dtype=np.float32).reshape(16, 3)


class Intermediates(unittest.TestCase):
    def test_results_of_kernels_are_recorded_when_they_are_asked_for(self):
        method = tenon.load(ADD, plugins=[ARITHMETIC])["forward"]
        known = method.intermediates()
        self.assertTrue(known)
        self.assertEqual({each.name for each in known}, {"aten::add.out"})
        self.assertIsNone(known[0].delegate)
        self.assertEqual((known[0].debug_handles, known[0].nodes), ([], []))
        self.assertIn("aten::add.out", repr(known[0]))

        expected = np.asarray(method(X, X))
        self.assertEqual(method.recorded_intermediates(), [])
        method.record_intermediates()
        np.testing.assert_array_equal(np.asarray(method(X, X)), expected)
        recorded = method.recorded_intermediates()
        self.assertEqual([number for number, _ in recorded], list(range(len(known))))
        np.testing.assert_array_equal(np.asarray(recorded[-1][1]), expected)

        method.record_intermediates([])
        method(X, X)
        self.assertEqual(method.recorded_intermediates(), [])

    def test_results_inside_a_delegate_are_recorded(self):
        method = tenon.load(GRAPH_CASE / "model.pte", plugins=[GRAPH])["forward"]
        known = method.intermediates()
        self.assertTrue(known)
        self.assertEqual({each.delegate for each in known}, {0})
        method.record_intermediates([len(known) - 1])
        sizes = tenon.load(GRAPH_CASE / "model.pte").method_meta().inputs[0].tensor.sizes
        output = np.asarray(method(np.ones(sizes, np.float32)))
        [(number, array)] = method.recorded_intermediates()
        self.assertEqual(number, len(known) - 1)
        np.testing.assert_array_equal(np.asarray(array).reshape(output.shape), output)

    def test_a_number_that_is_too_large_is_refused(self):
        method = tenon.load(ADD, plugins=[ARITHMETIC])["forward"]
        with self.assertRaises(tenon.Error) as caught:
            method.record_intermediates([len(method.intermediates())])
        self.assertEqual(caught.exception.name, "InvalidArgument")
        self.assertIn("the method has", str(caught.exception))

    def test_a_closed_method_has_none(self):
        method = tenon.load(ADD, plugins=[ARITHMETIC])["forward"]
        method.close()
        with self.assertRaises(tenon.Error):
            method.intermediates()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
