# SPDX-License-Identifier: MIT
"""Arrays, arguments and bytes that are not what they say: hostile_test.py BUILD SOURCE. Needs NumPy, not PyTorch.

A case that fails badly ends the interpreter, so each method is a failure of its own.
"""

import copy
import ctypes
import gc
import pathlib
import pickle
import sys
import unittest

import numpy as np

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DEMO = BUILD / "examples/backends/demo_backend.so"
ADD = SOURCE / "tests/fixtures/bench/demo_add.pte"
INPUTS = [np.full((2, 2), value, np.float32) for value in (1, 2, 3)]
LARGEST, SMALLEST = 2**63 - 1, -2**63


class Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    """DLManagedTensor."""
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def numbers(values):
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


class Producer:
    """Four floats by `__dlpack__`, with members of the struct that are what a test says."""

    def __init__(self, kind, shape=(2, 2), strides=None, major=1, on_delete=lambda: None, **members):
        self.values = (ctypes.c_float * 4)(1, 1, 1, 1)
        self.lists = numbers(shape), numbers(strides)
        self.num_deleted = 0

        def delete(_):
            self.num_deleted += 1
            on_delete()

        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(delete)
        self.managed = kind()
        if kind is Versioned:
            self.managed.major = major
        self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        tensor = self.managed.tensor
        tensor.data, tensor.device_type = ctypes.addressof(self.values), 1
        tensor.ndim = 0 if shape is None else len(shape)
        tensor.code, tensor.bits, tensor.lanes = 2, 32, 1
        for name, values in zip(("shape", "strides"), self.lists):
            if values is not None:
                setattr(tensor, name, ctypes.cast(values, ctypes.POINTER(ctypes.c_int64)))
        for name, value in members.items():
            setattr(tensor, name, value)
        name = b"dltensor_versioned" if kind is Versioned else b"dltensor"
        self.capsule = new_capsule(ctypes.addressof(self.managed), name, None)

    def __dlpack__(self, **_):
        return self.capsule


class Gives:
    """What `__dlpack__` returns or does."""

    def __init__(self, act):
        self.act = act

    def __dlpack__(self, **_):
        return self.act()


class Case(unittest.TestCase):
    def setUp(self):
        self.program = tenon.load(ADD, plugins=[DEMO])
        self.method = self.program.load_method()
        self.expected = self.method(*INPUTS).tolist()

    def refuses(self, first, kinds=(tenon.Error, TypeError, ValueError)):
        """The call fails, and the next one does not."""
        with self.assertRaises(kinds) as caught:
            self.method(first, *INPUTS[1:])
        self.assertEqual(self.method(*INPUTS).tolist(), self.expected)
        return str(caught.exception)


class Dlpack(Case):
    def test_a_struct_that_says_what_is_not_is_refused(self):
        cases = [dict(shape=None, ndim=2), dict(shape=None, ndim=16), dict(ndim=-1), dict(ndim=-2**31),
                 dict(ndim=2**31 - 1), dict(shape=(1,) * 17), dict(shape=(4,)), dict(shape=(-2, -2)),
                 dict(shape=(LARGEST, LARGEST)), dict(shape=(2**32, 2**32)), dict(shape=(SMALLEST, 2)),
                 dict(shape=(LARGEST, LARGEST), strides=(SMALLEST, SMALLEST)), dict(strides=(1, 1)),
                 dict(strides=(-2, -1)), dict(strides=(LARGEST, SMALLEST)), dict(data=None),
                 dict(data=None, byte_offset=16), dict(byte_offset=1), dict(byte_offset=2**64 - 15),
                 dict(device_type=2), dict(device_type=-1, device_id=-1), dict(code=99), dict(bits=0),
                 dict(bits=255), dict(lanes=0), dict(lanes=4)]
        for kind in (Managed, Versioned):
            for members in cases:
                with self.subTest(kind=kind.__name__, **members):
                    producer = Producer(kind, **members)
                    self.refuses(producer)
                    self.assertEqual(producer.num_deleted, 1)
        for major in (0, 2, 2**32 - 1):
            self.assertIn("expected DLPack 1", self.refuses(Producer(Versioned, major=major)))

    def test_an_honest_one_is_deleted_once_and_its_capsule_is_used_once(self):
        for kind in (Managed, Versioned):
            producer = Producer(kind)
            self.assertEqual(self.method(producer, *INPUTS[1:]).tolist(), self.expected)
            self.assertEqual(producer.num_deleted, 1)
            self.refuses(producer)
            self.assertEqual(producer.num_deleted, 1)
            twice = Producer(kind)
            with self.assertRaises(ValueError):
                self.method(twice, twice, INPUTS[2])
            self.assertEqual(twice.num_deleted, 1)

    def test_what_is_no_capsule_is_refused(self):
        for act in (lambda: 42, lambda: None, lambda: new_capsule(1, b"other", None), lambda: self.method):
            self.refuses(Gives(act))
        self.refuses(type("Odd", (), {"__dlpack__": 3})())
        for api in (42, None, new_capsule(1, b"other", None)):
            self.refuses(type("Odd", (), {"__dlpack_c_exchange_api__": api})())
        self.refuses(type("Odd", (), {"dtype": type("Name", (), {"name": "bfloat16"}), "view": lambda *_: 42})())

    def test_a_producer_that_uses_the_method_is_told_that_it_runs(self):
        for act in (self.method.close, lambda: self.method(*INPUTS), self.method.create_session, self.method.sequence):
            self.assertIn("is running", self.refuses(Gives(act)))
        failures = []

        def run():
            try:
                self.method(*INPUTS)
            except tenon.Error as failure:
                failures.append(failure.name)

        for kind in (Managed, Versioned):
            producer = Producer(kind, on_delete=run)
            self.assertEqual(self.method(producer, *INPUTS[1:]).tolist(), self.expected)
        self.assertEqual(failures, ["InvalidState"] * 2)

    def test_a_producer_that_raises_or_collects_is_heard(self):
        def fail():
            raise KeyError("mine")

        self.refuses(Gives(fail), KeyError)
        self.refuses(Gives(lambda: sys.exit(3)), SystemExit)

        def collect():
            gc.collect()
            return INPUTS[0].__dlpack__()

        self.assertEqual(self.method(Gives(collect), *INPUTS[1:]).tolist(), self.expected)


class Buffers(Case):
    def test_arrays_of_ctypes_are_read(self):
        rows = ((ctypes.c_float * 2) * 2)((1, 1), (1, 1))
        self.assertEqual(self.method(rows, *INPUTS[1:]).tolist(), self.expected)

    def test_buffers_that_do_not_fit_are_refused(self):
        wide = np.ones((4, 4), np.float32)
        view = memoryview(bytearray(16))
        view.release()
        for given in (wide[::2, ::2], wide[:2, :2], INPUTS[0][::-1, ::-1], INPUTS[0].astype(">f4"),
                      np.broadcast_to(np.float32(3), (2, 2)), np.zeros((2, 2), "f4,f4"), np.zeros((2, 2), "V0"),
                      np.zeros((2, 2), "M8[s]"), np.array([[1, "a"], [2, 3]], object), np.zeros((2, 2), np.longdouble),
                      np.zeros((1,) * 17, np.float32), np.zeros((1,) * 64, np.float32), np.zeros((0, 2), np.float32),
                      np.frombuffer(bytearray(17), np.float32, 4, 1).reshape(2, 2), bytes(16), b"", view,
                      (ctypes.c_float * 4)(), (ctypes.c_float * 0)(), ctypes.c_float()):
            with self.subTest(given=repr(given)[:60]):
                self.refuses(given, (tenon.Error, TypeError, ValueError, BufferError))

    def test_sequences_that_are_none_are_refused(self):
        for given in ((x for x in INPUTS), dict(enumerate(INPUTS)), "abc", 3, [], INPUTS * 40000):
            with self.assertRaises(TypeError):
                self.method.execute(given)
        self.assertEqual(self.method(*INPUTS).tolist(), self.expected)


class Arrays(Case):
    def test_functions_of_an_array_are_for_arrays(self):
        for function in (tenon.Array.__dlpack__, tenon.Array.numpy, tenon.Array.__array__, tenon.Array.tolist,
                         tenon.Array.__dlpack_device__, tenon.Array.item, tenon.Array.__len__):
            for given in (42, "text", None, self.method, tenon.Array):
                with self.subTest(function=function.__name__, given=repr(given)), self.assertRaises(TypeError):
                    function(given)

    def test_an_array_that_nothing_made_has_no_memory(self):
        class Derived(tenon.Array):
            pass

        for kind in (tenon.Array, Derived):
            with self.assertRaises(TypeError):
                kind()
            with self.assertWarns(RuntimeWarning):
                empty = kind.__new__(kind)
                for act in (memoryview, bytes, lambda it: it.__dlpack__(), lambda it: it.numpy(), np.asarray,
                            lambda it: it.__array__(), lambda it: it.shape, lambda it: it.tolist(),
                            lambda it: self.method(it, *INPUTS[1:])):
                    with self.assertRaises((TypeError, BufferError, ValueError)):
                        act(empty)

    def test_nothing_is_copied_or_pickled_to_an_empty_object(self):
        for given in (self.method(*INPUTS), self.method):
            for act in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaises(TypeError):
                    act(given)

    def test_odd_arguments_of_dlpack_are_refused(self):
        array = self.method(*INPUTS)
        for odd in (dict(max_version="abc"), dict(max_version=()), dict(max_version=(-1, 0)), dict(max_version=(2**70, 0)),
                    dict(dl_device="ab"), dict(dl_device=(1,)), dict(dl_device=(2, 0)), dict(copy=True)):
            with self.subTest(**odd), self.assertRaises((RuntimeError, IndexError, BufferError, TypeError)):
                array.__dlpack__(**odd)
        for _ in range(100):  # Capsules that nothing takes.
            array.__dlpack__()
            array.__dlpack__(max_version=(1, 0))
        self.assertEqual(sys.getrefcount(array), 2)


class Files(Case):
    def test_bytes_that_may_be_changed_are_copied(self):
        raw = ADD.read_bytes()

        def of_an_array():
            base = np.frombuffer(raw, np.uint8).copy()
            view = base.view()
            view.flags.writeable = False
            return base, view

        base, view = of_an_array()
        for given in (view, memoryview(view)):
            base[:] = np.frombuffer(raw, np.uint8)
            program = tenon.load(given, plugins=[DEMO])
            base[:] = 255
            self.assertEqual(program["forward"](*INPUTS).tolist(), self.expected)

    def test_paths_with_a_nul_are_none(self):
        for path in (f"{ADD}\0", f"{ADD}\0x", "\0"):
            for keywords in (dict(), dict(data=[path])):
                with self.subTest(path=path, **keywords), self.assertRaises(tenon.Error) as caught:
                    tenon.load(ADD if keywords else path, plugins=[DEMO], **keywords)
                self.assertIn("NUL", caught.exception.text)

    def test_one_path_is_a_plugin_and_no_sequence_of_letters(self):
        for given in (str(DEMO), DEMO, [DEMO], (str(DEMO),), iter([DEMO])):
            self.assertEqual(tenon.load(ADD, plugins=given)["forward"](*INPUTS).tolist(), self.expected)
        with self.assertRaisesRegex(tenon.Error, "x.so"):
            tenon.load(ADD, plugins="x.so")
        self.assertTrue(tenon.doctor(ADD, plugins=DEMO).can_run)
        for given in (b"x.so", [None], [DEMO, 1]):
            for function in (tenon.load, tenon.doctor):
                with self.assertRaisesRegex(TypeError, "plugins: expected the path of a file, or a sequence of paths, found"):
                    function(ADD, plugins=given)

    def test_what_is_no_program_is_named(self):
        for given in (None, 7, 1.5, [ADD], object()):
            kind = type(given).__name__
            with self.assertRaisesRegex(TypeError, f"^model: expected a path or bytes, found {kind}$"):
                tenon.load(given)
            with self.assertRaisesRegex(TypeError, rf"^data\[1\]: expected a path or bytes, found {kind}$"):
                tenon.load(ADD, data=["a.ptd", given])

    def test_programs_are_neither_copied_nor_pickled(self):
        program = tenon.load(ADD, plugins=[DEMO])
        for act in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled: call tenon.load in each process"):
                act(program)


if __name__ == "__main__":
    unittest.main(argv=[__file__, *sys.argv[3:]])
