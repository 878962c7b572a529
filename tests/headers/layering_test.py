# SPDX-License-Identifier: MIT
"""Checks who includes whom: the table of docs and design, without exceptions to it.

An author's headers (abi, core, backend, aoti) and a host's (host) meet only in abi and core.
"""

import pathlib
import re
import sys

# A folder or umbrella header: which parts of the SDK it may include, and which other headers.
C_TYPES = re.compile(r"stdint\.h|stddef\.h")
STANDARD = re.compile(r"[a-z_]+")
POSIX = re.compile(r"[a-z_]+|[a-z_0-9]+\.h|sys/[a-z_]+\.h")
HOST = re.compile(
    r"[a-z_]+|[a-z_0-9]+\.h|sys/[a-z_]+\.h|fmt/[a-z]+\.h|flatbuffers/[a-z_]+\.h"
    r"|nlohmann/json\.hpp|CommonCrypto/CommonDigest\.h"
)
# What a tool that compiles programs adds to that: it reads archives of PyTorch.
COMPILER = re.compile(HOST.pattern + r"|zip\.h")
# What the kit adds to that: its tests are tests of Catch2 as well.
KIT = re.compile(HOST.pattern + r"|catch2/catch(_all)?\.hpp|malloc/malloc\.h")
# The bridges: the real ExecuTorch headers, on each side of the boundary with its own half of ours.
BRIDGE = re.compile(POSIX.pattern + r"|executorch/[a-z_0-9/]+\.h")
RULES = {
    "abi": ({"abi"}, C_TYPES),
    "core": ({"abi", "core"}, STANDARD),
    "backend": ({"abi", "core", "backend"}, STANDARD),
    "tenon.hpp": ({"abi", "core", "backend"}, STANDARD),
    "aoti": ({"abi", "core", "backend", "aoti"}, POSIX),
    "aoti.hpp": ({"abi", "core", "backend", "aoti"}, POSIX),
    "aot": ({"abi", "core", "backend", "aot"}, STANDARD),
    "aot.hpp": ({"abi", "core", "backend", "aot"}, STANDARD),
    "aot/compiler": ({"abi", "core", "host", "aot", "aot/compiler"}, COMPILER),
    "host": ({"abi", "core", "host"}, HOST),
    "host.hpp": ({"abi", "core", "host"}, HOST),
    "executorch": ({"abi", "core", "executorch"}, BRIDGE),
    "executorch/adapter": ({"abi", "core", "host", "executorch", "executorch/adapter"}, BRIDGE),
    "executorch/register_plugins.hpp": (
        {"abi", "core", "host", "executorch", "executorch/adapter"},
        BRIDGE,
    ),
    "executorch/backend": (
        {"abi", "core", "backend", "tenon.hpp", "executorch", "executorch/backend"},
        BRIDGE,
    ),
    "executorch/plugin.hpp": (
        {"abi", "core", "backend", "tenon.hpp", "executorch", "executorch/backend"},
        BRIDGE,
    ),
    "conformance": ({"abi", "core", "host", "aot", "aot/compiler", "conformance"}, KIT),
}
# Umbrella headers and the folders of which they include everything.
UMBRELLAS = {
    "abi/tenon.h": {"abi"},
    "tenon.hpp": {"core", "backend"},
    "aoti.hpp": {"aoti"},
    "aot.hpp": {"aot"},
    "host.hpp": {"host"},
}
# These headers are generated; who may include them is said by the folder they lie in.
GENERATED = re.compile(r"host/schema/[a-z_]+_generated\.h|host/plugindir\.hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<form>["<])(?P<name>[^">]+)[">]', re.M)


def part_of(header):
    """The rule that a header falls under: its own, that of its folder, or of the folder above."""
    if header in RULES:
        return header
    folder = header.rpartition("/")[0]
    return folder if folder in RULES else header.split("/")[0]


def main():
    root = pathlib.Path(sys.argv[1]) / "tenon"
    problems = []
    includes = {}
    for path in sorted(root.rglob("*.h*")):
        header = path.relative_to(root).as_posix()
        part = part_of(header)
        includes[header] = set()
        if part not in RULES:
            problems.append(f"{header}: there is no rule for {part}; add one to {__file__}")
            continue
        parts, others = RULES[part]
        for match in INCLUDE.finditer(path.read_text()):
            name = match["name"]
            if not name.startswith("tenon/"):
                if match["form"] != "<" or not others.fullmatch(name):
                    problems.append(f"{header}: may not include {name}")
                continue
            name = name.removeprefix("tenon/")
            if match["form"] != '"':
                problems.append(f"{header}: writes <tenon/{name}>, expected quotes")
            if part_of(name) not in parts:
                problems.append(f"{header}: may not include tenon/{name}")
            if GENERATED.fullmatch(name):
                continue
            if not (root / name).is_file():
                problems.append(f"{header}: includes tenon/{name}, which does not exist")
            includes[header].add(name)
    if len(includes) < 40:
        problems.append(f"found only {len(includes)} headers under {root}")

    # What is reached from each header; a header that reaches itself is a circle.
    reached = {}
    for header in includes:
        found, open_ends = set(), list(includes[header])
        while open_ends:
            name = open_ends.pop()
            if name not in found:
                found.add(name)
                open_ends.extend(includes.get(name, ()))
        reached[header] = found
        if header in found:
            problems.append(f"{header}: includes itself in a circle")

    for umbrella, parts in UMBRELLAS.items():
        for header in includes:
            inside = part_of(header) in parts and header not in UMBRELLAS
            if inside and header not in reached[umbrella]:
                problems.append(f"{umbrella}: does not include {header}")

    for problem in problems:
        print(f"not ok: {problem}")
    print(f"{len(includes)} headers, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
