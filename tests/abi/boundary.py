# SPDX-License-Identifier: MIT
"""Holds the headers of the boundary to what was frozen.

    boundary.py check [INCLUDE]             fails when the headers do more than append to what was frozen
    boundary.py freeze                      writes the frozen texts of the headers; refused once one is declared
    boundary.py declare FROZEN DATE COMMIT  declares the freeze: the file is never written again
    boundary.py write                       writes docs/reference/layout.md

FROZEN is `tests/abi/frozen/INTERFACE-VERSION.json`; README.md here says how it is used. Headers in abi/draft and
abi/private may change at will, but have no hidden padding either.
"""

import pathlib
import sys

from checker import compare, frozen, headers, page

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
FOLDER = HERE / "frozen"
HINT = ("{}: the freeze is not declared: `python3 tests/abi/boundary.py freeze` writes the file again where the change is "
        "meant")


def check(include, folder):
    """Findings; none when all is well."""
    found = compare.state(include)
    everything = [frozen.load(path) for path in sorted(folder.glob("*.json"))]
    for stored in everything:
        problems = compare.compare(stored, include)
        if stored.declared is None:
            if not problems and frozen.text_of(frozen.of_headers(stored.interface, include)) != frozen.text_of(stored):
                problems.append(f"{stored.file}: expected the text of the headers, found another one")
            if problems:
                problems.append(HINT.format(stored.file))
        found += problems
    there = {stored.interface.name for stored in everything}
    return found + [f"{name}: expected a frozen text, found none" for name in frozen.INTERFACES if name not in there]


def freeze(include, folder):
    """Writes the frozen texts of today's versions."""
    for interface in frozen.INTERFACES.values():
        today = frozen.of_headers(interface, include)
        path = folder / today.file
        if path.exists():
            stored = frozen.load(path)
            today.declared = stored.declared
            if stored.declared and frozen.text_of(today) == frozen.text_of(stored):
                continue  # The other interface is what is to be written.
            if stored.declared:
                sys.exit(f"{path.name}: frozen on {stored.declared}: it is never written again; raise {interface.macros[1]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(frozen.text_of(today), encoding="utf-8")
        print(f"wrote {path}")


def declare(path, date, commit, include=INCLUDE):
    """Ends the time in which a file may be written."""
    stored = frozen.load(path)
    if stored.declared:
        sys.exit(f"{path.name}: frozen on {stored.declared} already")
    if not frozen.DECLARED.fullmatch(f"{date} {commit}"):
        sys.exit(f"expected YYYY-MM-DD and a commit of 40 digits, found {date} {commit}")
    if found := check(include, path.parent):
        sys.exit("\n".join(["not ready for a freeze:", *found]))
    stored.declared = f"{date} {commit}"
    path.write_text(frozen.text_of(stored), encoding="utf-8")
    print(f"{stored.shown}: frozen on {stored.declared}")


def status(include, folder):
    """What is frozen, in lines."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        stored = frozen.load(path)
        lines.append(f"{stored.shown}: " + (f"frozen on {stored.declared}" if stored.declared else "not frozen yet"))
        lines.append("  " + ", ".join(f"{len(getattr(stored.boundary, name))} {name}" for name in (
            "structs", "constants", "macros", "types", "functions", "extensions", "rules")))
    everything = frozen.read_all(include)
    drafts = sorted(value for name, value in everything.extensions.items() if "/draft/" in everything.headers[name])
    return lines + [f"drafts: {', '.join(drafts)}"]


def main():
    action, *words = sys.argv[1:] or ["help"]
    try:
        if action == "check" and len(words) < 2:
            include = pathlib.Path(*words or [INCLUDE])
            found = check(include, FOLDER)
            print("\n".join([*(f"not ok: {one}" for one in found), *status(include, FOLDER)]))
            sys.exit(1 if found else 0)
        elif action == "freeze" and not words:
            freeze(INCLUDE, FOLDER)
        elif action == "declare" and len(words) == 3:
            declare(pathlib.Path(words[0]), *words[1:])
        elif action == "write" and not words:
            (INCLUDE.parent / page.PAGE).write_text(page.page(INCLUDE), encoding="utf-8")
        else:
            sys.exit(__doc__.strip())
    except headers.Unreadable as error:
        sys.exit(f"not ok: {error}")


if __name__ == "__main__":
    main()
