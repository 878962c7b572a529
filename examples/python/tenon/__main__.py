# SPDX-License-Identifier: MIT
"""`python -m tenon`: what is installed for this Python, and the programs that the wheel brings.

    python -m tenon info               # the package, its programs, plugins, and what packages offer
    python -m tenon run model.pte ...  # tenon-run of this environment, also when it is not active
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

from . import _entry_points, _programs, _reports
from ._error import Error
from ._paths import PACKAGE
from ._prefix import plugin_folder, prefix
from ._tenon import __version__

_WRONG_USAGE = 2
_FAILED = 1


def _text_of(path: object) -> str | None:
    return None if path is None else str(path)


def facts() -> dict[str, Any]:
    """What `info --json` prints."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "package": PACKAGE,
        "prefix": _text_of(prefix()),
        "plugin_directory": _text_of(plugin_folder()),
        "programs": {name: str(path) for name, path in _programs.installed().items()},
        "backends": [dataclasses.asdict(each) for each in _reports.plugins(all=True)],
        "offered": [dataclasses.asdict(each) for offers in _entry_points.offered().values() for each in offers],
    }


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def text(found: dict[str, Any]) -> str:
    """What `info` prints."""
    lines = [f"tenon {found['version']} for Python {found['python']} ({found['executable']})"]
    lines += _columns([("package", found["package"]),
                       ("prefix", found["prefix"] or "none: a build directory"),
                       ("plugins", found["plugin_directory"] or "none: a build directory")])
    programs = ", ".join(f"tenon-{name}" for name in found["programs"])
    lines += ["programs: " + (programs or "none of the package; those on PATH are started")]
    backends = [(each["id"], each["state"] + (f" ({each['hidden_as']})" if each["hidden_as"] else ""), each["origin"])
                for each in found["backends"]]
    lines += ["backends:" if backends else "backends: none", *_columns(backends)]
    offers = [(each["id"], f"{each['distribution']} {each['version']} ({each['value']})") for each in found["offered"]]
    lines += ["offered by packages:" if offers else "offered by packages: none", *_columns(offers)]
    return "\n".join(lines)


def _info(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tenon info",
        description="Prints where the package, its programs and plugins are, the known backends, and the backends that "
                    "installed packages offer. Loads no plugin.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    wanted = parser.parse_args(arguments)
    try:
        found = facts()
    except Error as failure:
        print(f"tenon: {failure}", file=sys.stderr)
        return _FAILED
    print(json.dumps(found, indent=2) if wanted.json else text(found))
    return 0


def _start(name: str, arguments: list[str]) -> int:
    """Becomes the program, whose exit code becomes the command's."""
    program = _programs.find(name)
    if program is None:
        known = ", ".join(["info", *_programs.installed()])
        print(f"tenon: there is no command '{name}': tenon-{name} is {_programs.places()}; known: {known}",
              file=sys.stderr)
        return _WRONG_USAGE
    sys.stdout.flush()
    try:
        os.execv(program, [str(program), *arguments])
    except OSError as failure:
        print(f"tenon: {program} cannot be started: {failure.strerror}", file=sys.stderr)
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    names = ", ".join(_programs.installed()) or "none in this package; those on PATH"
    parser = argparse.ArgumentParser(
        prog="python -m tenon", allow_abbrev=False, usage="python -m tenon [-h] [--version] COMMAND [ARGUMENT]...",
        description="Shows what is installed for this Python, and runs the native programs that come with it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
               "  info [--json]  print the package, its programs, plugins and backends\n"
               "  NAME ...       run the program tenon-NAME with its arguments: python -m tenon run --help\n"
               f"\nprograms: {names}")
    parser.add_argument("--version", action="version", version=f"tenon {__version__}")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The exit status; does not return where a program was started."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0].startswith("-"):
        parser = _parser()
        _, unknown = parser.parse_known_args(words)
        if unknown:
            parser.error(f"unknown option {unknown[0]}")
        parser.print_usage(sys.stderr)
        return _WRONG_USAGE
    return _info(words[1:]) if words[0] == "info" else _start(words[0], words[1:])


if __name__ == "__main__":
    sys.exit(main())
