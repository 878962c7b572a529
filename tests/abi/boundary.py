# SPDX-License-Identifier: MIT
"""Holds the headers of the boundary to what was frozen.

    boundary.py check   [INCLUDE [FROZEN...]]   fails when the headers do more than append to what was frozen
    boundary.py freeze  [INCLUDE [FROZEN...]]   writes the frozen texts of the headers; refused once one is declared
    boundary.py declare FROZEN DATE COMMIT      declares the freeze: the file is never written again
    boundary.py status  [INCLUDE [FROZEN...]]   prints what is frozen
    boundary.py write   [INCLUDE [PAGE]]        writes docs/reference/layout.md
    boundary.py assertions INCLUDE TARGET       prints a source that compiles where layouts are those of TARGET

FROZEN is `tests/abi/frozen/INTERFACE-VERSION.json`; README.md here says how it is used. Headers in abi/draft and
abi/private may change at will, but have no hidden padding either.
"""

import pathlib
import sys

from checker import compare, frozen, headers, layout, page

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
HINT = ("{}: the freeze is not declared: `python3 tests/abi/boundary.py freeze` writes the file again where the change is "
        "meant")


def frozen_files(words):
    """Files that were named, or all."""
    return [pathlib.Path(word) for word in words] or sorted((HERE / "frozen").glob("*.json"))


def check(include, files):
    """Findings; none when all is well."""
    found = compare.state(include)
    for path in files:
        stored = frozen.load(path)
        problems = compare.compare(stored, include)
        if stored.declared is None:
            today = frozen.of_headers(stored.interface, include)
            if not problems and frozen.text_of(today) != frozen.text_of(stored):
                problems.append(f"{path.name}: expected the text of the headers, found another one")
            if problems:
                problems.append(HINT.format(path.name))
        found += problems
    for interface in frozen.INTERFACES.values():
        if not any(path.name.startswith(f"{interface.name}-") for path in files):
            found.append(f"{interface.name}: expected a frozen text, found none")
    return found


def freeze(include, files):
    """Writes frozen texts; by default those of today's versions."""
    texts = [frozen.of_headers(interface, include) for interface in frozen.INTERFACES.values()]
    names = {f"{one.interface.name}-{one.version[0]}.{one.version[1]}.json": one for one in texts}
    for path in files or [HERE / "frozen" / name for name in names]:
        if path.name not in names:
            sys.exit(f"{path}: expected one of the names {', '.join(names)}")
        if path.exists() and (declared := frozen.load(path).declared):
            if frozen.text_of(names[path.name]) == frozen.text_of(frozen.load(path)).replace(f'"{declared}"', "null"):
                continue  # The other interface is what is to be written.
            sys.exit(f"{path.name}: frozen on {declared}: it is never written again; raise "
                     f"{names[path.name].interface.macros[1]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(frozen.text_of(names[path.name]), encoding="utf-8")
        print(f"wrote {path}")


def declare(path, date, commit, include=INCLUDE):
    """Ends the time in which a file may be written."""
    stored = frozen.load(path)
    if stored.declared:
        sys.exit(f"{path.name}: frozen on {stored.declared} already")
    if not frozen.DECLARED.fullmatch(f"{date} {commit}"):
        sys.exit(f"expected YYYY-MM-DD and a commit of 40 digits, found {date} {commit}")
    others = sorted(path.parent.glob("*.json"))
    if found := check(include, others):
        sys.exit("\n".join(["not ready for a freeze:", *found]))
    stored.declared = f"{date} {commit}"
    path.write_text(frozen.text_of(stored), encoding="utf-8")
    print(f"{stored.shown}: frozen on {stored.declared}")


def status(include, files):
    """What is frozen, in lines."""
    lines = []
    for path in files:
        stored = frozen.load(path)
        boundary = stored.boundary
        lines.append(f"{stored.shown}: " + (f"frozen on {stored.declared}" if stored.declared else "not frozen yet"))
        lines.append(f"  {len(boundary.structs)} structs, {len(boundary.constants)} constants, {len(boundary.macros)} macros, "
                     f"{len(boundary.types)} types, {len(boundary.functions)} functions, {len(boundary.extensions)} "
                     f"extensions, {len(boundary.rules)} rules")
    everything = frozen.read_all(include)
    drafts = sorted(value for name, value in everything.extensions.items() if "/draft/" in everything.headers[name])
    lines.append(f"drafts: {', '.join(drafts)}")
    return lines


def main():
    words = sys.argv[1:]
    action, rest = (words or ["help"])[0], words[1:]
    include = pathlib.Path(rest[0]) if rest else INCLUDE
    try:
        if action == "check":
            files = frozen_files(rest[1:])
            found = check(include, files)
            for one in found:
                print(f"not ok: {one}")
            print("\n".join(status(include, files)))
            sys.exit(1 if found else 0)
        elif action == "freeze":
            freeze(include, [pathlib.Path(word) for word in rest[1:]])
        elif action == "declare" and len(rest) == 3:
            declare(pathlib.Path(rest[0]), rest[1], rest[2])
        elif action == "status":
            print("\n".join(status(include, frozen_files(rest[1:]))))
        elif action == "write":
            path = pathlib.Path(rest[1]) if len(rest) > 1 else INCLUDE.parent / page.PAGE
            path.write_text(page.page(include), encoding="utf-8")
        elif action == "assertions" and len(rest) == 2 and rest[1] in layout.BY_NAME:
            print(page.assertions(include, layout.BY_NAME[rest[1]]), end="")
        else:
            sys.exit(__doc__.strip())
    except headers.Unreadable as error:
        sys.exit(f"not ok: {error}")


if __name__ == "__main__":
    main()
