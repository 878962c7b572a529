# SPDX-License-Identifier: MIT
"""Plugins in sessions of stock ONNX Runtime: onnxruntime_sessions.py BUILD SOURCE [argument of unittest]...

Needs numpy, onnx and onnxruntime 1.23 or later. In a build with sanitizers:

    LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1 \
        python onnxruntime_sessions.py build/asan . Runs Threads Loads Hostile Packing
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

BUILD, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
sys.path.insert(0, str(BUILD / "examples/python"))
import tenon.onnx  # noqa: E402  pylint: disable=wrong-import-position

LIBRARY = str(BUILD / "examples/applications/onnxruntime/libtenon_onnxruntime.so")
HELLO = BUILD / "examples/backends/hello.so"
GRAPH = BUILD / "examples/backends/graph_backend/graph_backend.so"
AOTI = BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"
COMPILE = BUILD / "examples/programs/tenon-compile/tenon-compile"
PACK = BUILD / "examples/programs/tenon-pack/tenon-pack"
DIES = BUILD / "tests/unit/isolated/dies.so"
PT2 = SOURCE / "tests/fixtures/pt2"
RANK_2 = b"\2\0\0\0"
NAME = "tenon"
MINOR = int(onnxruntime.__version__.split(".")[1])
os.environ.pop("LD_PRELOAD", None)  # Programs of a build with sanitizers have the runtime in them.


@contextlib.contextmanager
def registered(*plugins, name=NAME, **variables):
    """The library in this process, with these plugins alone."""
    changed = {"TENON_PLUGIN_FILES": ":".join(map(str, plugins)), **variables}
    before = {key: os.environ.get(key) for key in changed}
    os.environ.update(changed)
    try:
        onnxruntime.register_execution_provider_library(name, LIBRARY)
        try:
            yield
        finally:
            onnxruntime.unregister_execution_provider_library(name)
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


class Session:
    """A session with the providers of these backends before ONNX Runtime's own for the CPU, in a `with`: it must end
    before the library is unregistered."""

    def __init__(self, model, *backends, options=None, profile=None):
        chosen = onnxruntime.SessionOptions()
        chosen.intra_op_num_threads = 1
        chosen.log_severity_level = 4
        if profile:
            chosen.enable_profiling, chosen.profile_file_prefix = True, str(profile)
        for backend in backends:
            devices = [each for each in onnxruntime.get_ep_devices() if each.ep_name == backend]
            assert devices, f"no device of {backend}"
            chosen.add_provider_for_devices(devices, options or {})
        self.session = onnxruntime.InferenceSession(str(model) if isinstance(model, pathlib.Path) else model, chosen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None

    def run(self, **inputs):
        output, = self.session.run(None, inputs)
        return output


def tensor(name, sizes, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, sizes)


def model_of(nodes, inputs, outputs, values=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs, value_info=list(values))
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18),
                                                                  helper.make_opsetid("com.microsoft", 1)])


def memory():
    """Bytes that this process has resident."""
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tenon-test-")))

    def compiled(self, name):
        """The program of an exported model for GraphBackend, and its cases: inputs and what PyTorch computed."""
        program = self.folder / f"{name}.pte"
        subprocess.run([COMPILE, PT2 / name / "model.pt2", "--backend", "GraphBackend", "--plugin", GRAPH, "--spec",
                        "weights=named", "-o", program], check=True, stdout=subprocess.DEVNULL)
        cases = [(numpy.load(path), numpy.load(path.with_name(path.name.replace("input_0", "expected_0"))))
                 for path in sorted((PT2 / name).glob("*input_0.npy"))]
        return program, cases


class Again(Test):
    """The first class: ONNX Runtime keeps a library in memory whose registration fails."""

    def test_memory_does_not_grow_when_the_library_is_loaded_again(self):
        tenon.onnx.pack(RANK_2, "Add", self.folder / "add.onnx", inputs={"a": "Float:2,3", "b": "Float:2,3"},
                        outputs={"c": "Float:2,3"})
        ones = numpy.ones((2, 3), "float32")
        for i in range(100):
            with registered(HELLO), Session(self.folder / "add.onnx", "Add") as runs:
                runs.run(a=ones, b=ones)
            if i == 20:
                warm = memory()
        self.assertLess(memory() - warm, 2 << 20, "memory grew")
        if MINOR == 23:
            return  # It unloads no library of a provider, not even one that does nothing.
        maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
        self.assertEqual([name for name in ("libtenon_onnxruntime.so", "hello.so") if name in maps], [])


class Runs(Test):
    def test_a_node_of_a_plugin_and_nodes_of_the_cpu_run_in_one_session(self):
        nodes = [helper.make_node("Relu", ["a"], ["x"]), tenon.onnx.node(RANK_2, "Add", ["x", "b"], ["y"]),
                 helper.make_node("Neg", ["y"], ["z"]), tenon.onnx.node(RANK_2, "Add", ["z", "z"], ["out"], name="twice")]
        model = model_of(nodes, [tensor("a", [2, 3]), tensor("b", [2, 3])], [tensor("out", [2, 3])],
                         [tensor("y", [2, 3]), tensor("z", [2, 3])])
        a, b = numpy.random.default_rng(0).standard_normal((2, 2, 3), dtype="float32")
        with registered(HELLO), Session(model.SerializeToString(), "Add") as runs:
            found = runs.run(a=a, b=b)
        numpy.testing.assert_array_equal(found, -2 * (numpy.maximum(a, 0) + b))

    def test_a_constant_is_an_input_and_an_output_may_be_unused(self):
        b = numpy.arange(6, dtype="float32").reshape(2, 3)
        nodes = [tenon.onnx.node(RANK_2, "Add", ["a", "b"], ["c"]),
                 tenon.onnx.node(RANK_2, "Add", ["a", "a"], ["unused"], name="second")]
        model = model_of(nodes, [tensor("a", [2, 3])], [tensor("c", [2, 3])], [tensor("unused", [2, 3])])
        model.graph.initializer.append(numpy_helper.from_array(b, "b"))
        with registered(HELLO), Session(model.SerializeToString(), "Add") as runs:
            found = runs.run(a=b)
        numpy.testing.assert_array_equal(found, 2 * b)

    def test_a_blob_is_in_a_file_of_the_models_folder(self):
        tenon.onnx.pack(RANK_2, "Add", self.folder / "add.onnx", inputs={"a": "Float:2,3", "b": "Float:2,3"},
                        outputs={"c": "Float:2,3"}, external="add.bin")
        ones = numpy.ones((2, 3), "float32")
        with registered(HELLO), Session(self.folder / "add.onnx", "Add") as runs:
            found = runs.run(a=ones, b=ones)
        numpy.testing.assert_array_equal(found, 2 * ones)

    def test_sizes_change_within_bounds(self):
        text = "Float:8,3:dynamic"
        tenon.onnx.pack(RANK_2, "Add", self.folder / "add.onnx", inputs={"a": text, "b": text}, outputs={"c": text})
        with registered(HELLO), Session(self.folder / "add.onnx", "Add") as runs:
            for rows in (1, 8, 3, 0):
                ones = numpy.ones((rows, 3), "float32")
                found = runs.run(a=ones, b=ones)
                numpy.testing.assert_array_equal(found, 2 * ones)
            large = numpy.ones((9, 3), "float32")
            with self.assertRaisesRegex(Exception, "Tenon: .*EPContext node 'context'.*9"):
                runs.run(a=large, b=large)

    def test_programs_of_graph_backend_give_eager_pytorchs_numbers(self):
        for name in ("mlp", "vision", "transformer_dynamic"):
            with self.subTest(name), registered(GRAPH):
                program, cases = self.compiled(name)
                kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
                sizes = [[f"{kind}{i}" for i in range(case.ndim)] if len({each[0].shape for each in cases}) > 1
                         else list(case.shape) for kind, case in zip("io", cases[0], strict=True)]
                node = tenon.onnx.node(program.read_bytes(), "GraphBackend", ["x"], ["y"], method="forward")
                model = model_of([node], [tensor("x", sizes[0], kinds[str(cases[0][0].dtype)])], [tensor("y", sizes[1])])
                with Session(model.SerializeToString(), "GraphBackend") as runs:
                    found = [runs.run(x=given) for given, _ in cases]
                for output, (_, expected) in zip(found, cases, strict=True):
                    numpy.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)

    def test_a_program_in_a_file_is_mapped(self):
        program, cases = self.compiled("mlp")
        tenon.onnx.pack(program, "GraphBackend", self.folder / "m.onnx", inputs={"x": "Float:2,16"},
                        outputs={"y": "Float:2,10"}, method="forward", external="context.pte")
        with registered(GRAPH), Session(self.folder / "m.onnx", "GraphBackend") as runs:
            maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
            self.assertIn(str((self.folder / "context.pte").resolve()), maps)
            found = runs.run(x=cases[0][0])
        numpy.testing.assert_allclose(found, cases[0][1], rtol=1e-5)

    def test_three_plugins_and_the_cpu_provider_run_in_one_session(self):
        program, ((x, y), *_) = self.compiled("mlp")
        digits = SOURCE / "examples/applications/digits"
        picture, digit = numpy.load(digits / "input.npy"), numpy.load(digits / "expected.npy")
        nodes = [tenon.onnx.node(program.read_bytes(), "GraphBackend", ["x"], ["y"], method="forward"),
                 tenon.onnx.node(RANK_2, "Add", ["y", "y"], ["z"], name="sum"), helper.make_node("Neg", ["z"], ["out"]),
                 tenon.onnx.node((digits / "model.pte").read_bytes(), "CpuAotiBackend", ["picture"], ["digit"],
                                 method="forward", name="digits")]
        model = model_of(nodes, [tensor("x", x.shape), tensor("picture", picture.shape)],
                         [tensor("out", y.shape), tensor("digit", digit.shape)],
                         [tensor("y", y.shape), tensor("z", y.shape)])
        backends = ["Add", "CpuAotiBackend", "GraphBackend"]
        with registered(GRAPH, HELLO, AOTI, name=",".join(backends)), \
                Session(model.SerializeToString(), *backends) as runs:
            self.assertEqual(runs.session.get_providers(), [*backends, "CPUExecutionProvider"])
            found = runs.session.run(None, {"x": x, "picture": picture})
        numpy.testing.assert_allclose(found[0], -2 * y, rtol=1e-5)
        numpy.testing.assert_allclose(found[1], digit, rtol=1e-4, atol=1e-5)


    @unittest.skipIf(MINOR < 25, "it has no profilers of providers")
    def test_a_profile_has_the_plugins_own_events_within_the_nodes_time(self):
        program, ((x, y), *_) = self.compiled("mlp")
        tenon.onnx.pack(program, "GraphBackend", self.folder / "mlp.onnx", inputs={"x": f"Float:{x.shape[0]},{x.shape[1]}"},
                        outputs={"y": f"Float:{y.shape[0]},{y.shape[1]}"}, method="forward")
        with registered(GRAPH), Session(self.folder / "mlp.onnx", "GraphBackend", profile=self.folder / "profile") as runs:
            runs.run(x=x)
            events = json.loads(pathlib.Path(runs.session.end_profiling()).read_text(encoding="utf-8"))
            runs.run(x=x)
        node, = (each for each in events if each["cat"] == "Node")
        for name in ("GraphBackend: execute", "GraphBackend: MatMul"):
            ours = [each for each in events if each["name"] == name]
            self.assertTrue(ours, name)
            for each in ours:
                self.assertGreaterEqual(each["ts"], node["ts"])
                self.assertLessEqual(each["ts"] + each["dur"], node["ts"] + node["dur"] + 1)


class Threads(Test):
    def in_threads(self, work):
        failures = []

        def guarded(number):
            try:
                work(number)
            except Exception as failure:  # pylint: disable=broad-exception-caught
                failures.append(failure)
        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def check(self, sessions):
        expected = [numpy.full((2, 3), 2.0 * i, "float32") for i in range(2)]
        warm = []

        def work(number):
            given = numpy.full((2, 3), float(number), "float32")
            for i in range(10_000):
                found = sessions[number].run(a=given, b=given)
                if i == 1000:
                    warm.append(memory())
                if not numpy.array_equal(found, expected[number]):
                    raise AssertionError(f"run {i} of thread {number}: {found}")
        self.in_threads(work)
        self.assertLess(memory() - max(warm), 2 << 20, "memory grew")

    def test_two_sessions_and_one_session_run_in_two_threads(self):
        tenon.onnx.pack(RANK_2, "Add", self.folder / "add.onnx", inputs={"a": "Float:2,3", "b": "Float:2,3"},
                        outputs={"c": "Float:2,3"})
        model = self.folder / "add.onnx"
        with registered(HELLO), Session(model, "Add") as first, Session(model, "Add") as second:
            self.check([first, second])
            self.check([first, first])


class Loads(Test):
    def test_an_unknown_backend_in_the_name_is_a_failure(self):
        with self.assertRaisesRegex(Exception, "registration name 'Add,Nothing': no backend 'Nothing'; there are: Add"), \
                registered(HELLO, name="Add,Nothing"):
            pass

    def test_a_plugin_that_crashes_in_a_worker_fails_the_run(self):
        model = model_of([tenon.onnx.node(b"\2\0\0\0", "Add", ["a", "b"], ["c"])],
                         [tensor("a", [1, 3]), tensor("b", [1, 3])], [tensor("c", [1, 3])])
        ones = numpy.ones((1, 3), "float32")
        with registered(DIES, TENON_ISOLATE="*", TENON_WORKER=str(BUILD / "examples/programs/isolation/tenon-worker")), \
                Session(model.SerializeToString(), "Add", options={"how": "segv"}) as runs:
            runs.run(a=ones, b=ones)
            with self.assertRaisesRegex(Exception, "Tenon: .*the worker died in execute of backend Add"):
                runs.run(a=666 * ones, b=ones)


class Hostile(Test):
    """Models that fail: what changes in one that runs, and the text of the failure."""

    CASES = (
        ("a truncated context", {"ep_cache_context": b"\2\0"}, "blob: expected 4 bytes, found 2"),
        ("no context", {"ep_cache_context": None}, "attribute ep_cache_context is missing"),
        ("an empty context", {"ep_cache_context": b""}, "attribute ep_cache_context is empty"),
        ("a context of another type", {"ep_cache_context": 3}, "Mismatched attribute type"),
        ("a context of an unknown backend", {"source": "Nothing"}, "EPContext"),
        ("no backend", {"source": None}, "EPContext"),
        ("a backend of another type", {"source": 4}, "EPContext"),
        ("the context of another node", {"main_context": 0}, "main_context: expected 1, found 0"),
        ("an unknown mode", {"embed_mode": 7}, "embed_mode: expected 0 or 1, found 7"),
        ("a path above", {"embed_mode": 0, "ep_cache_context": "../secret.bin"}, "leaves the model's folder"),
        ("an absolute path", {"embed_mode": 0, "ep_cache_context": "/etc/passwd"},
         "expected a path relative to the model's folder"),
        ("a link that leaves", {"embed_mode": 0, "ep_cache_context": "link.bin"}, "leaves the model's folder by a link"),
        ("a path with a NUL", {"embed_mode": 0, "ep_cache_context": b"a\0b"}, "a NUL character follows"),
        ("a file that is absent", {"embed_mode": 0, "ep_cache_context": "absent.bin"}, "No such file"),
        ("a folder as file", {"embed_mode": 0, "ep_cache_context": "folder"}, "expected a regular file"),
        ("garbage as program", {"tenon_method": "forward"}, "InvalidProgram"),
        ("a wrong dtype", {"tenon_inputs": ["Half:2,3", "Float:2,3"]}, "the context has Half, the model Float"),
        ("an unknown dtype", {"tenon_inputs": ["Real:2,3"]}, "tenon_inputs: Real:2,3: unknown dtype"),
        ("too few inputs", {"tenon_inputs": ["Float:2,3"]}, "the context has 1 inputs, the node 2"),
        ("another rank", {"tenon_inputs": ["Float:6", "Float:6"]}, r"the context has sizes \[6\], the model \[2, 3\]"),
        ("gigantic sizes", {"tenon_outputs": ["Float:2147483647,2147483647,2147483647"]}, "tenon_outputs"),
        ("a spec without value", {"tenon_spec_keys": ["a", "b"], "tenon_spec_0": b""}, "tenon_spec_1 is missing"),
        ("one key twice", {"tenon_data_keys": ["a", "a"], "tenon_data_0": b"x", "tenon_data_1": b"y"}, "twice"),
    )

    def model(self, changes):
        attributes = {"source": "Add", "ep_cache_context": RANK_2, "main_context": 1, "embed_mode": 1, **changes}
        node = helper.make_node("EPContext", ["a", "b"], ["c"], name="context", domain="com.microsoft",
                                **{key: value for key, value in attributes.items() if value is not None})
        return model_of([node], [tensor("a", [2, 3]), tensor("b", [2, 3])], [tensor("c", [2, 3])])

    def programs(self):
        """Hostile contexts that are programs."""
        (self.folder / "blob").write_bytes(RANK_2)
        for backend in ("Add", "Other"):
            subprocess.run([PACK, self.folder / "blob", "--backend", backend, *("--input", "Float:2,3") * 2, "--output",
                            "Float:2,3", "-o", self.folder / backend], check=True, stdout=subprocess.DEVNULL)
        add, other = ((self.folder / backend).read_bytes() for backend in ("Add", "Other"))
        return (("half of a program", {"tenon_method": "forward", "ep_cache_context": add[:len(add) // 2]}, "InvalidProgram"),
                ("a program without the method", {"tenon_method": "backward", "ep_cache_context": add}, "backward"),
                ("a program of a backend that no plugin has", {"tenon_method": "forward", "ep_cache_context": other},
                 "backend 'Other' is not registered"))

    def test_each_fails_with_a_reason(self):
        models = self.folder / "models"
        (models / "folder").mkdir(parents=True)
        (self.folder / "secret.bin").write_bytes(RANK_2)
        (models / "link.bin").symlink_to("../secret.bin")
        ones = numpy.ones((2, 3), "float32")
        with registered(HELLO):
            for what, changes, text in (*self.CASES, *self.programs()):
                with self.subTest(what):
                    onnx.save(self.model(changes), models / "model.onnx")
                    with self.assertRaisesRegex(Exception, text) as raised:
                        Session(models / "model.onnx", "Add")
                    print(f"{what}: {str(raised.exception).splitlines()[0][:300]}", flush=True)
            onnx.save(self.model({}), models / "model.onnx")
            with Session(models / "model.onnx", "Add") as runs:
                runs.run(a=ones, b=ones)

    def test_a_file_needs_a_model_with_a_folder(self):
        model = self.model({"embed_mode": 0, "ep_cache_context": "a.bin"})
        with registered(HELLO), self.assertRaisesRegex(Exception, "the model was given as bytes"):
            Session(model.SerializeToString(), "Add")

    def test_wrong_options_are_named(self):
        with registered(HELLO):
            for options, text in (({"threads": "1"}, "option 'threads' is unknown"),
                                  ({"tenon.limit.nothing": "1"}, "option tenon.limit.nothing"),
                                  ({"tenon.limit.name_bytes": "2"}, "the limit name_bytes is 2")):
                with self.subTest(options), self.assertRaisesRegex(Exception, text):
                    Session(self.model({}).SerializeToString(), "Add", options=options)


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
class Compiling(Test):
    def setUp(self):
        super().setUp()
        random = numpy.random.default_rng(0)
        self.weights = [numpy_helper.from_array(0.3 * random.standard_normal(sizes, dtype="float32"), name)
                        for name, sizes in (("w0", (4, 3, 3, 3)), ("b0", (4,)), ("w1", (5, 4)), ("b1", (5,)))]

    def network(self, *changes, opset=18, **convolution):
        """Convolution to softmax, with one operator between that no backend gets."""
        nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], **{"pads": [1, 1, 1, 1], **convolution}),
                 helper.make_node("Relu", ["a"], ["b"]),
                 helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("GlobalAveragePool", ["c"], ["d"]), helper.make_node("Flatten", ["d"], ["e"]),
                 helper.make_node("Erf", ["e"], ["f"], name="erf"),
                 helper.make_node("Gemm", ["f", "w1", "b1"], ["g"], transB=1), helper.make_node("Sigmoid", ["g"], ["h"]),
                 helper.make_node("Mul", ["g", "h"], ["i"]), helper.make_node("Softmax", ["i"], ["y"]), *changes]
        graph = helper.make_graph(nodes, "network", [tensor("x", ["batch", 3, 8, 8])], [tensor("y", ["batch", 5])],
                                  self.weights)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])

    def compile(self, model, **arguments):
        return tenon.onnx.compile(model, **{"backend": "GraphBackend", "plugins": GRAPH, "bounds": {"batch": 6}, **arguments})

    def test_the_parts_that_a_backend_takes_run_in_it_and_give_the_same_numbers(self):
        model = self.network()
        compiled = self.compile(model)
        self.assertEqual([each.op_type for each in compiled.model.graph.node], ["EPContext", "Erf", "EPContext"])
        self.assertEqual(sum(compiled.taken.values()), 9)
        self.assertEqual(compiled.left, {"erf": "Erf: no function of PyTorch is known for it"})
        self.assertEqual(list(compiled.model.graph.initializer), [])
        compiled.save(self.folder / "model.onnx")
        with registered(GRAPH), Session(self.folder / "model.onnx", "GraphBackend") as ours, \
                Session(model.SerializeToString()) as theirs:
            for batch in (2, 6, 3):
                x = numpy.random.default_rng(batch).standard_normal((batch, 3, 8, 8), dtype="float32")
                numpy.testing.assert_allclose(ours.run(x=x), theirs.run(x=x), rtol=1e-5, atol=1e-6)

    def test_what_stays_with_onnx_runtime_has_a_reason(self):
        for model, arguments, text in (
                (self.network(pads=[0, 0, 1, 1]), {}, r"Conv: pads are \[0, 0, 1, 1\]"),
                (self.network(auto_pad="SAME_UPPER"), {}, "Conv: auto_pad is b'SAME_UPPER'"),
                (self.network(), {"bounds": {}}, "Conv: size batch of x has no bound")):
            with self.subTest(text):
                compiled = self.compile(model, **arguments)
                self.assertRegex("; ".join(compiled.left.values()), text)
                onnx.checker.check_model(model)

    def test_wrong_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, "expected a model of opset 13 or later, found 12"):
            self.compile(self.network(opset=12))
        with self.assertRaisesRegex(tenon.Error, "max_scratch_bytes is 1"):
            self.compile(self.network(), options={"max_scratch_bytes": 1})
        with self.assertRaisesRegex(tenon.Error, "Nothing"):
            self.compile(self.network(), backend="Nothing")


class Packing(Test):
    def test_arguments_that_no_model_can_hold_are_refused(self):
        good = {"context": RANK_2, "backend": "Add", "model": self.folder / "m.onnx", "inputs": {"a": "Float:2"},
                "outputs": {"b": "Float:2"}}
        for changes, error, text in (
                ({"context": b""}, ValueError, "no bytes"), ({"context": 3}, TypeError, "found int"),
                ({"context": self.folder / "absent"}, OSError, "absent"),
                ({"inputs": {"a": "Float"}}, ValueError, "a: expected DTYPE:SIZES"),
                ({"inputs": {"a": "float32:2"}}, ValueError, "found 'float32:2'"),
                ({"inputs": {"a": "Float:2:static"}}, ValueError, "found 'Float:2:static'"),
                ({"inputs": {"a": "Float:-2"}}, ValueError, "found 'Float:-2'"),
                ({"outputs": {"b": "QInt8:2"}}, ValueError, "a dtype of ONNX"),
                ({"data": {"key": 1.5}}, TypeError, "found float"), ({"specs": {"a\0": "b"}}, ValueError, "no NUL"),
                ({"method": "forward", "specs": {"a": "b"}}, ValueError, "its own compile specs"),
                ({"external": "../a.bin"}, ValueError, "the name of a file")):
            with self.subTest(changes), self.assertRaisesRegex(error, text):
                tenon.onnx.pack(**{**good, **changes})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_tenon_pack_writes_the_model_that_python_writes(self):
        (self.folder / "blob").write_bytes(RANK_2)
        (self.folder / "weights").write_bytes(b"w\0")
        tensors = {"input_0": "Float:2,3", "input_1": "Half:"}, {"output_0": "Long:1,8:dynamic"}
        tenon.onnx.pack(RANK_2, "Add", self.folder / "expected.onnx", inputs=tensors[0], outputs=tensors[1],
                        specs={"mode": "fast", "none": ""}, data={"w": self.folder / "weights"})
        words = [*("--input " + " --input ".join(tensors[0].values())).split(), "--output", tensors[1]["output_0"]]
        subprocess.run([PACK, self.folder / "blob", "--backend", "Add", *words, "--spec", "mode=fast", "--spec", "none=",
                        "--data", f"w={self.folder}/weights", "--method", "context", "--onnx", "-o",
                        self.folder / "found.onnx"], check=True, stdout=subprocess.DEVNULL)
        found, expected = (onnx.load(self.folder / f"{name}.onnx") for name in ("found", "expected"))
        onnx.checker.check_model(found)
        for model in found, expected:
            model.graph.node[0].attribute.sort(key=lambda each: each.name)
        self.assertEqual(found, expected)

    def test_register_finds_plugins_and_returns_their_devices(self):
        text = "Float:2,3"
        tenon.onnx.pack(RANK_2, "Add", self.folder / "m.onnx", inputs={"a": text, "b": text}, outputs={"c": text})
        os.environ |= {"TENON_PLUGIN_FILES": f"{HELLO}:{GRAPH}", "TENON_ONNXRUNTIME_LIBRARY": LIBRARY}
        for ids, name in ((["Add"], "Add"), ([], "tenon")):
            devices = tenon.onnx.register(*ids)
            self.assertEqual([each.ep_name for each in devices], ids or ["Add", "GraphBackend"])
            options = onnxruntime.SessionOptions()
            options.add_provider_for_devices(devices[:1], {})
            ones = numpy.ones((2, 3), "float32")
            found, = onnxruntime.InferenceSession(str(self.folder / "m.onnx"), options).run(None, {"a": ones, "b": ones})
            numpy.testing.assert_array_equal(found, 2 * ones)
            del devices, options
            onnxruntime.unregister_execution_provider_library(name)

    def test_specs_data_and_versions_are_attributes(self):
        (self.folder / "weights").write_bytes(b"w\0")
        tenon.onnx.pack(RANK_2, "Add", self.folder / "m.onnx", inputs={"a": "Half:1,8:dynamic"}, outputs={"b": "Long:"},
                        specs={"mode": "fast", "raw": b"\0"}, data={"w": self.folder / "weights"}, payload_version=3)
        model = onnx.load(self.folder / "m.onnx")
        onnx.checker.check_model(model)
        node, = model.graph.node
        found = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        self.assertEqual(found, {
            "source": b"Add", "main_context": 1, "embed_mode": 1, "ep_cache_context": RANK_2,
            "tenon_inputs": [b"Half:1,8:dynamic"], "tenon_outputs": [b"Long:"], "tenon_payload_version": 3,
            "tenon_spec_keys": [b"mode", b"raw"], "tenon_spec_0": b"fast", "tenon_spec_1": b"\0",
            "tenon_data_keys": [b"w"], "tenon_data_0": b"w\0"})
        self.assertEqual([each.dim_param for each in model.graph.input[0].type.tensor_type.shape.dim], ["a_0", "a_1"])
        self.assertEqual([(each.key, each.value) for each in model.metadata_props],
                         [("ep_compatibility_info.Add", "tenon_payload_version=3")])


if __name__ == "__main__":
    print(f"ONNX Runtime {onnxruntime.__version__}", flush=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
