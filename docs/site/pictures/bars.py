# SPDX-License-Identifier: MIT
"""Bars of a call, of loading and of memory, one picture for each figure, from docs/measurements/performance-tables.txt."""

import tables
from svg import Picture

ROW = 40
LEFT, FULL = 14, 250  # where bars begin, and the length of the longest


def bars(title, note, rows):
    """`rows` are (label, cell of a table, whose)."""
    picture = Picture(f"{title}: " + "; ".join(f"{label} {cell}" for label, cell, _ in rows) + f". {note}.",
                      56 + ROW * len(rows) + 10)
    picture.text(LEFT, 24, title, 14, weight="600")
    picture.text(LEFT, 42, note, 11, "quiet")
    largest = max(tables.figure(cell) for _, cell, _ in rows)
    for at, (label, cell, whose) in enumerate(rows):
        y = 58 + at * ROW
        length = max(FULL * tables.figure(cell) / largest, 1.5)
        picture.text(LEFT, y + 10, label, 11.5)
        picture.rect(LEFT, y + 15, length, 14, {"ours": "host-line", "rival": "bridge-line"}.get(whose, "line"), radius=2)
        picture.text(LEFT + length + 6, y + 26.5, cell, 12, weight="600" if whose == "ours" else "")
    return picture.render()


def draw(root):
    page = (root / "docs/measurements/performance-tables.txt").read_text(encoding="utf-8")
    main = tables.table_of(page, "group | what | floor")

    def cell(what, column):
        return tables.row_of(main, "what", what)[column]

    call, load = "a delegate call, plugin in C++", "each further delegate (stock {})"
    memory = tables.row_of(tables.table_of(page, "model | Python | C++, `libtorch.so`"), "model",
                           "tests/fixtures/aoti_package, memory")
    return {
        "call": bars("A delegate call", "time inside of one method; lower is better", [
            ("stock ExecuTorch 1.5.1", cell(call, "stock"), "rival"),
            ("Tenon", cell(call, "ours"), "ours"),
            ("a call through a function pointer", cell(call, "floor"), "floor"),
        ]),
        "load": bars("Loading a further delegate", "time for each delegate of a program; lower is better", [
            ("stock ExecuTorch 1.5.1, maps the file", cell(load.format("maps the file"), "stock"), "rival"),
            ("stock ExecuTorch 1.5.1, reads the file", cell(load.format("reads the file"), "stock"), "rival"),
            ("stock ExecuTorch 1.5.1, has the bytes", cell(load.format("has the bytes"), "stock"), "rival"),
            ("Tenon, maps the file", cell(load.format("maps the file"), "ours"), "ours"),
        ]),
        "memory": bars("Memory of a process", "peak, running a small model of AOTInductor; lower is better", [
            ("Python, which imports torch", memory["Python"], "rival"),
            ("libtorch's loader in C++, libtorch.so", memory["C++, `libtorch.so`"], "rival"),
            ("libtorch's loader in C++, libtorch_cpu.so", memory["C++, `libtorch_cpu.so`"], "rival"),
            ("tenon-run", memory["`tenon-run`"], "ours"),
        ]),
    }
