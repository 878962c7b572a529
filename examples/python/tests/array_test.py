# SPDX-License-Identifier: MIT
"""Indices of arrays are NumPy's: array_test.py BUILD SOURCE. Needs NumPy, not PyTorch."""

import gc
import inspect
import pathlib
import sys
import unittest

import numpy as np
import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
VALUES = SOURCE / "examples/python/tests/fixtures/values.pte"
ADD = SOURCE / "tests/fixtures/bench/demo_add.pte"
DEMO = BUILD / "examples/backends/demo_backend.so"


class Indices(unittest.TestCase):
    def setUp(self):
        self.numbers = np.arange(120, dtype=np.float32).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
        self.array = tenon.load(VALUES)["channels_last"](self.numbers)  # Its strides are of another order.

    def test_views_are_those_of_numpy(self):
        for index in (0, -1, (1, 2), (0, -3, 3), (0, 0, 0), np.int64(1), slice(None), slice(1, None), slice(5, 9), slice(2, 1),
                      slice(-1, None), (slice(None), slice(0, 3, 2)), (slice(None), 1, slice(None, None, 3)), (..., 1),
                      (1, ..., slice(1, 3)), ..., (), (0, 1, 2, 3, ...), (slice(0, 0), 0), (0, slice(2**70)),
                      (..., slice(-2**70, None, 2**70))):
            with self.subTest(index=index):
                view, expected = self.array[index], self.numbers[index]
                self.assertEqual((view.shape, view.nbytes, view.ndim), (expected.shape, expected.nbytes, expected.ndim))
                self.assertEqual(view.tolist(), expected.tolist())
                np.testing.assert_array_equal(np.asarray(view), expected)
                np.testing.assert_array_equal(np.from_dlpack(view), expected)

    def test_an_element_is_a_number(self):
        for index in ((0, 0, 0, 0), (-1, -1, -1, -1), (1, 2, 3, 4)):
            self.assertEqual(self.array[index], self.numbers[index])
            self.assertIs(type(self.array[index]), float)
        self.assertEqual(self.array[1][2][3][4], self.numbers[1, 2, 3, 4])

    def test_a_view_shares_the_memory_and_keeps_it(self):
        view = self.array[1, 2]
        np.asarray(self.array)[1, 2, 3, 4] = -7
        self.assertEqual(view[3, 4], -7)
        self.assertFalse(view.is_borrowed or view[0].is_borrowed)
        expected = np.asarray(view).tolist()
        del self.array
        gc.collect()
        self.assertEqual(view[0].tolist(), expected[0])

    def test_a_view_of_a_borrowed_array_is_borrowed(self):
        x = np.arange(4, dtype=np.float32).reshape(2, 2)
        method = tenon.load(ADD, plugins=DEMO)["forward"]
        self.assertTrue(method(x, x, x, borrow=True)[0].is_borrowed)
        self.assertIn("borrowed", repr(method(x, x, x, borrow=True)[0]))
        self.assertEqual(repr(method(x, x, x)[0]), "<tenon.Array float32 [2]>")

    def test_a_loop_gives_the_first_dimension(self):
        self.assertEqual([each.tolist() for each in self.array], [each.tolist() for each in self.numbers])
        self.assertEqual([*self.array[0, 0, 0]], self.numbers[0, 0, 0].tolist())
        first, second = self.array
        self.assertEqual(second.tolist(), self.numbers[1].tolist())
        with self.assertRaisesRegex(TypeError, "without dimensions"):
            iter(self.array[0, 0, 0, 0, ...])

    def test_a_view_is_an_input(self):
        method = tenon.load(ADD, plugins=DEMO)["forward"]
        x = np.arange(4, dtype=np.float32).reshape(2, 2)
        whole = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
        self.assertEqual(method(memoryview(whole[1]), x, x).tolist(), method(whole[1].copy(), x, x).tolist())
        y = method(x, x, x)
        with self.assertRaisesRegex(tenon.Error, "expected dense elements"):
            method(y[:, :1], x, x)

    def test_what_is_no_index(self):
        for index, kind in ((2, IndexError), (-3, IndexError), (2**70, IndexError), ((0, 3), IndexError), ((0,) * 5, IndexError),
                            ((..., ...), IndexError), (None, TypeError), ("a", TypeError), (1.0, TypeError), (True, TypeError),
                            ([0], TypeError), (np.array([0, 1]), TypeError), ((0, slice("a")), TypeError),
                            (slice(None, None, -1), ValueError), (slice(None, None, 0), ValueError)):
            with self.subTest(index=index), self.assertRaises(kind):
                self.array[index]
        with self.assertRaises(TypeError):
            self.array[0] = 1


class Signatures(unittest.TestCase):
    def test_a_method_shows_what_a_call_takes(self):
        method = tenon.load(ADD, plugins=DEMO)["forward"]
        self.assertEqual(str(inspect.signature(method)), "(*inputs, borrow=False)")
        self.assertFalse(hasattr(tenon.Method, "__signature__"))


if __name__ == "__main__":
    unittest.main(argv=[__file__, *sys.argv[3:]])
