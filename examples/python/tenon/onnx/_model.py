# SPDX-License-Identifier: MIT
"""`pack` and `node`: ONNX models with an EPContext node for a plugin (docs/hosts/onnxruntime.md)."""

from __future__ import annotations

import os
import pathlib
import typing
from collections.abc import Iterable, Mapping, Sequence

if typing.TYPE_CHECKING:
    import onnx

Source = str | os.PathLike[str] | bytes
# ONNX's names of ExecuTorch's dtypes.
_DTYPES = {"Float": "FLOAT", "Byte": "UINT8", "Char": "INT8", "UInt16": "UINT16", "Short": "INT16", "Int": "INT32",
           "Long": "INT64", "Bool": "BOOL", "Half": "FLOAT16", "Double": "DOUBLE", "UInt32": "UINT32",
           "UInt64": "UINT64", "BFloat16": "BFLOAT16"}


def _bytes_of(source: Source, what: str) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)):
        return pathlib.Path(source).read_bytes()
    raise TypeError(f"{what}: expected a path or bytes, found {type(source).__name__}")


def _value_info(name: str, text: str) -> onnx.ValueInfoProto:
    """The declaration of a tensor such as "Float:8,16" or "Half:1,512:dynamic"."""
    import onnx

    dtype, *rest = text.split(":")
    sizes: list[int | str] = []
    try:
        if dtype not in _DTYPES or len(rest) not in (1, 2) or rest[1:] not in ([], ["dynamic"]):
            raise ValueError
        sizes += [int(size) for size in rest[0].split(",") if rest[0]]
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ValueError
    except ValueError:
        raise ValueError(f"{name}: expected DTYPE:SIZES or DTYPE:SIZES:dynamic with a dtype of ONNX, such as "
                         f"Float:8,16, found {text!r}") from None
    if rest[1:]:
        sizes = [f"{name}_{i}" for i in range(len(sizes))]
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, _DTYPES[dtype]), sizes)


def _pairs(kind: str, pairs: Iterable[tuple[str, bytes]]) -> dict[str, typing.Any]:
    out: dict[str, typing.Any] = {}
    keys: list[str] = []
    for key, value in pairs:
        if "\0" in key:
            raise ValueError(f"{kind} {key!r}: a key has no NUL")
        out[f"tenon_{kind}_{len(keys)}"] = value
        keys.append(key)
    return {f"tenon_{kind}_keys": keys, **out} if keys else {}


def node(context: bytes | str, backend: str, inputs: Mapping[str, str] | Sequence[str],
         outputs: Mapping[str, str] | Sequence[str], *, specs: Mapping[str, str | bytes] | None = None,
         data: Mapping[str, Source] | None = None, payload_version: int | None = None, method: str | None = None,
         name: str = "context") -> onnx.NodeProto:
    """An EPContext node, for a graph that has other nodes.

    context: the bytes for the backend's `init`; or a text, the path of their file from the model's folder.
    backend: the backend's id.
    inputs, outputs: names; with texts as `pack` takes them, the tensors of the call. Without texts they are those that
        the graph declares, whose sizes are then fixed.
    specs, data, payload_version, method: as for `pack`.
    name: the node's name, which errors state.
    """
    import onnx

    stated: dict[str, typing.Any] = {}
    for key, tensors in (("tenon_inputs", inputs), ("tenon_outputs", outputs)):
        if isinstance(tensors, Mapping) and method is None:
            stated[key] = list(tensors.values())
    if payload_version is not None:
        stated["tenon_payload_version"] = payload_version
    if method is not None:
        stated["tenon_method"] = method
    encoded = [(key, value.encode() if isinstance(value, str) else value) for key, value in (specs or {}).items()]
    named = [(key, _bytes_of(value, f"data[{key!r}]")) for key, value in (data or {}).items()]
    return onnx.helper.make_node(
        "EPContext", list(inputs), list(outputs), name=name, domain="com.microsoft", source=backend, main_context=1,
        embed_mode=int(not isinstance(context, str)), ep_cache_context=context, **stated, **_pairs("spec", encoded),
        **_pairs("data", named))


def pack(context: Source, backend: str, model: str | os.PathLike[str], *, inputs: Mapping[str, str],
         outputs: Mapping[str, str], specs: Mapping[str, str | bytes] | None = None,
         data: Mapping[str, Source] | None = None, payload_version: int | None = None, method: str | None = None,
         external: str | None = None) -> None:
    """Writes an ONNX model of one node, which a plugin runs in ONNX Runtime.

    context: the bytes for the backend's `init`, or their file; with `method` a program (`.pte`).
    backend: the backend's id.
    model: the `.onnx` file to write.
    inputs, outputs: texts such as "Float:8,16" and "Half:1,512:dynamic" by the names of the tensors: ExecuTorch's dtype
        and sizes, none for a scalar; with "dynamic" they are the largest.
    specs: compile specs by key. A text is stored as UTF-8, without a NUL.
    data: named data by key, paths or bytes, stored in the model.
    payload_version: which the plugin must read.
    method: the context is a program, which has its own specs and data, and this is its method.
    external: the name of a file to write the context to, in the model's folder; without it, it is in the model.

    Raises ValueError and TypeError for what no model can hold, OSError for files.
    """
    import onnx

    content = _bytes_of(context, "context")
    if not content:
        raise ValueError("the context has no bytes")
    if method is not None and (specs or data):
        raise ValueError("method: a program has its own compile specs and named data; expected no others")
    if external is not None and pathlib.PurePath(external).name != external:
        raise ValueError(f"external: expected the name of a file, found {external!r}")
    made = node(content if external is None else external, backend, inputs, outputs, specs=specs, data=data,
                payload_version=payload_version, method=method)
    graph = onnx.helper.make_graph([made], "tenon", [_value_info(*each) for each in inputs.items()],
                                   [_value_info(*each) for each in outputs.items()])
    proto = onnx.helper.make_model(graph, producer_name="tenon", ir_version=10, opset_imports=[
        onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.microsoft", 1)])
    if payload_version is not None:
        onnx.helper.set_model_props(
            proto, {f"ep_compatibility_info.{backend}": f"tenon_payload_version={payload_version}"})
    path = pathlib.Path(model)
    if external is not None:
        path.with_name(external).write_bytes(content)
    onnx.save(proto, path)
