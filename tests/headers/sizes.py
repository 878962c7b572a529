#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how large examples/applications/embed is with the loader, with two layers and with everything.

Each program is two sources, one of them with the definitions, that are compiled with -DNDEBUG -ffunction-sections
-fdata-sections, linked with -Wl,--gc-sections and stripped. A table says how many bytes the linker took of each part:
of a layer, of a room of the loader, of core. A function or an object counts for the file that it is written in, by the
compiler's line information; what was inlined counts for its caller. Unwind tables, texts and relocations have no
symbol. Where the definitions of a form do not link without the definitions of layers that it does not use, it is linked
with all, and the output says what was missing.

    tests/headers/sizes.py --generated build/include
    tests/headers/sizes.py --generated build/include --level=-Os --form loader --json
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import layering_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBED = ROOT / "examples/applications/embed/embed.cpp"
FLAGS = "-std=c++20 -DNDEBUG -ffunction-sections -fdata-sections -g".split()
UNDEFINED = re.compile("undefined reference to `([^']+)'")


def with_layers(names):
    """The names of layers, and of those that they use."""
    out = set(names)
    for name in names:
        out |= with_layers(layering_test.LAYERS[name])
    return out


def definitions(include, layers):
    """The headers with the definitions of the loader and of layers, which use more of the platform; a layer may have none."""
    roots = [include / "tenon/host/layers" / name for name in sorted(layers)]
    headers = [path for root in roots for path in sorted(root.rglob("implementation.hpp"))]
    return [
        "tenon/host/loader/implementation.hpp",
        *(["tenon/host/platform/implementation.hpp"] if layers else []),
        *(path.relative_to(include).as_posix() for path in headers),
    ]


# Of each form: what embed.cpp includes in place of <tenon/host.hpp>, what it says instead, and its layers.
LOAD = "{.registry = &registry}"
REGISTRY = "tenon::host::BackendRegistry registry;"
REGISTERED = "  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));"
FORMS = {
    "loader": (["tenon/loader.hpp"], {REGISTRY: "tenon::host::Registry registry;"}, []),
    "discovery, trace": (
        ["tenon/loader.hpp", "tenon/host/discovery.hpp", "tenon/host/layers/trace/trace.hpp"],
        {
            REGISTRY: "tenon::host::ProviderRegistry registry;",
            REGISTERED: "  tenon::host::Trace trace;\n"
            "  registry.add_search(tenon::host::discovery({.paths = {plugin}}));",
            LOAD: "{.registry = &registry, .layers = {trace}}",
            "  return tenon::ok();": '  return trace.write("trace.json");',
        },
        ["discovery", "trace"],
    ),
    "everything": (["tenon/host.hpp"], {}, list(layering_test.LAYERS)),
}


def source_of(form):
    """The program of a form, made from the example's."""
    headers, changes, _ = FORMS[form]
    text = EMBED.read_text()
    changes = {"#include <tenon/host.hpp>": "\n".join(f"#include <{name}>" for name in headers), **changes}
    for old, new in changes.items():
        if old not in text:
            sys.exit(f"{EMBED}: has no {old!r}, which form {form!r} changes")
        text = text.replace(old, new)
    return text


def part_of(path, include):
    """The part of Tenon, or the library, that a file is of."""
    name = pathlib.Path(path).resolve().as_posix()
    inside = name.removeprefix(include.resolve().as_posix() + "/tenon/")
    if inside == name:
        for text in ("flatbuffers", "_generated.h", "nlohmann", "/c++/"):
            if text in name:
                return {"_generated.h": "schemas", "/c++/": "std"}.get(text, text)
        return "the program" if name.endswith("/program.cpp") else "no symbol"
    parts = [each for each in inside.split("/")[:-1] if each != "impl"]
    return "/".join(parts[: 3 if parts[:2] in (["host", "loader"], ["host", "layers"]) else 2])


class Builder:
    """Compiles what was not compiled before, and links."""

    def __init__(self, args, folder):
        self.args, self.folder, self.objects, self.missing = args, folder, {}, {}

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def compile(self, level, name, text):
        """The object of a source."""
        key = (level, text)
        if key not in self.objects:
            source = self.folder / f"{len(self.objects)}" / name
            source.parent.mkdir()
            source.write_text(text)
            paths = [f"-I{self.args.include}", "-isystem", self.args.generated]
            done = self.run(self.args.cxx, *FLAGS, level, *paths, "-c", source, "-o", source.with_suffix(".o"))
            if done.returncode != 0:
                sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr}")
            self.objects[key] = source.with_suffix(".o")
        return self.objects[key]

    def link(self, level, form, layers):
        """The program of a form with the definitions of layers, and what the linker did not find."""
        headers = definitions(self.args.include, layers)
        text = "".join(f"#include <{name}>\n" for name in headers)
        objects = [
            self.compile(level, "program.cpp", source_of(form)),
            self.compile(level, "definitions.cpp", text),
        ]
        program = self.folder / "linked"
        done = self.run(self.args.cxx, *objects, "-Wl,--gc-sections", "-ldl", "-pthread", "-o", program)
        missing = sorted({text.partition("(")[0] for text in UNDEFINED.findall(done.stderr)})
        if done.returncode != 0 and not missing:
            sys.exit(f"{form}: {done.stderr}")
        return program, missing

    def build(self, level, form):
        """The unstripped program of a form, and what its own definitions lack."""
        if form not in self.missing:
            program, self.missing[form] = self.link(level, form, with_layers(FORMS[form][2]))
            if not self.missing[form]:
                return program, []
        needed = layering_test.LAYERS if self.missing[form] else with_layers(FORMS[form][2])
        program, missing = self.link(level, form, needed)
        if missing:
            sys.exit(f"{form}: the definitions of all layers lack {', '.join(missing)}")
        return program, self.missing[form]


def sizes_of(builder, level, form):
    """What is known of a form: its size, the size of each part, and what it lacks."""
    program, missing = builder.build(level, form)
    parts = collections.Counter()
    addresses = set()
    for line in builder.run("nm", "-S", "-l", "--defined-only", program).stdout.splitlines():
        symbol, _, place = line.partition("\t")
        fields = symbol.split()
        # Two names may be of one function; memory that is zeroed is not in the file.
        if len(fields) < 4 or fields[2] in "bB" or fields[0] in addresses:
            continue
        addresses.add(fields[0])
        parts[part_of(place.rpartition(":")[0] or "/", builder.args.include)] += int(fields[1], 16)
    stripped = builder.folder / "stripped"
    builder.run("strip", "-o", stripped, program)
    size = stripped.stat().st_size
    parts["no symbol"] += size - sum(parts.values())
    return {"form": form, "level": level, "bytes": size, "parts": dict(sorted(parts.items())), "missing": missing}


def text_of(all_sizes):
    """The table for a person."""
    heads = [f"{each['form']} {each['level']}" for each in all_sizes]
    rows = [("", heads), ("stripped", [str(each["bytes"]) for each in all_sizes])]
    for part in sorted({part for each in all_sizes for part in each["parts"]}):
        rows.append(("  " + part, [str(each["parts"].get(part, "")) for each in all_sizes]))
    lines = [
        f"{name:30}" + "".join(f"{cell:>{len(head) + 3}}" for cell, head in zip(cells, heads, strict=True))
        for name, cells in rows
    ]
    for form, missing in {each["form"]: each["missing"] for each in all_sizes}.items():
        if missing:
            lines.append(
                f"{form}: linked with the definitions of all layers; its own lack {len(missing)} functions:"
                f" {', '.join(missing[:5])}"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--generated", required=True, help="the folder with the schemas' headers: BUILD/include")
    option("--include", type=pathlib.Path, default=ROOT / "include", help="default: this checkout's")
    option("--cxx", default="g++", help="the compiler; default: g++")
    option("--level", action="append", help="-O2 and -Os where none is given")
    option("--form", action="append", choices=list(FORMS), help="all where none is given")
    option("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenon-sizes-") as folder:
        builder = Builder(args, pathlib.Path(folder))
        all_sizes = [
            sizes_of(builder, level, form)
            for level in args.level or ["-O2", "-Os"]
            for form in args.form or FORMS
        ]
    print(json.dumps(all_sizes, indent=2) if args.json else text_of(all_sizes))


if __name__ == "__main__":
    main()
