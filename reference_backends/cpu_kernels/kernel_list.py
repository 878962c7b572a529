# SPDX-License-Identifier: MIT
"""Reads kernels/kernel_list.hpp: the functions that models may call, and the reasons for those that have no kernel.

    kernel_list.py names OUTPUT    writes the names that an exporter lets through
    kernel_list.py sources         prints GROUP:PATH for each source of kernels/, for Meson

A source of kernels/ is of the group of its name or its folder, or says "Of the group NAME." in its first lines. Sources
that say "Of every build." have no line.
"""

import pathlib
import re
import sys

PREFIX = "aoti_torch_cpu_"
FOLDER = pathlib.Path(__file__).resolve().parent / "kernels"
HEADER = FOLDER / "kernel_list.hpp"
TRAINING = "gradients: programs are for inference"


def read_header():
    return HEADER.read_text(encoding="utf-8")


def read_served(header):
    """The functions of the lists, by their whole names, each with the group of its list."""
    served, group = {}, ""
    for line in header.splitlines():
        if found := re.match(r"#define TENON_CPU_AOTI_(\w+)\(X\)", line):
            group = found[1].lower()
        if found := re.search(r"X\((aoti_torch_\w+),", line):
            served[found[1]] = group
    return served


def read_reasons(header):
    """Why functions of PyTorch's C shim have no kernel, by their names without the prefix."""
    return dict(re.findall(r"^//   (\w+): (.+)$", header, re.MULTILINE))


def reason_of(name, reasons):
    return TRAINING if name.endswith("_backward") else reasons.get(name)


def exporter_names(header):
    """Both spellings that ExecuTorch's AotiBackend.collect_unsupported_fallback_kernels compares: a C shim, or an
    operator's own name."""
    served = read_served(header)
    return sorted(served) + sorted(f"at::_ops::{name[len(PREFIX):]}::call" for name in served if name.startswith(PREFIX))


def group_of(place, text, groups):
    """The group of a source at `place` below kernels/; empty for one of every build, None where nothing says it."""
    first = re.match(r"(?://.*\n)*", text)[0]
    if re.search(r"^// Of every build\.$", first, re.MULTILINE):
        return ""
    said = re.search(r"^// Of the group (\w+)\.$", first, re.MULTILINE)
    group = said[1] if said else place.parts[0].removesuffix(".cpp")
    return group if group in groups else None


def sources():
    """GROUP:PATH of each source of a group."""
    groups = set(read_served(read_header()).values())
    out = []
    for path in sorted(FOLDER.rglob("*.cpp")):
        place = path.relative_to(FOLDER)
        group = group_of(place, path.read_text(encoding="utf-8"), groups)
        if group is None:
            sys.exit(f"{path}: expected a source of one of the groups {', '.join(sorted(groups))}: in the folder of that name, "
                     'or with the line "// Of the group NAME." or "// Of every build." in the first comment')
        if group:
            out.append(f"{group}:{place.as_posix()}")
    return out


def main():
    if sys.argv[1:] == ["sources"]:
        print("\n".join(sources()))
    elif len(sys.argv) == 3 and sys.argv[1] == "names":
        pathlib.Path(sys.argv[2]).write_text("\n".join(exporter_names(read_header())) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
