# SPDX-License-Identifier: MIT
"""Where the compilers of each target put the members of a struct. layout_test.py asks the compilers whether it is so."""

import dataclasses
import itertools

from checker import headers


@dataclasses.dataclass(frozen=True)
class Target:
    """What differs between targets: the size of a pointer, and the alignment of types of 8 bytes in a struct."""

    name: str
    pointer: int
    eight: int


TARGETS = (
    Target("LP64", 8, 8),  # Linux and macOS on 64 bits.
    Target("LLP64", 8, 8),  # Windows on 64 bits. It differs in `long`, which is refused.
    Target("i386", 4, 4),
    Target("armv7", 4, 8),  # Also Windows on 32 bits, and wasm32.
)
BY_NAME = {target.name: target for target in TARGETS}

SIZES = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4,
         "int64_t": 8, "uint64_t": 8, "double": 8}
POINTERS = "size_t", "uintptr_t", "intptr_t", "ptrdiff_t"


@dataclasses.dataclass(frozen=True)
class Place:
    """Of one member."""

    name: str
    declaration: str
    offset: int
    size: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of a struct or union. `holes` are (bytes, name of the member behind them); `tail` is hidden at the end."""

    size: int
    alignment: int
    places: tuple
    holes: tuple
    tail: int


def _size_and_alignment(member, target, boundary):
    base = member.base
    while base in boundary.types and base not in SIZES:
        base = boundary.types[base]
    inside = base if isinstance(base, headers.Aggregate) else boundary.structs.get(base)
    if inside:
        one = of_aggregate(inside, target, boundary)
        size, alignment = one.size, one.alignment
    elif base is None or "(" in base or base in POINTERS:
        size = alignment = target.pointer
    elif base in SIZES:
        size, alignment = SIZES[base], min(SIZES[base], target.eight)
    else:
        raise headers.Unreadable(f"`{member.declaration}`: expected a type whose size is the same everywhere, found `{base}`")
    for count in member.counts:
        size *= headers.evaluate(count, boundary.constants)
    return size, alignment


def of_aggregate(aggregate, target, boundary):
    """The Layout of a struct or union on a target."""
    end, largest, alignment, places, holes = 0, 0, 1, [], []
    for member in aggregate.members:
        size, align = _size_and_alignment(member, target, boundary)
        alignment = max(alignment, align)
        offset = 0 if aggregate.is_union else -(-end // align) * align
        if not aggregate.is_union and offset > end:
            holes.append((offset - end, member.name))
        places.append(Place(member.name, member.declaration, offset, size))
        end = offset + size
        largest = max(largest, end)
    size = -(-largest // alignment) * alignment
    return Layout(size, alignment, tuple(places), tuple(holes), size - largest)


def of(name, target, boundary):
    """The Layout of a struct by its name."""
    return of_aggregate(boundary.structs[name], target, boundary)


def mend(struct, boundary):
    """The smallest members to append so that a struct has no hidden tail on any target; the declarations."""
    taken = {member.name for member in struct.members}
    names = [word for word in ("reserved", *(f"reserved{number}" for number in range(2, 9))) if word not in taken]
    kinds = ["uint8_t {}", *(f"uint8_t {{}}[{count}]" for count in range(2, 8)), "uint16_t {}", "uint32_t {}", "void* {}"]
    holes = of_aggregate(struct, TARGETS[0], boundary).holes
    found = []
    for chosen in itertools.chain(itertools.product(kinds), itertools.product(kinds, repeat=2)):
        texts = [kind.format(name) for kind, name in zip(chosen, names)]
        longer = headers.Aggregate(False, struct.members + tuple(map(headers.read_member, texts)))
        layouts = [of_aggregate(longer, target, boundary) for target in TARGETS]
        if not any(layout.tail for layout in layouts) and layouts[0].holes == holes:
            found.append((sum(layout.size for layout in layouts), len(texts), texts))
    return min(found)[2]
