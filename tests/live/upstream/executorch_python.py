# SPDX-License-Identifier: MIT
"""Plugins of Tenon in stock Python with the ExecuTorch wheel: python executorch_python.py BUILD

Everything uses `executorch.runtime` only: the table of backends, programs that run and
programs that fail, a table that is full, and a bridge that was built for another version.
"""

import contextlib
import importlib
import io
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import threading
import warnings

import numpy
import torch
from executorch.runtime import Runtime

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests/fixtures"
BUILD = pathlib.Path(sys.argv[1]).resolve()
BRIDGE = BUILD / "examples/applications/executorch"
PACKAGE = BUILD / "examples/python"
DEMO = BUILD / "examples/backends/demo_backend.so"
CPU_AOTI = BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"
TABLE_SIZE = 16
OF_THE_WHEEL = {"OpenvinoBackend", "QnnBackend", "XnnpackBackend"}  # As bridges.md lists.


def array(path):
    return torch.from_numpy(numpy.load(path))


def names():
    return list(Runtime.get().backend_registry.registered_backend_names)


def refusal(function, *arguments):
    """The tenon.Error that a call must raise."""
    import tenon
    try:
        function(*arguments)
    except tenon.Error as error:
        return error
    raise AssertionError(f"{function.__name__}{arguments} did not fail")


def run(model, *inputs):
    import tenon.executorch
    with tenon.executorch.errors():
        return Runtime.get().load_program(model).load_method("forward").execute(inputs)


def check_programs(bridge):
    assert bridge.register_plugins(str(CPU_AOTI)) == ["CpuAotiBackend"]
    assert names()[-2:] == ["BackendWithCompilerDemo", "CpuAotiBackend"], names()
    assert [each["plugin"] for each in bridge.registered()] == [str(DEMO), str(CPU_AOTI)]
    assert Runtime.get().backend_registry.is_available("CpuAotiBackend")

    folder = FIXTURES / "demo_sin_seg"
    for _ in range(3):
        output, = run(folder / "model.pte", array(folder / "c0_in0.npy"))
        torch.testing.assert_close(output, torch.sin(array(folder / "c0_in0.npy")))
    with tempfile.TemporaryDirectory(prefix="tenon-test-") as place:
        program = Runtime.get().load_program(folder / "model.pte", enable_etdump=True,
                                             debug_buffer_size=1 << 17)
        program.load_method("forward").execute([array(folder / "c0_in0.npy")])
        dump = pathlib.Path(place) / "etdump"
        program.write_etdump_result_to_file(str(dump), str(dump) + ".data")
        assert b"aten.sin.default" in dump.read_bytes(), "ETDump lacks the plugin's event"
    folder = FIXTURES / "cpu_mlp"
    output, = run(folder / "model.pte", array(folder / "in0.npy"))
    torch.testing.assert_close(output, array(folder / "out0.npy"))
    print("programs of two plugins run in stock Python and give the numbers")


def check_failures(bridge):
    import tenon
    folder = FIXTURES / "demo_sin_seg"
    model, x = (folder / "model.pte").read_bytes(), array(folder / "c0_in0.npy")
    error = refusal(run, model.replace(b"version:0#", b"version:7#"), x)
    assert (error.number, error.name) == (0x30, "DelegateInvalidCompatibility"), error
    assert "backend BackendWithCompilerDemo: init: " in error.text, error
    assert "expected payload version 0, found 7" in error.text, error
    assert re.search(r"error: 0x:?30$", str(error.__cause__)), error.__cause__
    error = refusal(run, model.replace(b"numel:4,", b"numel:5,"), x)
    assert "execute: aten.sin.default: expected 5 elements, found 4" in error.text, error
    # The program runs in the same process as before, and what is not ours passes unchanged.
    run(model, x)
    for wrong in (b"no program", model.replace(b"BackendWithCompilerDemo", b"BackendWithCompilerOmed")):
        try:
            run(wrong, x)
        except tenon.Error as failure:
            raise AssertionError(f"not an error of a plugin: {failure}") from failure
        except RuntimeError as failure:
            print("unchanged:", str(failure).strip())

    seen = []

    def elsewhere():
        seen.append(refusal(run, model.replace(b"version:0#", b"version:8#"), x).text)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "found 8" in seen[0], seen
    print("the text of a plugin's failure arrives:", seen[0])


def check_taken_ids(bridge):
    many = BUILD / "tests/plugins/many_things.so"
    assert bridge.register_plugins(many, ids=[]) == []
    error = refusal(bridge.register_plugins, many, ["Mony"])
    assert error.name == "NotFound", error
    try:
        bridge.register_plugins(many, ids="ManyBackend")
        raise AssertionError("text was accepted as a list of ids")
    except TypeError as failure:
        assert "ManyBackend" in str(failure), failure
    assert bridge.register_plugins(many, ids=["ManyBackend"]) == ["ManyBackend"]
    assert names()[-1] == "ManyBackend", names()
    # Named, a taken id refuses the call; otherwise it leaves out its backend.
    error = refusal(bridge.register_plugins, many, ["ManyBackend", "ShyBackend"])
    assert error.name == "RegistrationAlreadyRegistered", error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert bridge.register_plugins(many) == ["ShyBackend"]
    message, = [str(each.message) for each in caught if each.category is bridge.NotRegisteredWarning]
    assert "backend 'ManyBackend'" in message and 'ids=["ShyBackend"]' in message, message
    print("a taken id leaves out one backend:", message.split(". Its table")[0])


def check_table(bridge):
    import tenon
    error = refusal(bridge.register_plugins, DEMO)
    assert error.name == "RegistrationAlreadyRegistered", error
    assert str(DEMO) in error.text and "libexecutorch_backend_xnnpack.so" in error.text, error
    assert refusal(bridge.register_plugins, "/nonexistent.so").name == "NotFound"
    assert refusal(bridge.register_plugins, ROOT / "README.md").name == "InvalidArgument"

    with tempfile.TemporaryDirectory(prefix="tenon-test-") as folder:
        os.environ["TENON_PLUGIN_PATH"] = folder
        assert bridge.register_plugins() == []
        (pathlib.Path(folder) / "hello.so").symlink_to(BUILD / "examples/backends/hello.so")
        ids = bridge.register_plugins()
        assert ids == ["Add"], ids
        error = refusal(bridge.register_plugins)
        assert "TENON_DISABLE=ID" in error.text, error
        del os.environ["TENON_PLUGIN_PATH"]

    # Fills the table for good, so nothing may come after it.
    zoo = BUILD / "tests/plugins"
    more = [zoo / f"{name}.so" for name in ("embedded_code", "talkative", "throws",
                                            "variant_base")]
    more.append(zoo / "two_backends.so")  # Room for one.
    error = None
    for plugin in more:
        before = names()
        try:
            bridge.register_plugins(plugin)
        except tenon.Error as failure:
            error = failure
            assert names() == before, "a plugin was registered by half"
            break
    assert error is not None and error.name == "OutOfResources", error
    assert error.text.startswith("2 backends do not fit"), error
    assert f"room for {TABLE_SIZE}" in error.text and "register fewer" in error.text, error
    print("a table that is full:", error.text.split(". It has")[0])


def check_other_version():
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE),
                   "TENON_EXECUTORCH_LIBRARY": str(BRIDGE / "libtenon_executorch_other.so")}
    done = subprocess.run([sys.executable, "-c", "import tenon.executorch as t; t.registered()"], env=environment,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    message = done.stderr.strip().splitlines()[-1]
    assert re.search(r"was compiled for ExecuTorch 1\.\d+, but this is ExecuTorch 1\.\d+\.", message)
    print("a bridge for another version:", message)


def check_isolation():
    """The variable decides for register_plugins, too: the plugin is not in this process."""
    folder = FIXTURES / "demo_sin_seg"
    lines = ["import torch, numpy, tenon.executorch", "from executorch.runtime import Runtime",
             f"assert tenon.executorch.register_plugins({str(DEMO)!r}) == ['BackendWithCompilerDemo']",
             f"x = torch.from_numpy(numpy.load({str(folder / 'c0_in0.npy')!r}))",
             f"method = Runtime.get().load_program({str(folder / 'model.pte')!r}).load_method('forward')",
             "torch.testing.assert_close(method.execute([x])[0], torch.sin(x))",
             "assert 'demo_backend.so' not in open('/proc/self/maps').read()"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TENON_ISOLATE": "demo_backend.so=none",
                   "TENON_WORKER": str(BUILD / "examples/programs/isolation/tenon-worker")}
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=environment, check=True)
    print("a plugin in a worker runs in stock Python")


def check_script():
    folder = FIXTURES / "demo_sin_seg"
    script, arguments = BRIDGE / "run_plugin.py", sys.argv
    sys.argv = [str(script), str(DEMO), str(folder / "model.pte"), str(folder / "c0_in0.npy")]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(script))
    sys.argv = arguments
    assert out.getvalue().startswith("registered: ['BackendWithCompilerDemo']\ntensor("), out
    application = subprocess.run(
        [BRIDGE / "executorch-app", DEMO, folder / "model.pte"], capture_output=True, text=True,
        check=True)
    expected = torch.sin(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    torch.testing.assert_close(torch.tensor([float(x) for x in application.stdout.split()]), expected,
                               rtol=1e-5, atol=1e-6)
    print("the script and the application of ten lines run a plugin")


def main():
    assert set(names()) == OF_THE_WHEEL, names()
    for name in [name for name in os.environ if name.startswith("TENON_")]:
        del os.environ[name]
    check_other_version()
    check_isolation()
    sys.path.insert(0, str(PACKAGE))
    check_script()
    bridge = importlib.import_module("tenon.executorch")
    check_programs(bridge)
    check_failures(bridge)
    check_taken_ids(bridge)
    check_table(bridge)


if __name__ == "__main__":
    main()
