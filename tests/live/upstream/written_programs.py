#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives programs and data files that Tenon wrote to ExecuTorch's own readers, from its wheel.

* Random programs: the runtime loads each with every check on and names its methods; the Python
  package reads each back, and everything in it is what was described.
* Random data files: read back by the package's FlatTensorSerializer.
* Stores of named data: the package's own gives the same for the same calls (written_stores.py).
* Programs of portable kernels run in the runtime and give PyTorch's numbers.
* Programs that ExecuTorch exported, read by Tenon and written anew, give the numbers they gave.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import tempfile

import numpy
import torch
import written_stores
from executorch.exir._serialize._cord import Cord
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.schema import DataLocation, TensorDataLocation, TensorShapeDynamism
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from executorch.runtime import Runtime, Verification

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
# Programs whose kernels and backends the wheel has.
REWRITTEN = ["add_dynamic_portable", "mlp_portable", "mlp_xnnpack", "mutable_buffer_portable"]
# Indices of tenon::aot::Storage.
FROM_CALLER, PLANNED, CONSTANT, INITIAL_STATE, EXTERNAL = range(5)


def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()


def same(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def check_tensor(pte, found, expected):
    same(int(found.scalar_type), expected["scalar_type"], "scalar type")
    same(found.sizes, expected["sizes"], "sizes")
    same(list(found.dim_order), expected["dim_order"], "dim order")
    same(found.requires_grad, expected["requires_grad"], "requires_grad")
    dynamism = TensorShapeDynamism.DYNAMIC_BOUND if expected["is_dynamic"] else TensorShapeDynamism.STATIC
    same(found.shape_dynamism, dynamism, "dynamism")
    extra, storage = found.extra_tensor_info, expected["storage"]
    same(extra.fully_qualified_name if extra else "", expected["name"], "name")
    device = [int(extra.device_type), extra.device_index] if extra else [0, 0]
    same(device, expected["device"], "device")
    is_external = extra is not None and extra.location == TensorDataLocation.EXTERNAL
    same(is_external, storage == EXTERNAL, "location")
    place = found.allocation_info
    same([place.memory_id, place.memory_offset] if place else None, expected.get("place"), "place")
    if storage == CONSTANT:
        data = pte.program.constant_buffer[found.data_buffer_idx].storage
    elif storage == INITIAL_STATE:
        data = pte.mutable_data[found.data_buffer_idx].storage
    else:
        return same(found.data_buffer_idx, 0, "number of the data")
    return same(digest(data[: expected["nbytes"]]), expected["data"], "data")


def check_value(pte, found, expected):
    kind, content, value = expected["kind"], expected["content"], found.val
    same(type(value).__name__, {"None": "Null"}.get(kind, kind), "kind")
    if kind == "Tensor":
        check_tensor(pte, value, content)
    elif kind in ("Int", "Bool", "Double", "String"):
        same(getattr(value, f"{kind.lower()}_val"), content, "content")
    elif kind != "None":
        same(list(value.items), content, "items")


def fields(instruction):
    args = instruction.instr_args
    return [type(args).__name__, *vars(args).values()]


def check_method(pte, found, expected):
    same(found.name, expected["name"], "name")
    same(found.container_meta_type.encoded_inp_str, expected["encoded_inputs"], "encoded inputs")
    same(found.container_meta_type.encoded_out_str, expected["encoded_outputs"], "encoded outputs")
    same(found.inputs, expected["inputs"], "inputs")
    same(found.outputs, expected["outputs"], "outputs")
    same([[op.name, op.overload] for op in found.operators], expected["operators"], "operators")
    same(len(found.values), len(expected["values"]), "number of values")
    for index, (value, description) in enumerate(zip(found.values, expected["values"])):
        try:
            check_value(pte, value, description)
        except AssertionError as wrong:
            raise AssertionError(f"value {index}: {wrong}") from wrong
    delegates = []
    for delegate in found.delegates:
        # The package puts segments back inside.
        same(delegate.processed.location, DataLocation.INLINE, "place of a blob")
        blob = pte.program.backend_delegate_data[delegate.processed.index].data
        specs = [[spec.key, digest(spec.value)] for spec in delegate.compile_specs]
        delegates.append({"id": delegate.id, "processed": digest(blob), "specs": specs})
    same(delegates, expected["delegates"], "delegates")
    same(len(found.chains), 1, "number of chains")
    same([fields(one) for one in found.chains[0].instructions], expected["instructions"], "instructions")
    same(found.non_const_buffer_sizes, [size for size, _ in expected["memory"]], "planned memory")
    devices = [[0, 0] for _ in expected["memory"]]
    for one in found.non_const_buffer_device or []:
        devices[one.buffer_idx] = [int(one.device_type), one.device_index]
    same(devices, [device for _, device in expected["memory"]], "devices")


def layout_of(layout):
    if layout is None:
        return None
    return {
        "scalar_type": int(layout.scalar_type),
        "sizes": list(layout.sizes),
        "dim_order": list(layout.dim_order),
    }


def named_data_of(buffers, entries):
    out = []
    for key, entry in entries.items():
        one = {"key": key, "data": digest(buffers[entry.buffer_index])}
        if entry.tensor_layout is not None:
            one["layout"] = layout_of(entry.tensor_layout)
        out.append(one)
    return out


def check_in_package(data, expected):
    pte = deserialize_pte_binary(data)
    same(pte.program.version, 0, "version")
    same(len(pte.program.execution_plan), len(expected["methods"]), "number of methods")
    for plan, method in zip(pte.program.execution_plan, expected["methods"]):
        try:
            check_method(pte, plan, method)
        except AssertionError as wrong:
            raise AssertionError(f"method {method['name']}: {wrong}") from wrong
    # A program does not keep layouts of its own named data.
    found = named_data_of(pte.named_data.buffers, pte.named_data.pte_data) if pte.named_data else []
    kept = [{"key": one["key"], "data": one["data"]} for one in expected["named_data"]]
    same(found, kept, "named data")


def check_in_runtime(data, expected):
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    same(program.method_names, {method["name"] for method in expected["methods"]}, "method names")
    for method in expected["methods"]:
        found = program.metadata(method["name"])
        tensors = [value["content"] for value in method["values"]]
        for count, info, indices in (
            (found.num_inputs(), found.input_tensor_meta, method["inputs"]),
            (found.num_outputs(), found.output_tensor_meta, method["outputs"]),
        ):
            same(count, len(indices), "number of inputs or outputs")
            for position, index in enumerate(indices):
                meta = info(position)
                same(list(meta.sizes()), tensors[index]["sizes"], "sizes")
                same(meta.dtype(), tensors[index]["scalar_type"], "type")
                same(meta.nbytes(), tensors[index]["nbytes"], "bytes")
                # The runtime says so of constants, too.
                is_planned = "place" in tensors[index] or tensors[index]["storage"] == CONSTANT
                same(meta.is_memory_planned(), is_planned, "planned")


def check_data_file(path, expected):
    found = FlatTensorSerializer().deserialize(Cord(path.read_bytes()))
    same(named_data_of(found.buffers, found.named_data), expected, f"{path.name}: named data")


def check_random(folder, count, data_files):
    files = 0
    for seed in range(count):
        expected = json.loads((folder / f"{seed}.json").read_text())
        data = (folder / f"{seed}.pte").read_bytes()
        try:
            check_in_runtime(data, expected)
            check_in_package(data, expected)
            for name, entries in expected["files"].items():
                if files < data_files:
                    check_data_file(folder / name, entries)
                    files += 1
        except Exception as wrong:
            raise AssertionError(f"program {seed}: {wrong}") from wrong
    print(f"{count} programs and {files} data files are what was described")


def quarters(*sizes):
    count = torch.Size(sizes).numel()
    return ((torch.arange(count, dtype=torch.float32) - 5) / 4).reshape(sizes)


def check_numbers(program):
    forward = program.load_method("forward")
    weight, bias = quarters(3, 4), quarters(4)
    for rows in (4, 1, 3):
        x = torch.randn(rows, 3)
        (y,) = forward.execute([x])
        torch.testing.assert_close(y, torch.relu(x @ weight + bias) ** 2)
    count = program.load_method("count")
    total = torch.tensor([3.0, 4.0])
    for _ in range(3):
        x = torch.randn(2)
        total = total + x
        torch.testing.assert_close(count.execute([x])[0], total)
    branch = program.load_method("branch")
    x = torch.tensor([1.0, 3.0, -5.0])
    for condition in (True, False, True):
        (y,) = branch.execute([torch.tensor([condition]), x])
        torch.testing.assert_close(y, x + x if condition else x * x)
    join = program.load_method("join")
    a, b = torch.randn(2, 2), torch.randn(1, 2)
    assert torch.equal(join.execute([a, b])[0], torch.cat([a, b]))


def check_portable(folder):
    runtime = Runtime.get()
    for name, data in (("portable.pte", None), ("external.pte", folder / "weights.ptd")):
        program = runtime.load_program(
            folder / name, verification=Verification.InternalConsistency, data_path=data
        )
        same(program.method_names, {"forward", "count", "branch", "join"}, "method names")
        check_numbers(program)
        print(f"{name}: four methods of portable kernels give PyTorch's numbers")


def tensors_of(folder, descriptions):
    return [torch.from_numpy(numpy.load(folder / one["file"])) for one in descriptions]


def check_rewritten(folder, fixtures):
    """Each has a fixture.json that says which calls were made and what they gave."""
    for fixture in fixtures:
        program = Runtime.get().load_program(
            folder / f"{fixture.name}.pte", verification=Verification.InternalConsistency
        )
        methods = {}
        calls = json.loads((fixture / "fixture.json").read_text())["calls"]
        for call in calls:
            name = call["method"]
            if name not in methods:
                methods[name] = program.load_method(name)
            found = methods[name].execute(tensors_of(fixture, call["inputs"]))
            for one, expected in zip(found, tensors_of(fixture, call["outputs"]), strict=True):
                torch.testing.assert_close(one, expected)
        print(f"{fixture.name}: written anew, {len(calls)} calls give the same numbers")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("writer", type=pathlib.Path, help="the program write-programs")
    parser.add_argument("--count", type=int, default=10_000, help="random programs")
    parser.add_argument("--data-files", type=int, default=200, help="read at most so many")
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fixtures = [FIXTURES / name for name in REWRITTEN]
        exported = [fixture / "model.pte" for fixture in fixtures]
        subprocess.run([args.writer, folder, str(args.count), *exported], check=True)
        check_portable(folder)
        check_rewritten(folder, fixtures)
        written_stores.check(json.loads((folder / "stores.json").read_text()))
        check_random(folder, args.count, args.data_files)


if __name__ == "__main__":
    main()
