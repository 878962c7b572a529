# SPDX-License-Identifier: MIT
"""Keeps released versions of the boundary and holds today's headers to them.

    frozen_abi.py freeze  HEADERS DIR             copies include/tenon/abi into DIR
    frozen_abi.py compare HEADERS DIR LAYOUT.h    fails when a change would break an old binary

DIR is `tests/abi/vMAJOR_MINOR`. A copy is made once, when its minor is released, and never
changed; `compare` proves for each that today's headers only append to it.
"""

import dataclasses
import pathlib
import re
import sys

# Statements of version.h that a new release changes by design.
VERSIONS = {"TENON_ABI_MINOR", "TENON_VERSION_STRING"}


@dataclasses.dataclass
class Abi:
    """What the headers of one version declare, as normalized text."""

    structs: dict  # name -> [member declarations]
    constants: dict  # enumerator -> value text
    macros: dict  # name with parameters -> replacement
    others: set  # typedefs of functions and numbers, opaque structs


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"\\\n", " ", text)


def one_space(text):
    return re.sub(r"\s+", " ", text).strip()


def split_outside_braces(text, separator):
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [one_space(part) for part in parts if part.strip()]


def read(folder):
    abi = Abi({}, {}, {}, set())
    declarations = ""
    for path in sorted(folder.rglob("*.h")):
        text = strip(path.read_text())
        for line in re.findall(r"^\s*#\s*define\s+(.+)$", text, re.M):
            name, _, value = one_space(line).partition(" ")
            if not re.fullmatch(r"TENON_ABI_\w+_H", name):
                abi.macros[name] = value
        text = re.sub(r"^\s*#[^\n]*$", "", text, flags=re.M)
        declarations += text.replace('extern "C" {', "")
    for declaration in split_outside_braces(declarations.replace("\n}\n", "\n"), ";"):
        struct = re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", declaration)
        enum = re.fullmatch(r"enum \{(.*)\}", declaration)
        if struct:
            abi.structs[struct[1]] = split_outside_braces(struct[2], ";")
        elif enum:
            for entry in split_outside_braces(enum[1], ","):
                name, _, value = entry.partition("=")
                abi.constants[name.strip()] = value.strip()
        else:
            abi.others.add(declaration)
    return abi


def member_name(declaration):
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
    if pointer:
        return pointer[1]
    return re.search(r"(\w+)\s*(?:\[[^]]*\])?$", declaration)[1]


def fixed_structs(abi):
    """Structs that can never grow: without a size of their own, or inside another by value."""
    fixed = {
        name
        for name, members in abi.structs.items()
        if members[0] not in ("uint32_t struct_size", "uint8_t magic[8]")
    }
    for members in abi.structs.values():
        for member in members:
            by_value = re.findall(r"\b(tenon_\w+) \w+;", member + ";")
            fixed.update(name for name in by_value if name in abi.structs)
    return fixed


def compare(frozen, today):
    problems = []
    released_again = frozen.macros["TENON_ABI_MINOR"] == today.macros["TENON_ABI_MINOR"]
    fixed = fixed_structs(frozen)
    for name, members in frozen.structs.items():
        now = today.structs.get(name)
        if now is None:
            problems.append(f"struct {name} was removed")
        elif now[: len(members)] != members:
            was, found = next(
                (a, b) for a, b in zip(members + [""], now + [""] * len(members)) if a != b
            )
            problems.append(f"struct {name}: expected `{was}`, found `{found}`")
        elif len(now) > len(members) and name in fixed:
            problems.append(f"struct {name} must not grow: {now[len(members)]}")
        elif len(now) > len(members) and released_again:
            problems.append(f"struct {name} grew without a new TENON_ABI_MINOR")
    for kind in ("constants", "macros"):
        before, now = getattr(frozen, kind), getattr(today, kind)
        for name, value in before.items():
            if name not in VERSIONS and now.get(name) != value:
                problems.append(f"{name}: expected {value}, found {now.get(name)}")
        if released_again and set(now) - set(before):
            problems.append(f"new without a new TENON_ABI_MINOR: {sorted(set(now) - set(before))}")
    for other in frozen.others - today.others:
        problems.append(f"removed or changed: {other}")
    return problems


def check_layout(frozen, layout):
    """Every struct, member and constant has its number in the file of assertions."""
    problems = []
    for name, members in frozen.structs.items():
        if not re.search(rf"\bSIZE\({name}, \d+\)", layout):
            problems.append(f"layout: no SIZE({name}, ...)")
        for member in map(member_name, members):
            if not re.search(rf"\bOFFSET\({name}, {member}, \d+\)", layout):
                problems.append(f"layout: no OFFSET({name}, {member}, ...)")
    for name in frozen.constants:
        if not re.search(rf"\bVALUE\({name}, \d+\)", layout):
            problems.append(f"layout: no VALUE({name}, ...)")
    return problems


def freeze(headers, folder):
    prefix = f"tenon_{folder.name}"
    target = folder / "include" / prefix / "abi"
    if target.exists():
        sys.exit(f"{target} exists: a frozen version is never changed")
    for path in sorted(headers.rglob("*.h")):
        copy = target / path.relative_to(headers)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text().replace('"tenon/abi/', f'"{prefix}/abi/'))


def main():
    action, headers, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if action == "freeze":
        freeze(headers / "tenon" / "abi", folder)
        return
    frozen = read(folder / "include" / f"tenon_{folder.name}" / "abi")
    today = read(headers / "tenon" / "abi")
    problems = compare(frozen, today)
    problems += check_layout(frozen, pathlib.Path(sys.argv[4]).read_text())
    if len(frozen.structs) < 20 or len(frozen.constants) < 60:
        problems.append(f"read only {len(frozen.structs)} structs from {folder}")
    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(frozen.structs)} structs, {len(frozen.constants)} constants, "
          f"{len(frozen.macros)} macros, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
