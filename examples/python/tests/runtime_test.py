# SPDX-License-Identifier: MIT
"""Opening and running programs: runtime_test.py BUILD SOURCE. Needs NumPy and ml_dtypes, not PyTorch."""

import asyncio
import gc
import json
import pathlib
import signal
import sys
import tempfile
import threading
import unittest
import weakref

import ml_dtypes
import numpy as np

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
FIXTURES = SOURCE / "tests/fixtures"
VALUES = SOURCE / "examples/python/tests/fixtures/values.pte"
LISTS = VALUES.with_name("lists.pte")
DEMO = BUILD / "examples/backends/demo_backend.so"
ADD = FIXTURES / "bench/demo_add.pte"
CPU_AOTI = BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"
KERNELS = BUILD / "examples/backends/executorch/executorch_kernels.so"


def demo():
    """A method that adds and multiplies three 2x2 tensors: a @ x + b."""
    return tenon.load(ADD, plugins=[DEMO]).load_method()


def square(*numbers):
    return np.array(numbers, np.float32).reshape(2, 2)


INPUTS = (square(1, 2, 3, 4), square(5, 6, 7, 8), square(1, 1, 1, 1))


class Case(unittest.TestCase):
    def assertFails(self, name, text, function, *arguments, **keywords):
        with self.assertRaises(tenon.Error) as caught:
            function(*arguments, **keywords)
        self.assertEqual(caught.exception.name, name)
        self.assertIn(text, caught.exception.text)
        self.assertEqual(str(caught.exception),
                         f"{name} (0x{caught.exception.number:02x}): {caught.exception.text}")
        return caught.exception


class Calls(Case):
    def test_a_call_returns_the_output_and_execute_a_list(self):
        method = demo()
        expected = method(*INPUTS).tolist()
        [output] = method.execute(INPUTS)
        self.assertEqual(output.tolist(), expected)
        self.assertEqual((output.shape, output.dtype, output.ndim, output.nbytes, output.device),
                         ((2, 2), "float32", 2, 16, "CPU"))
        again = tenon.load(ADD, plugins=[DEMO])["forward"](*map(memoryview, INPUTS))
        self.assertEqual(again.tolist(), expected)
        self.assertNotEqual(expected, method(INPUTS[0], INPUTS[1], square(9, 9, 9, 9)).tolist())

    def test_an_output_owns_its_memory_and_a_borrowed_one_is_the_methods(self):
        method = demo()
        own, borrowed = method(*INPUTS), method(*INPUTS, borrow=True)
        self.assertEqual((own.is_borrowed, borrowed.is_borrowed), (False, True))
        before = own.tolist()
        other = method(*INPUTS[:2], square(50, 50, 50, 50), borrow=True)
        self.assertEqual(own.tolist(), before)
        self.assertEqual(borrowed.tolist(), other.tolist())
        self.assertNotEqual(borrowed.tolist(), before)
        # The method's memory stays as long as the array.
        after = other.tolist()
        method.close()
        del method
        gc.collect()
        self.assertEqual(np.asarray(other).tolist(), after)

    def test_an_output_that_is_an_input_is_copied_also_when_borrowed(self):
        method = tenon.load(VALUES)["float32"]
        x = np.ones((2, 3), np.float32)
        y = method(x, borrow=True)
        x[:] = 2
        self.assertFalse(y.is_borrowed)
        self.assertEqual(np.asarray(y).tolist(), [[1] * 3] * 2)

    def test_inputs_are_not_copied_and_not_kept(self):
        method = demo()
        inputs = [array.copy() for array in INPUTS]
        held = weakref.ref(inputs[0])
        method(*inputs)
        inputs.clear()
        self.assertIsNone(held())
        exported = bytearray(16)
        view = memoryview(exported).cast("f", (2, 2))
        method(view, INPUTS[1], INPUTS[2])
        view.release()
        exported.extend(b"x")  # BufferError while anything holds it.

    def test_every_element_type_goes_in_and_out_as_it_is(self):
        program = tenon.load(VALUES)
        for name in program:
            if name in ("channels_last", "several", "written"):
                continue
            dtype = getattr(ml_dtypes, name, None) or np.dtype(name)
            x = np.arange(6).reshape(2, 3).astype(dtype)
            y = program[name](x)
            self.assertEqual(y.dtype, name)
            self.assertEqual(y.numpy().dtype, x.dtype)
            self.assertEqual(y.numpy().tobytes(), x.tobytes())
            self.assertEqual(np.asarray(y).tobytes(), x.tobytes())
            self.assertEqual(y.tolist(), x.astype(np.complex64 if "complex" in name else
                                                  np.bool_ if name == "bool" else
                                                  np.float64).tolist())

    def test_another_dim_order_takes_arrays_of_that_order_alone(self):
        method = tenon.load(VALUES)["channels_last"]
        x = np.arange(120, dtype=np.float32).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
        y = method(x)
        self.assertEqual(np.asarray(y).strides, x.strides)
        np.testing.assert_array_equal(np.asarray(y), x)
        self.assertFails("InvalidArgument",
                         "input 0: expected dense elements in dim order (0, 2, 3, 1), strides "
                         "(60, 1, 15, 3), found strides (60, 20, 5, 1)", method, np.ascontiguousarray(x))

    def test_inputs_that_are_no_tensors_are_confirmed(self):
        method = tenon.load(VALUES)["several"]
        x = np.zeros(2, np.float32)
        y, *others = method(x, 7, 0.5, True)
        self.assertEqual((y.tolist(), others), ([0, 0], [7, 0.5, True, None]))
        self.assertEqual(others, method.execute([x, 7, 0.5, True])[1:])
        self.assertFails("InvalidArgument", "input 1: expected 7 as exported, found 8",
                         method, x, 8, 0.5, True)
        for wrong, expected in (((x, 7.0, 0.5, True), "input 1: expected int, found float"),
                                ((x, True, 0.5, True), "input 1: expected int, found bool"),
                                ((x, 7, "0.5", True), "input 2: expected float, found str"),
                                ((x, 7, 0.5, 1), "input 3: expected bool, found int")):
            with self.assertRaisesRegex(TypeError, expected):
                method(*wrong)

    def test_outputs_that_are_lists_have_their_elements(self):
        method = tenon.load(LISTS).load_method()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for borrow in False, True:
            integers, tensors, optional, *others = method.execute([x], borrow=borrow)
            self.assertEqual(integers, [3, -4, 3])
            self.assertEqual([one.tolist() for one in tensors], [x.tolist()] * 2)
            self.assertIsNone(optional[0])
            self.assertEqual(optional[1].tolist(), x.tolist())
            self.assertEqual(others, [[0.5, 1.5], [True, False], []])

    @unittest.skipUnless(KERNELS.exists(), "built without the ExecuTorch wheel")
    def test_an_input_that_the_program_writes_to_must_be_writable(self):
        method = tenon.load(VALUES, plugins=[KERNELS])["written"]
        x = np.ones((2, 3), np.float32)
        changed, y = method(x)  # ExecuTorch returns what was changed as well.
        self.assertEqual((changed.tolist(), y.tolist(), x.tolist()),
                         ([[2] * 3] * 2, [[4] * 3] * 2, [[2] * 3] * 2))
        x.flags.writeable = False
        self.assertFails("InvalidArgument",
                         "input 0: the program writes to it: expected a writable array, found a "
                         "read-only one", method, x)
        self.assertEqual(x.tolist(), [[2] * 3] * 2)

    def test_a_read_only_input_is_enough_otherwise(self):
        x = INPUTS[0].copy()
        x.flags.writeable = False
        self.assertEqual(demo()(x, *INPUTS[1:]).tolist(), demo()(*INPUTS).tolist())


class Arrays(Case):
    def test_numpy_shares_memory_by_both_protocols(self):
        y = demo()(*INPUTS)
        view = np.asarray(y)
        view[0, 0] = 42
        self.assertEqual(y.tolist()[0][0], 42)
        shared = np.from_dlpack(y)
        shared[0, 1] = 43
        self.assertEqual(np.asarray(y).tolist()[0], [42, 43])
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        del y
        gc.collect()
        self.assertEqual(shared[0, 0], 42)

    def test_an_output_is_an_input_of_the_next_call(self):
        method = demo()
        y = method(*INPUTS)
        self.assertEqual(method(y, *INPUTS[1:]).tolist(),
                         method(np.asarray(y).copy(), *INPUTS[1:]).tolist())

    def test_other_producers_of_dlpack_are_read(self):
        class Producer:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **keywords):
                return self.array.__dlpack__(**keywords)

        class Old(Producer):
            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()

        expected = demo()(*INPUTS).tolist()
        for kind in (Producer, Old):
            self.assertEqual(demo()(*map(kind, INPUTS)).tolist(), expected)

    def test_numbers_are_taken_out(self):
        [value] = tenon.load(VALUES)["float32"].execute([np.ones((2, 3), np.float32)])
        self.assertEqual((len(value), repr(value)), (2, "<tenon.Array float32 [2, 3]>"))
        self.assertFails("InvalidArgument", "expected one element, found 6", value.item)
        self.assertFails("InvalidArgument", "expected one element, found 6", float, value)

    def test_protocols_refuse_what_they_cannot_say(self):
        y = tenon.load(VALUES)["bfloat16"](np.zeros((2, 3), ml_dtypes.bfloat16))
        with self.assertRaisesRegex(BufferError, "no format for this dtype"):
            memoryview(y)
        with self.assertRaisesRegex(BufferError, "copies are not made"):
            y.__dlpack__(copy=True)
        with self.assertRaisesRegex(BufferError, "the array is on"):
            y.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(TypeError):
            tenon.Array()


class Failures(Case):
    def test_wrong_inputs_are_refused_with_expected_and_found(self):
        method = demo()
        a, b, c = INPUTS
        for wrong, name, text in (
            (a.astype(np.float64), "InvalidArgument", "input 1: expected dtype Float, found Double"),
            (a.ravel(), "NotSupported", "input 1: expected sizes [2, 2], found [4]"),
            (np.zeros((3, 2), np.float32), "NotSupported", "expected sizes [2, 2], found [3, 2]"),
            (a.T, "InvalidArgument", "expected dense elements in dim order (0, 1), strides (2, 1), "
                                     "found strides (1, 2); pass a contiguous copy"),
            (np.zeros((2, 4), np.float32)[:, ::2], "InvalidArgument", "found strides (4, 2)"),
            (np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32).reshape(2, 2),
             "InvalidArgument", "expected data aligned to 4 bytes"),
        ):
            self.assertFails(name, text, method, a, wrong, c)
        for wrong, text in ((None, "input 1: expected an array .*, found NoneType"),
                            ([[1.0, 2.0]], "input 1: expected an array .*, found list"),
                            (np.array([["x", "y"]]), "input 1: expected elements of a type of ExecuTorch"),
                            (np.zeros((2, 2), ">f4"), "found the buffer format \">f\"")):
            with self.assertRaisesRegex(TypeError, text):
                method(a, wrong, c)
        with self.assertRaisesRegex(TypeError, "expected 3 inputs, found 2"):
            method(a, b)
        with self.assertRaisesRegex(TypeError, "keyword argument borrow, found copy"):
            method(a, b, c, copy=True)
        self.assertEqual(method(*INPUTS).tolist(), demo()(*INPUTS).tolist())  # Still usable.

    def test_an_array_of_another_device_is_refused(self):
        class Elsewhere:
            """A producer whose capsule says CUDA: the memory is not looked at."""

            def __dlpack__(self, **_):
                import ctypes

                managed = (ctypes.c_byte * 64)()
                self.sizes = (ctypes.c_int64 * 2)(2, 2)
                self.data = (ctypes.c_float * 4)()
                ctypes.c_void_p.from_buffer(managed, 0).value = ctypes.addressof(self.data)
                ctypes.c_int32.from_buffer(managed, 8).value = 2  # kDLCUDA
                ctypes.c_int32.from_buffer(managed, 16).value = 2
                managed[20], managed[21], managed[22] = 2, 32, 1
                ctypes.c_void_p.from_buffer(managed, 24).value = ctypes.addressof(self.sizes)
                self.managed = managed
                new = ctypes.pythonapi.PyCapsule_New
                new.restype = ctypes.py_object
                new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
                self.name = b"dltensor"
                return new(ctypes.addressof(managed), self.name, None)

        producer = Elsewhere()
        self.assertFails("InvalidArgument", "input 0: expected data on CPU, found data on CUDA device 0", demo(), producer,
                         *INPUTS[1:])

    def test_closed_programs_and_methods_say_so(self):
        with tenon.load(ADD, plugins=[DEMO]) as program:
            kept, other = program["forward"], program.load_method("forward")
            self.assertIs(program["forward"], kept)
        self.assertTrue(program.is_closed and kept.is_closed and not other.is_closed)
        self.assertFails("InvalidState", "expected an open program, found a closed one",
                         program.load_method)
        self.assertFails("InvalidState", "expected an open program", lambda: program["forward"])
        self.assertFails("InvalidState", "method forward: expected an open method, found a closed one",
                         kept, *INPUTS)
        other(*INPUTS)
        with other:
            pass
        self.assertFails("InvalidState", "expected an open method", other, *INPUTS)
        other.close()

    def test_files_that_are_no_programs_are_refused(self):
        self.assertFails("AccessFailed", "/nowhere.pte", tenon.load, "/nowhere.pte")
        self.assertFails("InvalidProgram", "meson.build", tenon.load, SOURCE / "meson.build")
        self.assertFails("InvalidProgram", "<bytes>", tenon.load, b"nothing")
        self.assertFails("InvalidExternalData", "<bytes>", tenon.load, ADD, data=[b"nothing"])
        with self.assertRaisesRegex(TypeError, "data: expected a sequence of files, found str"):
            tenon.load(ADD, data="model.ptd")
        with self.assertRaises(TypeError):
            tenon.load(7)

    def test_arguments_of_load_are_checked(self):
        load = tenon.load
        self.assertFails("InvalidArgument", "policy for embedded code", load, ADD, embedded_code="maybe")
        self.assertFails("InvalidArgument", "there is no limit", load, ADD, limits={"bytes": 1})
        self.assertFails("OutOfResources", "name_bytes", load, ADD, limits={"name_bytes": 1})
        with self.assertRaisesRegex(TypeError, "Demo.key: expected bool, int, float, str or bytes, found list"):
            load(ADD, options={"Demo": {"key": []}})
        with self.assertRaisesRegex(TypeError, "expected the key of an option of Demo as str, found int 1"):
            load(ADD, options={"Demo": {1: 2}})
        with self.assertRaisesRegex(TypeError, "expected the id of a backend as str, found int 1"):
            load(ADD, options={1: {}})
        with self.assertRaisesRegex(TypeError, "Demo: expected a dict of its options, found int"):
            load(ADD, options={"Demo": 2})
        with self.assertRaisesRegex(KeyError, "there is no method 'backward'; there are: forward"):
            load(ADD)["backward"]
        program = load(ADD, plugins=[DEMO], options={"BackendWithCompilerDemo": {"no_such": 1}})
        self.assertFails("NotFound", "no_such", program.load_method)
        self.assertFails("InvalidArgument", "Elsewhere",
                         load(ADD, plugins=[DEMO]).load_method, options={"Elsewhere": {"key": 1}})

    def test_a_program_without_its_backend_names_it(self):
        failure = self.assertFails("NotFound", "'BackendWithCompilerDemo' is not registered",
                                   tenon.load(ADD).load_method)
        self.assertEqual(failure.number, 0x20)

    def test_a_call_of_a_busy_method_is_refused(self):
        entered, leave = threading.Event(), threading.Event()
        method = demo()

        class Slow:
            def __dlpack__(self, **_):
                entered.set()
                leave.wait(60)
                raise ValueError("the producer's own error")

        caught = []

        def run():
            try:
                method(Slow(), *INPUTS[1:])
            except ValueError as failure:
                caught.append(str(failure))

        thread = threading.Thread(target=run)
        thread.start()
        entered.wait(60)
        self.assertFails("InvalidState", "running on another thread", method, *INPUTS)
        self.assertFails("InvalidState", "running on another thread", method.close)
        leave.set()
        thread.join()
        self.assertEqual(caught, ["the producer's own error"])
        method(*INPUTS)


class Loading(Case):
    def test_facts_of_a_method_are_known_before_it_is_loaded(self):
        program = tenon.load(FIXTURES / "add_dynamic_portable/model.pte")
        self.assertEqual((program.method_names, list(program), len(program), "forward" in program),
                         (["forward"], ["forward"], 1, True))
        meta = program.method_meta()
        self.assertEqual([each.tensor.sizes for each in meta.inputs], [(16, 3), (16, 3)])
        self.assertEqual(meta.inputs[0].tensor.shape_dynamism, "dynamic_bound")
        self.assertEqual(meta.inputs[0], meta.inputs[1])
        self.assertEqual((meta.backends, meta.outputs[0].kind), ([], "Tensor"))

    @unittest.skipUnless(KERNELS.exists(), "built without the ExecuTorch wheel")
    def test_dynamic_sizes_within_the_bounds_run(self):
        method = tenon.load(FIXTURES / "add_dynamic_portable/model.pte", plugins=[KERNELS])["forward"]
        for rows in (1, 7, 16):
            x = np.ones((rows, 3), np.float32)
            self.assertEqual(np.asarray(method(x, x)).tolist(), [[2] * 3] * rows)
        x = np.ones((17, 3), np.float32)
        self.assertFails("NotSupported", "expected sizes within [16, 3], found [17, 3]", method, x, x)

    def test_named_data_is_shown_without_a_copy(self):
        program = tenon.load(FIXTURES / "demo_named_data/model.pte")
        data = program.named_data()
        self.assertTrue(data)
        for array in data.values():
            self.assertTrue(array.is_borrowed and array.readonly)
            self.assertTrue(memoryview(array).readonly)
            with self.assertRaisesRegex(BufferError, "cannot say that an array is read-only"):
                array.__dlpack__()
        [first, *_] = data.values()
        before = bytes(first)
        program.close()
        del program, data
        gc.collect()
        self.assertEqual(bytes(first), before)

    @unittest.skipUnless(CPU_AOTI.exists(), "built without CpuAotiBackend")
    def test_embedded_code_is_refused_by_policy(self):
        digits = SOURCE / "examples/applications/digits"
        x = np.load(digits / "input.npy")
        expected = np.load(digits / "expected.npy")
        for policy in ("deny", "sha256:" + "0" * 64):
            program = tenon.load(digits / "model.pte", plugins=[CPU_AOTI], embedded_code=policy)
            self.assertFails("AccessFailed", "", program.load_method)
        np.testing.assert_allclose(np.asarray(program.load_method(embedded_code="allow")(x)), expected,
                                   rtol=1e-4, atol=1e-5)

    def test_progress_is_reported_and_may_stop_the_load(self):
        program = tenon.load(ADD, plugins=[DEMO])
        calls = []
        program.load_method(progress=lambda *counts: calls.append(counts))
        self.assertEqual(calls[-1], (1, 1))

        def stop(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            program.load_method(progress=stop)

    def test_a_signal_is_handled_while_a_method_loads(self):
        program = tenon.load(ADD, plugins=[DEMO])
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append("SIGINT"))
        try:
            # Pending when the load begins, so that its own check finds it.
            program.load_method(progress=lambda *_: signal.raise_signal(signal.SIGINT))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertTrue(seen)

    def test_cancel_without_a_run_has_no_effect(self):
        method = demo()
        method.cancel()
        expected = method(*INPUTS).tolist()
        method.cancel()
        self.assertEqual(method(*INPUTS).tolist(), expected)
        method.close()
        method.cancel()

    def test_ctrl_c_ends_a_run(self):
        method = tenon.load(SOURCE / "examples/python/tests/fixtures/loop.pte",
                            limits={"instructions": None})["forward"]
        for _ in range(2):
            timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                method()
            timer.join()

    def test_a_task_of_asyncio_that_is_cancelled_ends_the_run(self):
        method = tenon.load(SOURCE / "examples/python/tests/fixtures/loop.pte",
                            limits={"instructions": None})["forward"]

        async def cancelled(delay):
            await asyncio.wait_for(tenon.execute_async(method, []), delay)

        for delay in (0, 0.001, 0.1):
            with self.assertRaises((TimeoutError, asyncio.TimeoutError)):
                asyncio.run(cancelled(delay))
        adds = demo()
        [output] = asyncio.run(tenon.execute_async(adds, INPUTS))
        self.assertEqual(output.tolist(), adds(*INPUTS).tolist())

    def test_a_trace_has_loading_and_running(self):
        trace = tenon.Trace()
        method = tenon.load(ADD, plugins=[DEMO], trace=trace)["forward"]
        method(*INPUTS)
        self.assertEqual((len(trace) > 1, trace.dropped), (True, 0))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            trace.write(path)
            names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
            self.assertFails("AccessFailed", "", trace.write, pathlib.Path(folder) / "no" / "trace.json")
        self.assertLessEqual({"init", "execute"}, names)

    def test_a_method_outlives_its_program(self):
        method = demo()
        gc.collect()
        self.assertEqual(method.num_inputs, 3)
        self.assertEqual((method.num_outputs, method.name, repr(method)),
                         (1, "forward", "<tenon.Method forward>"))


class Sessions(Case):
    @unittest.skipUnless(CPU_AOTI.exists(), "built without CpuAotiBackend")
    def test_a_session_is_used_until_another_is(self):
        program = tenon.load(FIXTURES / "cpu_addmul/model.pte", plugins=[CPU_AOTI])
        method, other = program.load_method(), program.load_method()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        expected = method(x, x).tolist()
        session = method.create_session()
        method.use_session(session)
        self.assertFails("InvalidArgument", "expected a session that it created, found one of another",
                         other.use_session, session)
        del session  # The method uses it still.
        gc.collect()
        self.assertEqual(method(x, x).tolist(), expected)
        method.use_session(None)
        self.assertEqual(method(x, x).tolist(), expected)
        unused = [method.create_session()]

        class Forgets:
            def __dlpack__(self, **keywords):
                unused.clear()
                gc.collect()
                return x.__dlpack__(**keywords)

        self.assertEqual(method(Forgets(), x).tolist(), expected)
        unused.append(method.create_session())
        method.close()
        del method, unused, program
        gc.collect()
        with self.assertRaises(TypeError):
            tenon.Session()

    def test_sessions_and_streams_are_refused_where_the_backend_has_none(self):
        method = demo()
        self.assertFails("NotSupported", "", method.create_session)
        self.assertFails("NotSupported", "", method.set_stream, "BackendWithCompilerDemo", 0)
        self.assertFails("InvalidArgument", "Elsewhere", method.set_stream, "Elsewhere", 0)
        method.use_session(None)


class Memory(Case):
    def test_ten_thousand_calls_leave_no_memory(self):
        """Runs with PYTHONMALLOC=debug (meson.build), which also counts what the extension allocates."""
        method = demo()
        bad = INPUTS[0].astype(np.float64)

        def one_round():
            for _ in range(2500):
                method(*INPUTS)
                method(*INPUTS, borrow=True)
                np.asarray(method.execute(INPUTS)[0])
                try:
                    method(bad, *INPUTS[1:])
                except tenon.Error:
                    pass
            gc.collect()
            with open("/proc/self/statm") as statm:
                return sys.getallocatedblocks(), int(statm.read().split()[1])

        one_round()
        blocks, pages = one_round()
        for _ in range(2):
            more_blocks, more_pages = one_round()
        self.assertLess(more_blocks - blocks, 50)
        self.assertLess(more_pages - pages, 64)

    def test_loading_and_closing_leaves_no_memory(self):
        def one_round():
            for _ in range(20):
                with tenon.load(ADD, plugins=[DEMO]) as program:
                    program["forward"](*INPUTS)
                    self.assertRaises(tenon.Error, tenon.load, b"nothing")
            gc.collect()
            return sys.getallocatedblocks()

        one_round()
        before = one_round()
        self.assertLess(one_round() - before, 50)


class Threads(Case):
    def test_methods_run_at_once_and_in_asyncio(self):
        program = tenon.load(ADD, plugins=[DEMO])
        expected = program["forward"](*INPUTS).tolist()
        wrong = []

        def work():
            method = program.load_method()
            for _ in range(200):
                if method(*INPUTS).tolist() != expected:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

        async def main():
            methods = [program.load_method() for _ in range(4)]
            return await asyncio.gather(*(asyncio.to_thread(each, *INPUTS) for each in methods))

        for output in asyncio.run(main()):
            self.assertEqual(output.tolist(), expected)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
