#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what commands print, with its times, for the pictures of SESSIONS, in the format of asciinema,
version 2.

    record.py BUILD write|check [NAME]...

BUILD is a built tree: the programs and the files of the sessions. `check`, a test, runs the
commands and fails where they print something else than what is stored, but for numbers. draw.py makes the pictures.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import terminal

ROOT = pathlib.Path(__file__).resolve().parents[3]
TYPING = 0.8  # Seconds that a command appears before its output.
SKIPPED = 77

# name: (title, {file of the folder: where it is}, commands)
SESSIONS = {
    "demo": (
        "a handwritten digit, without libtorch",
        {"cpu_aoti.so": "reference_backends/cpu_aoti/cpu_aoti.so", "image.txt": ROOT / "examples/applications/digits/image.txt"}
        | {name: ROOT / "examples/applications/digits" / name for name in ("model.pte", "input.npy", "expected.npy")},
        ["cat image.txt",
         # Times come from the performance pages, not from a machine that builds something else as well.
         "tenon-run model.pte --plugin cpu_aoti.so --input input.npy --expect expected.npy --top 3 | grep -v time:"],
    ),
    "chat": (
        "two conversations, whose weights are loaded once",
        {name: f"examples/backends/executorch/{name}" for name in ("xnnpack.so", "executorch_kernels.so", "libexecutorch.so")}
        | {name: ROOT / "examples/applications/chat" / name for name in ("model.pte", "tokenizer.json", "lines.txt")},
        ["chat model.pte tokenizer.json xnnpack.so executorch_kernels.so --script lines.txt"],
    ),
    "kit": (
        "the conformance kit",
        {"libacme.so": "examples/backends/hello.so", "cases": ROOT / "tests/conformance/cases/hello",
         "writes_to_input.so": "tests/conformance/zoo/writes_to_input.so", "zoo": "tests/conformance/zoo/cases/add"},
        ["tenon-conformance libacme.so --cases cases",
         "tenon-conformance writes_to_input.so --cases zoo --rule TN-EXE-2 | head -n 8"],
    ),
}
PROGRAMS = ("examples/programs/tenon-run/tenon-run", "examples/applications/chat/chat", "tests/conformance/tenon-conformance")
# What differs between runs, machines and versions of the kit; the README's test compares the numbers of the demo.
CHANGING = re.compile(r"\b[0-9a-f]{64}\b|\b0x[0-9a-f]+|\b\d[\d.:TZ-]*(?:e[-+]?\d+)?|\b[mun]?s\b|Linux \w+")


def run(command, folder, environment):
    """What a command prints: [(seconds since its start, text)]."""
    start, pieces = time.monotonic(), []
    # Not a terminal, in which the kit would show its progress in a line that it overwrites.
    with subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        while data := os.read(process.stdout.fileno(), 65536):
            pieces.append((time.monotonic() - start, data.decode("utf-8", "replace").replace("\n", "\r\n")))
    return pieces


def record(build, name):
    title, files, commands = SESSIONS[name]
    with tempfile.TemporaryDirectory(prefix="tenon-record-") as place:
        folder = pathlib.Path(place).resolve() / "work"
        folder.mkdir()
        for file, source in files.items():
            source = build / source
            shutil.copytree(source, folder / file) if source.is_dir() else shutil.copy(
                source, folder / file, follow_symlinks=False)  # The build's link to ExecuTorch's library.
        path = os.pathsep.join([*(str((build / program).parent) for program in PROGRAMS), os.environ["PATH"]])
        environment = {"PATH": path, "HOME": place, "TERM": "dumb", "LANG": "C.UTF-8"}
        clock, events = 0.0, []
        for command in commands:
            events.append((clock, f"$ {command}\r\n"))
            clock += TYPING
            pieces = run(command, folder, environment)
            # The folder is a new one with each run.
            events += [(clock + seconds, text.replace(f"{folder}/", "")) for seconds, text in pieces]
            clock = events[-1][0] + TYPING
    head = {"version": 2, "width": terminal.COLUMNS, "height": 24, "title": title}
    lines = [json.dumps(head), *(json.dumps([round(at, 3), "o", text], ensure_ascii=False) for at, text in events)]
    return "\n".join(lines) + "\n"


def stable(path):
    """The lines of a recording, without what differs between runs."""
    return [CHANGING.sub("*", line) for _, line in terminal.read(path)[1]]


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("write", "check"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    for name in sys.argv[3:] or SESSIONS:
        place = pathlib.Path(__file__).resolve().parent / f"{name}.cast"
        if sys.argv[2] == "write":
            place.write_text(record(build, name), encoding="utf-8")
            continue
        if name == "demo" and "avx2" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
            print("skipped: the model's code needs AVX2")
            sys.exit(SKIPPED)
        with tempfile.NamedTemporaryFile("w", suffix=".cast", encoding="utf-8") as now:
            now.write(record(build, name))
            now.flush()
            stored, printed = stable(place), stable(pathlib.Path(now.name))
        if stored != printed:
            sys.exit(f"{name}: stored\n" + "\n".join(stored) + "\nprinted now\n" + "\n".join(printed)
                     + "\nrun docs/site/pictures/record.py BUILD write, then draw.py . write")
        print(f"{name}: {len(printed)} lines are those that are stored")


if __name__ == "__main__":
    main()
