#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what a source pays to include Tenon, next to the libraries that it uses.

Each subject is compiled alone: the libraries, the umbrella headers (one #include), the headers of
definitions that Tenon's static libraries are made of, three plugins (examples/backends/hello and the templates
wrapper and full) and examples/applications/embed (a 40-line application). A plugin is the source with
TENON_PLUGIN, with what it includes. A figure is the processor's time in user mode, the minimum of all
rounds; a round compiles everything once, so that a busy machine disturbs all subjects alike. A ratio is
to the sum of nlohmann/json and flatbuffers at the same optimization.

    tests/headers/compile_cost.py --build build/release
    tests/headers/compile_cost.py --include OTHER/include --build OTHER/build --only host --rounds 5
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ["nlohmann/json.hpp", "flatbuffers/flatbuffers.h", "fmt/format.h"]
YARDSTICK = LIBRARIES[:2]
# Headers of one subject; the later ones are where older versions have them.
UMBRELLAS = {
    "tenon/tenon.hpp": [["tenon/tenon.hpp"]],
    "tenon/aoti.hpp": [["tenon/aoti.hpp"]],
    "tenon/aot.hpp": [["tenon/aot.hpp"]],
    "tenon/host/loader/method/method.hpp": [["tenon/host/loader/method/method.hpp"], ["tenon/host/method.hpp"]],
    "tenon/host.hpp": [["tenon/host.hpp"]],
    "tenon/host/inspect.hpp, arrays.hpp": [["tenon/host/inspect.hpp", "tenon/host/arrays.hpp"]],
    "tenon/conformance/suites.hpp": [["tenon/conformance/suites.hpp"]],
    "tenon/host/implementation.hpp": [["tenon/host/implementation.hpp"]],
}
# Plugins, next to the headers: the source, and the directories that it includes from.
PLUGINS = {
    "examples/backends/hello": ("examples/backends/hello/hello.cpp", []),
    "templates/wrapper": (
        "templates/wrapper/runtime/my_npu.cpp",
        ["templates/wrapper", "templates/wrapper/stand_in"],
    ),
    "templates/full": ("templates/full/runtime/my_npu_backend.cpp", ["templates/full"]),
}


def subjects_of(include, scratch, embed):
    """{name: file to compile}, of what this version has."""
    found = {
        name: include.parent / source
        for name, (source, _) in PLUGINS.items()
        if (include.parent / source).exists()
    }
    parts = sorted(str(one.relative_to(include)) for one in (include / "tenon/host").glob("*/**/implementation.hpp"))
    parts_of_host = {**{f"  its part {one}": [[one]] for one in parts}, "all of tenon-host": [parts]}
    headers_of = {**{one: [[one]] for one in LIBRARIES}, **UMBRELLAS, **parts_of_host}
    for name, alternatives in headers_of.items():
        for headers in alternatives:
            if name not in LIBRARIES and not all((include / one).exists() for one in headers):
                continue
            file = scratch / (name.replace("/", "_").replace(", ", "_") + ".cpp")
            file.write_text("".join(f"#include <{one}>\n" for one in headers))
            found[name] = file
            break
    if embed.exists():
        found["examples/applications/embed"] = embed
    return found


def generated_paths(build):
    """Folders of the headers that the build generates for the library."""
    names = [*(build / "include").rglob("*_generated.h")]
    if not names:
        sys.exit(f"compile_cost.py: no generated headers in {build}; build the project there first")
    return sorted({str(one.parent) for one in names} | {str(build / "include")})


def user_seconds(command):
    """User seconds of the command and its children, or the first line of its failure."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, stderr=errors, env={**os.environ, "CCACHE_DISABLE": "1", "LC_ALL": "C"}
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode == 0:
            return usage.ru_utime, None
        errors.seek(0)
        lines = [line for line in errors.read().decode().splitlines() if "error" in line]
        return None, lines[0] if lines else f"exit code {child.returncode}"


def measure(args, subjects, paths):
    """{(subject, optimization): least user seconds}, and {the same: error} of what does not compile."""
    jobs = [(name, level) for name in subjects for level in args.optimization]
    best, failures = {}, {}
    for turn in range(args.rounds):
        for i, job in enumerate(jobs):
            if job in failures:
                continue
            name, level = job
            command = [*shlex.split(args.cxx), "-std=c++20", level, *paths, *args.flag]
            _, folders = PLUGINS.get(name, ("", []))
            command += [f"-I{args.include.parent / folder}" for folder in folders]
            command += ["-c", str(subjects[name]), "-o", os.devnull]
            seconds, failure = user_seconds(command)
            if failure:
                failures[job] = failure
                print(f"compile_cost.py: {' '.join(job)}: {failure}", file=sys.stderr)
            else:
                best[job] = min(seconds, best.get(job, seconds))
            if sys.stderr.isatty():
                print(f"\rround {turn + 1}, {i + 1} of {len(jobs)} ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return best, failures


def rows_of(args, subjects, best):
    """One row for each subject: seconds and ratio for each optimization."""
    for name in subjects:
        row = {"subject": name, "figures": []}
        for level in args.optimization:
            seconds = best.get((name, level))
            unit = [best.get((one, level)) for one in YARDSTICK]
            ratio = seconds / sum(unit) if seconds is not None and None not in unit else None
            row["figures"].append({"optimization": level, "seconds": seconds, "ratio": ratio})
        yield row


def cell(figure):
    """One figure as text."""
    if figure["seconds"] is None:
        return ""
    ratio = f" ({figure['ratio']:.2f} x)" if figure["ratio"] is not None else ""
    return f"{figure['seconds']:.2f}{ratio}"


def print_table(args, rows):
    """The table as aligned text or as Markdown."""
    head = ["user seconds"]
    head += [figure["optimization"] for figure in rows[0]["figures"]]
    lines = [head] + [[row["subject"], *map(cell, row["figures"])] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for number, line in enumerate(lines):
        texts = [line[0].ljust(widths[0])]
        texts += [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        print("| " + " | ".join(texts) + " |" if args.markdown else "  ".join(texts).rstrip())
        if args.markdown and number == 0:
            bars = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
            print("| " + " | ".join(bars) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option(
        "--include",
        type=pathlib.Path,
        default=ROOT / "include",
        help="headers to measure (default: this checkout's)",
    )
    option(
        "--build",
        type=pathlib.Path,
        default=ROOT / "build/release",
        help="where that checkout was built, for its generated headers (default: %(default)s)",
    )
    option(
        "--embed",
        type=pathlib.Path,
        help="the application (default: examples/applications/embed next to the headers)",
    )
    option("--cxx", default="g++", help="compiler (default: %(default)s)")
    option("--flag", action="append", default=[], help="further flag of the compiler")
    option("--rounds", type=int, default=3, help="how often each is compiled (default: 3)")
    option(
        "--optimization",
        nargs="+",
        default=["-O0", "-O2"],
        metavar="LEVEL",
        type=lambda text: text if text.startswith("-") else "-" + text,
        help="O0, O2, ... (default: O0 O2)",
    )
    option(
        "--only",
        nargs="+",
        metavar="TEXT",
        help="only subjects whose name contains one of these, and the two libraries of the ratio",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--json", action="store_true", help="print figures for a program to read")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds: expected 1 or more")
    embed = args.embed or args.include.parent / "examples/applications/embed/embed.cpp"
    paths = [f"-I{args.include}"] + [f"-I{path}" for path in generated_paths(args.build)]
    with tempfile.TemporaryDirectory() as scratch:
        subjects = subjects_of(args.include, pathlib.Path(scratch), embed)
        if args.only:
            subjects = {
                name: file for name, file in subjects.items()
                if name in YARDSTICK or any(text in name for text in args.only)
            }
        best, failures = measure(args, subjects, paths)
        rows = list(rows_of(args, subjects, best))
    if args.json:
        print(json.dumps({"compiler": args.cxx, "rounds": args.rounds, "rows": rows}, indent=2))
    else:
        print_table(args, rows)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
