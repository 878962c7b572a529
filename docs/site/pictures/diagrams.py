# SPDX-License-Identifier: MIT
"""Diagrams: a plugin and its hosts, the way from PyTorch to a run, the life of a delegate."""

import re

from svg import WIDTH, Picture

MIDDLE = WIDTH / 2


def facts(root):
    """What the diagrams say in numbers and names, from the sources; a name that is missing is an error."""
    version = (root / "include/tenon/abi/version.h").read_text(encoding="utf-8")
    backend = (root / "include/tenon/abi/backend.h").read_text(encoding="utf-8")
    for function in ("open", "close", "init", "execute", "destroy"):
        if not re.search(rf"\(TENON_CALL\* {function}\)\(", backend):
            raise ValueError(f"abi/backend.h has no {function}")
    symbol = "tenon_plugin_v1"
    if symbol not in (root / "include/tenon/abi/plugin.h").read_text(encoding="utf-8"):
        raise ValueError(f"abi/plugin.h has no {symbol}")
    numbers = {name: int(re.search(rf"{name} (\d+)", version)[1]) for name in ("TENON_ABI_MAJOR", "TENON_ABI_MINOR")}
    return {
        "abi": f"{numbers['TENON_ABI_MAJOR']}.{numbers['TENON_ABI_MINOR']}",
        "symbol": symbol,
    }


def hosts(fact):
    picture = Picture("A backend, one C++20 class, becomes a plugin, one file with one symbol. Behind the C ABI of Tenon the "
                      "same file runs in five hosts: an application in C++, Python, stock ExecuTorch and stock ONNX Runtime "
                      "through bridges, and the conformance kit.", 354)
    picture.box(60, 10, 240, 46, "author", ["your backend", "one C++20 class, init and execute"])
    picture.arrow(MIDDLE, 56, MIDDLE, 84)
    picture.text(MIDDLE + 10, 74, "a C++20 compiler", 11, "quiet")
    picture.box(60, 84, 240, 46, "author", ["libacme.so", f"`exports {fact['symbol']}"])
    picture.path(f"M{MIDDLE} 130V152")
    picture.rect(10, 152, 340, 30, "shared", "shared-line")
    picture.text(MIDDLE, 171, f"C ABI {fact['abi']}: numbered rules", 12.5, "ink", "middle", "600")
    for x, y, kind, lines in (
        (10, 208, "host", ["C++ application", "`host::Program"]),
        (195, 208, "host", ["Python", "`import tenon"]),
        (10, 290, "bridge", ["stock ExecuTorch", "and stock ONNX Runtime"]),
        (195, 290, "tool", ["conformance kit", "tests rule by rule"]),
    ):
        picture.box(x, y, 155, 54, kind, lines)
    for x, between in ((87.5, 176), (272.5, 184)):
        picture.arrow(x, 182, x, 208)
        # To the lower row, between the boxes of the upper one.
        picture.path(f"M{between} 182V274H{x}V283")
        picture.arrow(x, 276, x, 290)
    return picture


def path(fact):
    picture = Picture("From PyTorch to a run: torch.export makes an exported program of a module, an exporter partitions and "
                      "compiles it, the result is a file model.pte with blobs that name their backends, and tenon-run, C++ or "
                      "Python run it without PyTorch.", 432)
    steps = (
        (10, "tool", ["nn.Module", "a model in Python"], "torch.export.export"),
        (92, "tool", ["ExportedProgram", "a graph, saved as .pt2"], "partition and compile"),
        (174, "author", ["exporter", "ExecuTorch's, or tenon-compile", "with the plugin's half, or AOTInductor"], "save"),
        (273, "shared", ["model.pte, *.ptd", "blobs, each with its backend's id"], "plugins are found by id"),
        (355, "host", ["run", "tenon-run, C++, Python: no PyTorch"], ""),
    )
    for at, (y, kind, lines, label) in enumerate(steps):
        height = 46 + 17 * (len(lines) - 2)
        picture.box(50, y, 260, height, kind, lines)
        if label:
            picture.arrow(MIDDLE, y + height, MIDDLE, steps[at + 1][0])
            picture.text(MIDDLE + 10, y + height + 22, label, 11.5, "quiet")
    picture.text(50, 421, "once, with PyTorch, down to the file; then without", 11, "quiet")
    return picture


def delegate(_):
    picture = Picture("The life of a delegate: the host reads the plugin's record from the file, loads the library and opens the "
                      "backend when a program needs it, init makes a delegate of a blob, execute runs any number of times, "
                      "destroy ends it; after the last delegate the backend is closed and the library unloaded.", 446)
    rows = (
        (10, "shared", ["record", "read from the file: no code runs"]),
        (76, "host", ["dlopen, open", "at the first program that needs the id"]),
        (150, "author", ["init", "makes a delegate of a blob"]),
        (224, "author", ["execute", "any number of times"]),
        (298, "author", ["destroy", "gives back everything"]),
        (372, "host", ["close, dlclose", "after the last delegate: unloaded"]),
    )
    for at, (y, kind, lines) in enumerate(rows):
        picture.box(30, y, 250, 46, kind, lines)
        if at + 1 < len(rows):
            picture.arrow(155, y + 46, 155, rows[at + 1][0])
    # The loops, at the right: another run, another delegate.
    picture.path("M280 240H300V256H286")
    picture.arrow(292, 256, 280, 256)
    picture.text(306, 252, "again", 11, "quiet")
    picture.path("M280 321H346V173H286")
    picture.arrow(292, 173, 280, 173)
    picture.text(341, 214, "next", 11, "quiet", "end")
    picture.text(30, 436, "When init fails, nothing is left of it.", 11, "quiet")
    return picture


def draw(root):
    fact = facts(root)
    return {"hosts": hosts(fact).render(), "from-pytorch": path(fact).render(), "delegate": delegate(fact).render()}
