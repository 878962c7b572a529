# SPDX-License-Identifier: MIT
"""One file of a plugin in five hosts: five_hosts.py BUILD

Runs the example hello in tenon-run, Python, stock ExecuTorch, stock ONNX Runtime and the conformance kit, each in a process
of its own, and prints what each computed, and the hash of the file that it had loaded. Needs numpy, torch, executorch, onnx
and onnxruntime.
"""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAMS = BUILD / "examples/programs"
RANK_2 = b"\2\0\0\0"  # The blob of hello.
TEXT = "Float:2,3"
A, B = numpy.arange(12, dtype="float32").reshape(2, 2, 3)
SUM = A + B


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def call(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def loaded(plugin):
    """The hash of the file that this process has mapped under the plugin's path."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert any(line.rstrip().endswith(str(plugin)) for line in maps), f"{plugin} is not mapped"
    return sha256(plugin)


def tenon_run(plugin, folder):
    report = json.loads(call(PROGRAMS / "tenon-run/tenon-run", folder / "model.pte", "--plugin", plugin, "--input",
                             folder / "input_0.npy", "--input", folder / "input_1.npy", "--expect", folder / "expected_0.npy",
                             "--json"))
    assert [each["file"] for each in report["plugins"]] == [str(plugin)], report["plugins"]
    version = call(PROGRAMS / "tenon-run/tenon-run", "--version").split()[-1]
    return version, sha256(plugin), "the sum"


def python(plugin, folder):
    import tenon
    method = tenon.load(folder / "model.pte", plugins=[plugin])["forward"]  # A plugin is unloaded after its last method.
    numpy.testing.assert_array_equal(method(A, B), SUM)
    return tenon.__version__, loaded(plugin), "the sum"


def executorch(plugin, folder):
    import tenon.executorch
    import torch
    from executorch.runtime import Runtime
    assert tenon.executorch.register_plugins(str(plugin)) == ["Add"]
    method = Runtime.get().load_program(folder / "model.pte").load_method("forward")
    found, = method.execute([torch.from_numpy(A), torch.from_numpy(B)])
    numpy.testing.assert_array_equal(found, SUM)
    return importlib.metadata.version("executorch"), loaded(plugin), "the sum"


def onnxruntime(plugin, folder):
    import onnxruntime as runtime
    import tenon.onnx
    tenon.onnx.pack(RANK_2, "Add", folder / "model.onnx", inputs={"a": TEXT, "b": TEXT}, outputs={"c": TEXT})
    options = runtime.SessionOptions()
    options.add_provider_for_devices(tenon.onnx.register("Add"), {})
    session = runtime.InferenceSession(folder / "model.onnx", options)
    found, = session.run(None, {"a": A, "b": B})
    numpy.testing.assert_array_equal(found, SUM)
    return runtime.__version__, loaded(plugin), "the sum"


def kit(plugin, folder):
    out = folder / "kit.json"
    call(BUILD / "tests/conformance/tenon-conformance", plugin, "--cases", folder, "--json", out)
    report = json.loads(out.read_text(encoding="utf-8"))
    subject, = report["subjects"]
    return report["kit_version"], subject["sha256"], report["verdict"].partition(";")[0]


HOSTS = {"tenon-run": tenon_run, "Python": python, "stock ExecuTorch": executorch, "stock ONNX Runtime": onnxruntime,
         "conformance kit": kit}


def host(name, plugin, folder):
    """The row of a host, in a process of its own: what another host loaded is not there."""
    sys.path.insert(0, str(BUILD / "examples/python"))
    print(json.dumps(HOSTS[name](plugin, folder)))


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-test-") as place:
        folder = pathlib.Path(place).resolve()
        plugin = folder / "hello.so"
        shutil.copy(BUILD / "examples/backends/hello.so", plugin)
        expected = sha256(plugin)
        blob = folder / "blob"
        blob.write_bytes(RANK_2)
        call(PROGRAMS / "tenon-pack/tenon-pack", blob, "--backend", "Add", "--input", TEXT, "--input", TEXT, "--output", TEXT,
             "-o", folder / "model.pte")
        for name, data in (("input_0", A), ("input_1", B), ("expected_0", SUM)):
            numpy.save(folder / f"{name}.npy", data)
        print(f"{'host':20}{'version':10}{'SHA-256 (16 digits)':24}result")
        for name in HOSTS:
            words = [sys.executable, __file__, str(BUILD), name, str(plugin), str(folder)]
            environment = {"TENON_PLUGIN_FILES": str(plugin), "TENON_ONNXRUNTIME_LIBRARY": str(
                BUILD / "examples/applications/onnxruntime/libtenon_onnxruntime.so"), **os.environ}
            ended = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True, env=environment)
            assert ended.returncode == 0, f"{name}: exit status {ended.returncode}"
            version, found, result = json.loads(ended.stdout.splitlines()[-1])
            print(f"{name:20}{version:10}{found[:16]:24}{result}", flush=True)
            assert found == expected, f"{name} loaded another file"


if __name__ == "__main__":
    if sys.argv[2:]:
        host(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        main()
