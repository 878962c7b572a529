# SPDX-License-Identifier: MIT
"""What users write, for checkers of types: types_test.py runs mypy over it, and nothing runs it.

A line with `type: ignore` is a mistake that a checker has to find: an ignore of nothing is an error.
"""

import array
import asyncio
import pathlib
from typing import Any

import tenon
import tenon.aoti
from typing_extensions import assert_type


def runs_programs(path: pathlib.Path) -> None:
    with tenon.load(path, plugins=["acme.so"], options={"AcmeBackend": {"threads": 2}}, limits={"planned_bytes": "2G"},
                    budget={"cpu": 1 << 20}, threads=tenon.ThreadPool(2), trace=tenon.Trace(), prepared=True) as program:
        assert_type(program, tenon.Program)
        assert_type(program.method_names, list[str])
        assert_type([each.tensor for each in program.method_meta().inputs], list[tenon.TensorInfo | None])
        assert_type(program["forward"], tenon.Method)
        method = program.load_method("forward", progress=print, variant="AcmeBackend")
        one = array.array("f", [1.0])
        y: tenon.Array = method(one, memoryview(one), 2, None, borrow=True)
        assert_type(y.shape, tuple[int, ...])
        assert_type(y.tolist(), Any)
        assert_type(memoryview(y), memoryview[int])
        assert_type(y[0, ..., 1:], Any)
        assert_type([row for row in y], list[Any])
        assert_type(method(one).shape, tuple[int, ...] | Any)
        first, second = method(one)
        assert_type((first, second), tuple[Any, Any])
        method.execute([y])
        assert_type(method.sequence(capacity=8).save(), bytes)
    tenon.load(b"", data=[b"", path], plugins=path)
    tenon.doctor(path, plugins="acme.so")
    asyncio.run(waits(method))


def output_of(method: tenon.Method) -> tenon.Array:
    return method(2)  # Of type Any it would be an error with --strict.


def number_of(method: tenon.Method) -> list[float]:
    return [float(each) for each in method.execute([2]) if isinstance(each, tenon.Array)]


async def waits(method: tenon.Method) -> None:
    for output in await tenon.execute_async(method, [1.0]):
        print(output)


def reports() -> None:
    assert_type([each.id for each in tenon.plugins(tags=["npu"], all=True)], list[str])
    assert_type(tenon.doctor("model.pte").can_run, bool)
    assert_type([each.verdict for each in tenon.inspect("acme.so", load=True).lint], list[str])
    tenon.pack(b"", "AcmeBackend", "model.pte", inputs=["Float:8"], outputs=["Float:8"], specs={"level": "2"})
    tenon.merge_variants("all.pte", [b"", ("fast", pathlib.Path("fast.pte"))])
    try:
        tenon.register_backend("acme.so")
    except tenon.Error as failure:
        assert_type((failure.number, failure.name, failure.text), tuple[int, str, str])


def compiles(model: Any, x: Any) -> None:
    compiled = tenon.aoti.compile(model, (x,), pathlib.Path("model.pte"), options={"max_autotune": True}, level="native")
    assert_type((compiled.path, compiled.cpu_features), tuple[str, str | None])
    assert_type(compiled(x, mask=x), Any)


def mistakes(method: tenon.Method) -> None:
    tenon.lod("model.pte")  # type: ignore
    tenon.load("model.pte", plugins=[1])  # type: ignore
    tenon.load("model.pte", option={})  # type: ignore
    tenon.load(1)  # type: ignore
    method([1.0])  # type: ignore
    method.execute(1.0)  # type: ignore
    method(1.0).shpae  # type: ignore
    method(1.0)["row"]  # type: ignore
    method.sequence()([1.0])  # type: ignore
    method.sequence(capacity="8")  # type: ignore
    tenon.plugins("npu")  # type: ignore
    tenon.pack(b"", "AcmeBackend", "model.pte")  # type: ignore
    tenon.aoti.compile(method, (1,))  # type: ignore
