# SPDX-License-Identifier: MIT
"""Checks that the cases in the repository are byte for byte the output of their program.

Arguments: the program, the directory of the cases, and arguments of the program before its own.
"""

import pathlib
import subprocess
import sys
import tempfile


def contents(root, names):
    return {str(path.relative_to(root)): path.read_bytes()
            for name in names for path in sorted((root / name).rglob("*")) if path.is_file()}


def main():
    program, shipped = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *sys.argv[3:], folder], check=True)
        made = pathlib.Path(folder)
        names = sorted(path.name for path in made.iterdir())
        new, old = contents(made, names), contents(shipped, names)
    wrong = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
    for name in wrong:
        print(f"not ok: {name}: run `{pathlib.Path(program).name} ... {shipped}`")
    print(f"{len(new)} files of {', '.join(names)}, {len(wrong)} wrong")
    sys.exit(1 if wrong or len(new) < 8 else 0)


if __name__ == "__main__":
    main()
