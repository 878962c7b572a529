# SPDX-License-Identifier: MIT
"""Runs the programs and plugins that tests/cross/windows.sh built, under Wine.

Each check is a line "ok" or "not ok" and the last line has the totals. Outputs of programs are
compared with the recorded numbers in tests/fixtures.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
CASES = ROOT / "tests/conformance/cases"
# tenon-inspect, tenon-compile and programs for the zoo, of the build of `./dev quick`.
LINUX = ROOT / "build/gcc"
# Broken plugins that the kit must catch: crashes, an end of the process, a hang, wrong accesses to
# memory, leaks and changes of the process.
ZOO = [
    "good",
    "segfaults_in_destroy",
    "aborts_in_execute",
    "exits_in_init",
    "hangs_in_execute",
    "overflows_the_stack",
    "needs_much_stack",
    "writes_to_input",
    "writes_past_output",
    "reads_past_blob",
    "leaks_each_run",
    "keeps_memory",
    "rounds_up",
    "wrong_numbers",
]


class Checks:
    def __init__(self, build, wine, folder):
        self.build, self.wine, self.folder = build, wine, folder
        self.failed = self.total = 0
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "WINEPREFIX": str(folder / "wine"),
            "WINEDEBUG": "-all",
            "LC_ALL": "C.UTF-8",  # What Wine takes the bytes of variables for.
        }

    def program(self, name):
        return self.build / f"examples/tenon-{name}/tenon-{name}.exe"

    def run(self, *words, **variables):
        """Exit code, output and errors of one program."""
        done = subprocess.run(
            [self.wine, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env=self.environment | variables,
            cwd=self.folder,
            timeout=600,
        )
        return done.returncode, done.stdout, done.stderr

    def check(self, name, good, shown=""):
        self.total += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'}: {name}" + ("" if good else f"\n{shown}"), flush=True)

    def expect(self, name, words, code=0, out="", err="", **variables):
        done = self.run(*words, **variables)
        self.check(name, done[0] == code and out in done[1] and err in done[2], done)
        return done


def windows(path):
    """A path of this machine as Wine shows it."""
    return "Z:" + str(path).replace("/", "\\")


def recorded_numbers(checks):
    demo = checks.build / "examples/demo_backend.dll"
    add = CASES / "hello/add"
    words = [checks.program("run"), windows(add / "model.pte")]
    words += ["--input", windows(add / "a0.npy"), "--input", windows(add / "b0.npy")]
    words += ["--expect", windows(add / "expected0.npy"), "--plugin"]
    checks.expect("hello adds", words + [windows(checks.build / "examples/hello.dll")])
    other = windows(checks.build / "hello_clang.dll")
    checks.expect("hello of another compiler adds", words + [other])
    for fixture in ["demo_sin_inline", "demo_sin_seg"]:
        folder = FIXTURES / fixture
        words = [checks.program("run"), windows(folder / "model.pte")]
        words += ["--plugin", windows(demo)]
        for path in sorted(folder.glob("c0_in*.npy")):
            words += ["--input", windows(path)]
        for path in sorted(folder.glob("c0_out*.npy")):
            words += ["--expect", windows(path)]
        checks.expect(f"{fixture} gives the recorded numbers", words)
    for model in ["mlp", "vision"]:
        folder = FIXTURES / "pt2" / model
        words = [checks.program("run"), windows(CASES / "graph_backend" / model / "model.pte")]
        words += ["--plugin", windows(checks.build / "examples/graph_backend/graph_backend.dll")]
        words += ["--input", windows(folder / "input_0.npy"), "--rtol", "1e-5", "--atol", "2e-6"]
        words += ["--expect", windows(folder / "expected_0.npy")]
        checks.expect(f"graph_backend runs {model} with PyTorch's numbers", words)
    folder = FIXTURES / "add_dynamic_portable"
    kernels = windows(checks.build / "examples/arithmetic_kernels.dll")
    words = [checks.program("run"), windows(folder / "model.pte"), "--plugin", kernels]
    words += ["--input", windows(folder / "c0_in0.npy"), "--input", windows(folder / "c0_in1.npy")]
    words += ["--expect", windows(folder / "c0_out0.npy")]
    checks.expect("add_dynamic_portable runs with the kernels of a plugin", words)
    checks.expect(
        "operators without a kernel are named",
        [checks.program("run"), windows(FIXTURES / "mlp_portable/model.pte"), "--plugin", kernels]
        + ["--input", windows(FIXTURES / "mlp_portable/c0_in0.npy")],
        code=3,
        err="no kernel for aten::_softmax.out (instruction 0:5); aten::addmm.out",
    )
    wrong = FIXTURES / "demo_sin_seg"
    checks.expect(
        "outputs that differ are exit code 1",
        [checks.program("run"), windows(wrong / "model.pte"), "--plugin", windows(demo)]
        + ["--input", windows(wrong / "c0_in0.npy"), "--expect", windows(wrong / "c0_in0.npy")],
        code=1,
    )


def files_and_paths(checks):
    hello = checks.build / "examples/hello.dll"
    plugins = checks.folder / "plügins ü"
    plugins.mkdir(mode=0o755)
    shutil.copy(hello, plugins / "hello.dll")
    checks.expect(
        "an elevated process ignores variables, and says so",
        [checks.program("list"), "--places"],
        out="ignored: this process has more rights",
        TENON_PLUGIN_PATH=windows(plugins),
    )
    unelevated = [checks.build / "unelevated.exe", windows(checks.program("list"))]
    listed = checks.run(*unelevated, "--json", TENON_PLUGIN_PATH=windows(plugins))
    found = json.loads(listed[1]) if listed[0] == 0 else {"backends": []}
    checks.check(
        "tenon-list finds a plugin in a directory with a UTF-8 name",
        [b["id"] for b in found["backends"]] == ["Add"]
        and found["backends"][0]["path"] == windows(plugins / "hello.dll"),
        listed,
    )
    (plugins / "hello.dll").chmod(0o666)
    checks.expect(
        "a plugin that everyone may write to is refused",
        [*unelevated, "--all"],
        out="may be changed by",
        TENON_PLUGIN_PATH=windows(plugins),
    )
    checks.expect(
        "tenon-inspect loads a plugin",
        [checks.program("inspect"), windows(hello), "--load"],
        out="available: yes",
    )
    linux = LINUX / "examples/hello.so"
    done = checks.run(checks.program("inspect"), windows(linux), "--load")
    checks.check(
        "a plugin for Linux is described and not loaded",
        done[0] == 4
        and "ELF shared library for x86_64" in done[1]
        and done[2].count("\n") == 1
        and "is an ELF file (Linux), expected a Windows DLL for x86_64" in done[2],
        done,
    )
    checks.expect(
        "a missing program is named",
        [checks.program("run"), windows(checks.folder / "none.pte")],
        code=3,
        err="none.pte: ",
    )
    model = windows(FIXTURES / "demo_sin_seg/model.pte")
    checks.expect(
        "tenon-doctor names the plugin that serves a program",
        [checks.program("doctor"), model]
        + ["--plugin", windows(checks.build / "examples/demo_backend.dll")],
        out="served by BackendWithCompilerDemo",
    )
    output = checks.folder / "outputs"
    words = [checks.program("run"), model, "--output", windows(output)]
    words += ["--plugin", windows(checks.build / "examples/demo_backend.dll")]
    words += ["--input", windows(FIXTURES / "demo_sin_seg/c0_in0.npy")]
    for time in ["written", "replaced"]:
        checks.expect(f"an output is {time}", words)
        checks.check(
            f"what was {time} is complete and alone",
            output.is_dir()
            and [path.name for path in output.iterdir()] == ["output0.npy"]
            and (output / "output0.npy").stat().st_size > 128,
            list(output.glob("*")),
        )


def other_side(checks):
    """Linux' tenon-inspect and a DLL."""
    inspect = LINUX / "examples/tenon-inspect/tenon-inspect"
    hello = checks.build / "examples/hello.dll"
    done = subprocess.run([inspect, hello], capture_output=True, text=True, check=False)
    checks.check(
        "tenon-inspect on Linux shows the record of a DLL",
        done.returncode == 0
        and "Windows DLL for x86_64" in done.stdout
        and "backend Add" in done.stdout,
        done,
    )
    names = subprocess.run(
        ["x86_64-w64-mingw32-objdump", "-p", hello], capture_output=True, text=True, check=True
    ).stdout
    exports = names.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    checks.check(
        "a plugin exports one symbol",
        [line.split()[-1] for line in exports.splitlines() if "]" in line] == ["tenon_plugin_v1"],
        exports,
    )


def conformance(checks, level):
    kit = checks.build / "tests/conformance/tenon-conformance.exe"
    for name in ["hello", "demo_backend", "graph_backend/graph_backend"]:
        subject = ROOT / f"tests/conformance/subjects/{pathlib.Path(name).name}.json"
        done = checks.expect(
            f"tenon-conformance {name} --level {level}",
            [kit, windows(checks.build / f"examples/{name}.dll"), "--subject", windows(subject)]
            + ["--level", level, "--color", "never"],
        )
        print("    " + "\n    ".join(done[1].strip().splitlines()[-3:]))
    zoo = LINUX / "tests/conformance/zoo/zoo.json"
    for name in ZOO:
        source = (ROOT / f"tests/conformance/zoo/{name}.c").read_text(encoding="utf-8")
        breaks = source.partition("// Breaks ")[2].partition(":")[0].split()
        words = [kit, windows(checks.build / f"zoo/{name}.dll"), "--subject", windows(zoo)]
        words += ["--level", breaks[3] if len(breaks) > 1 and breaks[1] == "at" else "3"]
        words += ["--timeout", "20", "--max-hangs", "1", "--color", "never"]
        if name == "good":
            checks.expect("the kit passes the zoo's good plugin", words)
            continue
        done = checks.run(*words, "--rule", breaks[0])
        checks.check(
            f"the kit catches {name} by {breaks[0]}", done[0] == 1 and breaks[0] in done[1], done
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--wine")
    parser.add_argument("--kit-level", default="3", help="of the conformance kit; 0: not run")
    parser.add_argument("--zoo", action="store_true", help="print what to build of the zoo")
    args = parser.parse_args()
    if args.zoo:
        print("\n".join(ZOO))
        return
    # Not in /tmp, where everyone may write: no plugin there is trusted.
    with tempfile.TemporaryDirectory(dir=args.build) as name:
        checks = Checks(args.build.resolve(), args.wine, pathlib.Path(name).resolve())
        (checks.folder / "wine").mkdir()
        checks.run("wineboot", "-i")
        other_side(checks)
        recorded_numbers(checks)
        files_and_paths(checks)
        for plugin in ["hello", "demo_backend"]:
            path = windows(checks.build / f"examples/{plugin}.dll")
            program = checks.build / "load_and_unload.exe"
            done = checks.expect(f"{plugin} is loaded and unloaded 1,000 times", [program, path, 1000])
            print("    " + done[1].strip())
        if args.kit_level == "0":
            print("not run: the conformance kit")
        else:
            conformance(checks, args.kit_level)
        subprocess.run(
            [pathlib.Path(args.wine).with_name("wineserver"), "-k"],
            env=checks.environment,
            check=False,
        )
    print(f"{checks.total} checks, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
