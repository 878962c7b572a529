# SPDX-License-Identifier: MIT
"""Weights that are not stored: their bytes are generated, the same ones by the exporter and on the machine with a GPU.

A file of weights is described by FILE.json beside its place: its size and SHA-256, and its parts in order. A part is
generated from a name, two bytes again and again, or bytes of FILE.literal, which has those that are neither.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

# Shorter runs of two bytes are literal.
SHORTEST_RUN = 4096


def generated(name: str, nbytes: int) -> bytes:
    """The bytes of that name: uniform, and always the same."""
    return hashlib.shake_256(name.encode()).digest(nbytes)


def describe(data: bytes, names: dict[str, int]) -> tuple[dict[str, Any], bytes]:
    """The description of a file's bytes and its literal ones. `names` has the generated parts that it holds, with their
    sizes; a ValueError names a missing part."""
    found = []
    for name, nbytes in names.items():
        part = generated(name, nbytes)
        begin = data.find(part)
        if begin < 0:
            raise ValueError(f"no weight of the file has the bytes of {name}")
        found.append((begin, nbytes, name))
    parts: list[dict[str, Any]] = []
    literal = bytearray()

    def add_literal(begin: int, end: int) -> None:
        if begin < end:
            parts.append({"literal": len(literal), "bytes": end - begin})
            literal.extend(data[begin:end])

    def add_between(begin: int, end: int) -> None:
        """Literal bytes, and long runs of one number of 16 bits."""
        start = at = begin
        while at + SHORTEST_RUN <= end:
            pair = data[at : at + 2]
            if data[at : at + SHORTEST_RUN] != pair * (SHORTEST_RUN // 2):
                at += 2
                continue
            run = at + SHORTEST_RUN
            while run + 2 <= end and data[run : run + 2] == pair:
                run += 2
            add_literal(start, at)
            parts.append({"repeated": pair.hex(), "bytes": run - at})
            start = at = run
        add_literal(start, end)

    end = 0
    for begin, nbytes, name in sorted(found):
        add_between(end, begin)
        parts.append({"generated": name, "bytes": nbytes})
        end = begin + nbytes
    add_between(end, len(data))
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "parts": parts}, bytes(literal)


def restore(description: Path, to: Path) -> None:
    """Writes the file that NAME.json describes. A ValueError says that it is not what the exporter had."""
    facts = json.loads(description.read_text())
    literal = description.with_suffix(".literal").read_bytes()
    digest = hashlib.sha256()
    with to.open("wb") as file:
        for part in facts["parts"]:
            nbytes = part["bytes"]
            if "generated" in part:
                data = generated(part["generated"], nbytes)
            elif "repeated" in part:
                data = bytes.fromhex(part["repeated"]) * (nbytes // 2)
            else:
                data = literal[part["literal"] : part["literal"] + nbytes]
            digest.update(data)
            file.write(data)
        size = file.tell()
    if (size, digest.hexdigest()) != (facts["bytes"], facts["sha256"]):
        raise ValueError(f"{description}: expected {facts['bytes']:,} bytes with SHA-256 {facts['sha256']}, "
                         f"made {size:,} with {digest.hexdigest()}")
