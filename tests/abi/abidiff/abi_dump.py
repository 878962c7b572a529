# SPDX-License-Identifier: MIT
"""abidiff and abidw of Debian's abigail-tools: the ABI of a library by its debug information."""

import lzma
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "include/tenon"
SUPPRESSIONS = HERE / "suppressions.ini"
MORE_THAN_APPENDED = re.compile(r"offset changed|data member deletion|\btype of '|type name changed|enumerator|"
                                r"[1-9][0-9]* Removed (?:function|variable)")


def is_there():
    """Whether both programs are."""
    return all(map(shutil.which, ("abidiff", "abidw")))


def has_debug_information(library):
    """Without it abidiff compares symbols alone, and finds nothing of types."""
    done = subprocess.run(["readelf", "--section-headers", "--wide", library], capture_output=True, text=True, check=True)
    return " .debug_info " in done.stdout


def dump(library):
    """The ABI as text of XML."""
    # Types of C++ behind the handles of the C interface are private: the types of its headers alone are kept. A plugin's
    # object is a template of the SDK.
    options = []
    if pathlib.Path(library).name.startswith("libtenon."):
        options = ["--headers-dir", INCLUDE / "abi", "--headers-dir", INCLUDE / "host/c", "--drop-private-types"]
    done = subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--exported-interfaces-only",
                           *options, library], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"abidw {library}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def compare(old, new, suppressions=SUPPRESSIONS):
    """The report of abidiff about two libraries or dumps; "" when the new one only adds functions, and members that the
    suppressions name."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, path in enumerate((pathlib.Path(old), pathlib.Path(new))):
            text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else dump(path)
            paths.append(pathlib.Path(folder, f"{number}.abi"))
            paths[-1].write_text(text, encoding="utf-8")
        report = _abidiff(*paths, "--suppressions", suppressions)
        # A section excuses every change of its struct (abidiff 2.2), also of members that were there.
        whole = _abidiff(*paths)
        return report or (whole if MORE_THAN_APPENDED.search(whole) else "")


def _abidiff(*words):
    done = subprocess.run(["abidiff", "--no-default-suppression", "--no-added-syms", "--no-show-locs", *words],
                          capture_output=True, text=True, check=False)
    # Bits: 1 and 2 errors of abidiff, 4 a change, 8 a change that is certainly incompatible.
    if done.returncode & 3:
        raise RuntimeError(f"abidiff: exit {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout if done.returncode else ""
