# SPDX-License-Identifier: MIT
"""The wheels that `./dev wheel` made, in a fresh environment of each interpreter: a table, and the sizes.

wheel_pythons.py [--python PATH]... [--write] SOURCE

Each is installed without an index, and `pip check`, `python -m tenon`, `tenon.load` with a program, the entry points that
Dynamo and pytest read, and the kit as items of pytest (from PyPI, or as it is installed in the environment) are tried.
A wheel that has grown by more than 3 % against wheel_sizes.json fails; --write writes the sizes down.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / path) for path in ("examples/python/packaging", "tests/benchmarks/sizes")]
import pythons  # noqa: E402  pylint: disable=wrong-import-position
import sizes_test  # noqa: E402  pylint: disable=wrong-import-position

RECORD = SOURCE / "tests/package/wheel_sizes.json"
DIGITS = SOURCE / "examples/applications/digits"
# By the name of an interpreter: versions that are in use, each of which collects in another way.
PYTEST = {"3.10": "7.4.4", "3.11": "8.3.5"}
NEWEST_PYTEST = "9.2.0"  # As in .ci/fetch-python-build.
LOAD = f"""
import os, sys, tenon
assert sys.prefix in tenon.__file__ and "torch" not in sys.modules, tenon.__file__
numbers = bytearray(open({str(DIGITS / "input.npy")!r}, "rb").read()[128:])
method = tenon.load({str(DIGITS / "model.pte")!r})["forward"]
y = memoryview(method(memoryview(numbers).cast("f", shape=[1, 1, 8, 8]))).tolist()[0]
assert y.index(max(y)) == 7, y
try:
    method(memoryview(numbers))
except tenon.Error as error:
    assert "input 0" in str(error), error
else:
    raise AssertionError("bytes were taken for a float32 tensor")
try:
    method(1)
except TypeError as error:
    assert "found int" in str(error), error
"""
ENTRY_POINTS = """
from importlib.metadata import entry_points
names = sorted(entry_points(group="torch_dynamo_backends").names)
assert names == ["GraphBackend", "tenon"], names
[point] = [each for each in entry_points(group="pytest11") if each.name == "tenon"]
assert point.value == "_tenon_pytest", point
"""


class Failed(Exception):
    """A check that failed: what the command printed."""


def run(*command, cwd):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.stdout[-3000:]}")
    return done.stdout


class Tried:
    """One wheel in an environment of one interpreter."""

    def __init__(self, python, wheel, folder):
        self.python, self.wheel, self.folder = python, wheel, folder
        self.bin = folder / "venv/bin"

    def install(self):
        run(self.python.path, "-m", "venv", self.folder / "venv", cwd=self.folder)
        begun = time.monotonic()
        run(self.bin / "pip", "install", "--quiet", "--no-index", self.wheel, cwd=self.folder)
        run(self.bin / "pip", "check", cwd=self.folder)
        return f"{time.monotonic() - begun:.0f} s"

    def info(self):
        shown = json.loads(run(self.bin / "python", "-m", "tenon", "info", "--json", cwd=self.folder))
        if {each["id"] for each in shown["backends"]} != {"CpuAotiBackend", "GraphBackend", "QuantizedKernels"}:
            raise Failed(str(shown))
        return "passed"

    def load(self):
        run(self.bin / "python", "-c", LOAD, cwd=self.folder)
        return "passed"

    def entry_points(self):
        run(self.bin / "python", "-c", ENTRY_POINTS, cwd=self.folder)
        return "passed"

    def pytest(self):
        version = PYTEST.get(self.python.name, NEWEST_PYTEST)
        run(self.bin / "pip", "install", "--quiet", f"pytest=={version}", cwd=self.folder)
        # pytest leaves out what is in an environment.
        plugin = shutil.copy2(self.folder / "venv/share/tenon/plugins-1/graph_backend.so", self.folder)
        shown = run(self.bin / "python", "-m", "pytest", "-q", "--tenon-plugin", plugin, "--tenon-level", "1",
                    cwd=self.folder)
        [passed] = [line.split()[0] for line in shown.splitlines() if " passed" in line]
        return f"{passed} items (pytest {version})"

    CHECKS = (("install, pip check", install), ("`python -m tenon`", info), ("`tenon.load`", load),
              ("entry points", entry_points), ("`pytest --tenon-plugin`", pytest))

    def row(self):
        """What each check gives, and whether all passed. After a failed check none is tried."""
        cells = []
        for name, check in self.CHECKS:
            try:
                cells.append(check(self))
            except Failed as failure:
                print(f"Python {self.python.name}: {name}: {failure}", file=sys.stderr)
                return [*cells, "FAILED"], False
        return cells, True


def table(rows):
    """Markdown."""
    head = ["Python", "wheel", *(name for name, _ in Tried.CHECKS)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def compare_sizes(wheels, write):
    """Whether no wheel has grown."""
    compiler = subprocess.run(["c++", "-dumpfullversion"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    key, tables = f"gcc {compiler}", json.loads(RECORD.read_text(encoding="utf-8"))
    sizes = {pythons.tag_of(wheel): wheel.stat().st_size for wheel in sorted(wheels)}
    # A run with --python makes some of them alone.
    known = {name: size for name, size in tables.get(key, {}).items() if name in sizes}
    lines, good = sizes_test.compare(known, sizes)
    print(f"bytes of the wheels with {key}: recorded, now\n" + "\n".join(lines))
    if write:
        tables[key] = tables.get(key, {}) | sizes
        RECORD.write_text(json.dumps(tables, indent=2) + "\n", encoding="utf-8")
    return good or write


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("source", type=pathlib.Path)
    given = parser.parse_args()
    wheels = list((given.source / "build/wheel/dist").resolve().glob("tenon_ml-*.whl"))
    rows, passed = [], []
    for python in [pythons.read(path) for path in given.python] or pythons.at_hand():
        wheel = pythons.wheel_for(python, wheels)
        if not wheel:
            rows.append([python.name, "NONE"])
            passed.append(False)
            continue
        with tempfile.TemporaryDirectory(prefix="tenon-wheel-") as folder:
            cells, good = Tried(python, wheel, pathlib.Path(folder).resolve()).row()
        version = ".".join(map(str, python.version))
        rows.append([version, pythons.tag_of(wheel), *cells])
        passed.append(good)
    print(table(rows))
    good = compare_sizes(wheels, given.write)
    return 0 if good and passed and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
