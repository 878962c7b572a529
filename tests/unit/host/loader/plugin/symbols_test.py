# SPDX-License-Identifier: MIT
"""What a plugin's binary must not do: export more than one object [TN-BIN-1], or run code when
loaded [TN-BIN-2].

Looks at the plugins that were built, and at the examples built anew by each compiler that is here, with
--optimization: at -O0 the standard library's templates would leak.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SYMBOL = "tenon_plugin_v1"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library):
    """(kind, name) of each dynamic symbol that the library defines."""
    symbols = []
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        fields = line.split()
        symbols.append((fields[-2], fields[-1]))
    return symbols


def constructors(library):
    """Bytes of pointers to functions that run when the library is loaded or unloaded."""
    sizes = dict.fromkeys(["INIT_ARRAYSZ", "FINI_ARRAYSZ", "PREINIT_ARRAYSZ"], 0)
    for name, size in re.findall(r"\((\w+ARRAYSZ)\)\s+(\d+)", run("readelf", "-dW", library)):
        sizes[name] = int(size)
    sizes["ctors"] = len(re.findall(r"\s\.ctors\s", run("readelf", "-SW", library)))
    return sizes


def judge(library, empty):
    problems = []
    symbols = exported(library)
    # `R` and `D` are data, which relocations may have made writable for a moment; `u` would pin the
    # library in memory.
    if [name for _, name in symbols] != [SYMBOL] or symbols[0][0] not in "RD":
        problems.append(f"expected one data symbol {SYMBOL}, found {symbols}")
    if empty and constructors(library) != constructors(empty):
        problems.append(
            f"runs code when loaded: {constructors(library)}, an empty library has "
            f"{constructors(empty)}"
        )
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("--source", action="append", type=pathlib.Path, default=[])
    parser.add_argument("--optimization", required=True, help="a level: -O0")
    parser.add_argument("built", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    judged, failed = 0, 0

    def report(name, problems):
        nonlocal judged, failed
        judged += 1
        failed += bool(problems)
        for problem in problems:
            print(f"not ok: {name}: {problem}")

    for library in args.built:
        report(library.name, judge(library, None))
    export_list = f"{args.include}/tenon/abi/tenon-plugin.map"
    flags = ["-std=c++20", "-fPIC", "-shared", f"-I{args.include}"]
    compilers = [path for name in ("g++", "clang++") if (path := shutil.which(name))]
    with tempfile.TemporaryDirectory() as folder:
        for cxx in compilers:
            library, empty = f"{folder}/plugin.so", f"{folder}/empty.so"
            nothing = pathlib.Path(folder) / "empty.cpp"
            nothing.write_text("")
            run(cxx, *flags, args.optimization, nothing, "-o", empty)
            for source in args.source:
                exports = f"-Wl,--version-script={export_list}"
                run(cxx, *flags, args.optimization, source, exports, "-Wl,-z,defs", "-o", library)
                report(f"{source.name} by {cxx} {args.optimization}", judge(library, empty))
    print(f"{judged} plugins, {failed} with problems")
    sys.exit(1 if failed or not compilers else 0)


if __name__ == "__main__":
    main()
