# SPDX-License-Identifier: MIT
"""Runs the programs and plugins that windows.py builds, under Wine. Outputs of programs are compared with the recorded
numbers in tests/fixtures."""

import json
import os
import pathlib
import shutil
import re
import subprocess
import sys
import tempfile

from conformance.zoo import zoo_list
from dev import processes
from dev.cross.target import judged

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests/fixtures"
CASES = ROOT / "tests/conformance/cases"
# tenon-inspect, tenon-new, hello and programs for the zoo, which windows.py builds for this machine.
LINUX = ROOT / "build/cross/native"
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


# Programs of the unit tests. With --quick those that compile in seconds.
QUICK_UNITS = [
    "tests/unit/host/layers/inspect/peek-test.exe",
    "tests/unit/host/platform/signals-test.exe",
]
UNITS = QUICK_UNITS + [
    "tests/unit/host/layers/discovery/discovery-test.exe",
    "tests/unit/host/loader/method/host-test.exe",
    "tests/unit/host/loader/program/programs-test.exe",
]


# The DLL of the C interface, a program in C, the unit tests, and the plugins that these load.
C_INTERFACE = [
    "include/tenon/host/libtenon-1.dll",
    "examples/applications/sines.exe",
    "tests/unit/host/c/host-c-test.exe",
    "tests/unit/host/c/counting.dll",
    "tests/unit/host/c/later.dll",
]


class Checks:
    """Of a build folder; `results` is the target."""

    def __init__(self, results, wine, folder):
        self.results, self.wine, self.folder = results, wine, folder
        self.build = pathlib.Path(results.build).resolve()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "WINEPREFIX": str(folder / "wine"),
            "WINEDEBUG": "-all",
            "LC_ALL": "C.UTF-8",  # What Wine takes the bytes of variables for.
        }

    def program(self, name):
        return self.build / f"examples/programs/tenon-{name}/tenon-{name}.exe"

    def run(self, *words, **variables):
        """Exit code, output and errors of one program; without a code if it does not end or start."""
        try:
            done = processes.run(
                self.results.part.niced([self.wine, *words]),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=self.environment | variables,
                cwd=self.folder,
                timeout=3600,
            )
        except (subprocess.TimeoutExpired, OSError) as failure:
            return None, "", str(failure)
        return done.returncode, done.stdout, done.stderr

    def expect(self, name, words, code=0, out="", err="", **variables):
        done = self.run(*words, **variables)
        self.results.result(name, done[0] == code and out in done[1] and err in done[2], done)
        return done


def windows(path):
    """A path of this machine as Wine shows it."""
    return "Z:" + str(path).replace("/", "\\")


def recorded_numbers(checks, quick):
    demo = checks.build / "examples/backends/demo_backend.dll"
    add = CASES / "hello/add"
    words = [checks.program("run"), windows(add / "model.pte")]
    words += ["--input", windows(add / "a0.npy"), "--input", windows(add / "b0.npy")]
    words += ["--expect", windows(add / "expected0.npy"), "--plugin"]
    checks.expect("hello adds", words + [windows(checks.build / "examples/backends/hello.dll")])
    if not quick:
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
        words += ["--plugin", windows(checks.build / "examples/backends/graph_backend/graph_backend.dll")]
        words += ["--input", windows(folder / "input_0.npy"), "--rtol", "1e-5", "--atol", "2e-6"]
        words += ["--expect", windows(folder / "expected_0.npy")]
        checks.expect(f"graph_backend runs {model} with PyTorch's numbers", words)
    if quick:
        return
    folder = FIXTURES / "add_dynamic_portable"
    kernels = windows(checks.build / "examples/backends/arithmetic_kernels.dll")
    words = [checks.program("run"), windows(folder / "model.pte"), "--plugin", kernels]
    words += ["--input", windows(folder / "c0_in0.npy"), "--input", windows(folder / "c0_in1.npy")]
    words += ["--expect", windows(folder / "c0_out0.npy")]
    checks.expect("add_dynamic_portable runs with the kernels of a plugin", words)
    folder = FIXTURES / "mlp_portable"
    words = [checks.program("run"), windows(folder / "model.pte")]
    words += ["--plugin", windows(checks.build / "examples/backends/mlp_kernels.dll")]
    words += ["--input", windows(folder / "c0_in0.npy"), "--rtol", "1e-5", "--atol", "1e-6"]
    words += ["--expect", windows(folder / "c0_out0.npy")]
    checks.expect("mlp_portable runs with the kernels of a plugin", words)
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
    hello = checks.build / "examples/backends/hello.dll"
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
    with checks.results.step("tenon-list --json"):
        found = json.loads(listed[1]) if listed[0] == 0 else {"backends": []}
        checks.results.result(
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
    linux = LINUX / "examples/backends/hello.so"
    done = checks.run(checks.program("inspect"), windows(linux), "--load")
    checks.results.result(
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
        + ["--plugin", windows(checks.build / "examples/backends/demo_backend.dll")],
        out="served by BackendWithCompilerDemo",
    )
    output = checks.folder / "outputs"
    words = [checks.program("run"), model, "--output", windows(output)]
    words += ["--plugin", windows(checks.build / "examples/backends/demo_backend.dll")]
    words += ["--input", windows(FIXTURES / "demo_sin_seg/c0_in0.npy")]
    for time in ["written", "replaced"]:
        checks.expect(f"an output is {time}", words)
        checks.results.result(
            f"what was {time} is complete and alone",
            output.is_dir()
            and [path.name for path in output.iterdir()] == ["output0.npy"]
            and (output / "output0.npy").stat().st_size > 128,
            list(output.glob("*")),
        )


def compiler(checks):
    """tenon-compile: what it writes runs with PyTorch's numbers, and a plugin that crashes is named."""
    program = checks.folder / "mlp.pte"
    plugin = windows(checks.build / "examples/backends/graph_backend/graph_backend.dll")
    pt2 = FIXTURES / "pt2"
    words = [checks.program("compile"), windows(pt2 / "mlp/model.pt2"), "--backend", "GraphBackend"]
    checks.expect("tenon-compile compiles an archive of PyTorch",
                  words + ["--plugin", plugin, "-o", windows(program)])
    words = [checks.program("run"), windows(program), "--plugin", plugin]
    words += ["--input", windows(pt2 / "mlp/input_0.npy"), "--rtol", "1e-5", "--atol", "2e-6"]
    checks.expect("what it wrote gives PyTorch's numbers",
                  words + ["--expect", windows(pt2 / "mlp/expected_0.npy")])
    crash = checks.folder / "crash.pte"
    words = [checks.program("compile"), windows(pt2 / "mlp_decomposed/model.pt2")]
    words += ["--backend", "FirstBackend", "--plugin", windows(checks.build / "two_compilers.dll")]
    words += ["--spec", "take=aten.relu.default,aten.addmm.default,aten.permute.default"]
    done = checks.run(*words, "--spec", "write=weights", "-o", windows(crash))
    # Wine starts its debugger then, which writes more and has an exit code of its own.
    checks.results.result(
        "a plugin that writes to weights is named with the weight, and nothing is written",
        not crash.exists()
        and re.search(r"^tenon-compile: backend FirstBackend \(.*two_compilers\.dll\): preprocess: "
                         r"wrote to the data of '[a-z0-9.]+', which it may only read \(TN-AOT-6\): "
                         r"ended by access violation$", done[2], re.M),
        done,
    )


def contents(folder):
    """All files of a folder: their bytes by their names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }


def new_backend(checks):
    """tenon-new: makes what it makes on Linux."""
    templates, made, linux = ROOT / "templates", checks.folder / "new ü", checks.folder / "linux"
    made.mkdir()
    linux.mkdir()
    words = [checks.build / "unelevated.exe", windows(checks.program("new"))]
    for template in sorted(path.parent.name for path in templates.glob("*/README.md")):
        name = f"acme_{template}"
        with checks.results.step(f"tenon-new with template {template}"):
            subprocess.run(
                [LINUX / "examples/programs/tenon-new/tenon-new", name, "--template", template, "--dir", linux],
                env={"PATH": os.environ["PATH"], "TENON_TEMPLATES": str(templates)},
                capture_output=True, check=True)
            done = checks.run(*words, name, "--template", template, "--dir", windows(made),
                              TENON_TEMPLATES=windows(templates))
            checks.results.result(
                f"tenon-new makes the files of template {template} as on Linux, and nothing else",
                done[0] == 0 and contents(made / name) == contents(linux / name)
                and sorted(path.name for path in made.iterdir() if path.name.startswith(".")) == [],
                done)
        if template == "minimal":
            checks.expect("tenon-new changes nothing that exists",
                          words + [name, "--template", template, "--dir", windows(made)],
                          code=2, err="exists already", TENON_TEMPLATES=windows(templates))


def other_side(checks):
    """Linux' tenon-inspect and a DLL."""
    inspect = LINUX / "examples/programs/tenon-inspect/tenon-inspect"
    hello = checks.build / "examples/backends/hello.dll"
    with checks.results.step("tenon-inspect on Linux"):
        done = subprocess.run([inspect, hello], capture_output=True, text=True, check=False)
        checks.results.result(
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
    checks.results.result(
        "a plugin exports one symbol",
        [line.split()[-1] for line in exports.splitlines() if "]" in line] == ["tenon_plugin_v1"],
        exports,
    )


def repeated_loads(checks):
    for plugin in ["hello", "demo_backend"]:
        path = windows(checks.build / f"examples/backends/{plugin}.dll")
        program = checks.build / "load_and_unload.exe"
        done = checks.expect(f"{plugin} is loaded and unloaded 1,000 times", [program, path, 1000])
        checks.results.detail(done[1].strip())


def unit_tests(checks, programs, **variables):
    for program in programs:
        done = checks.expect(
            f"unit tests: {pathlib.Path(program).stem}",
            [checks.build / program, "--use-colour", "no"],
            out="All tests passed",
            **variables,
        )
        counted = re.search(r"All tests passed \((.*)\)", done[1])
        if counted:
            checks.results.detail(counted[1])


def c_interface(checks):
    """libtenon-1.dll: what it exports, a program in C that uses it, and the unit tests of the C interface."""
    library = checks.build / C_INTERFACE[0]
    folder = ROOT / "include/tenon/host/c"
    checks.results.check(
        "libtenon-1.dll exports what its header declares, and nothing else",
        [sys.executable, str(ROOT / "tests/abi/host_c/symbols_test.py"), str(folder / "tenon_host.h"),
         str(folder / "tenon-host.map"), str(library),
         str(ROOT / "include/packages/debian/files/libtenon1.symbols")])
    found = {"WINEPATH": windows(library.parent)}
    words = [checks.build / C_INTERFACE[1], windows(checks.build / "examples/backends/demo_backend.dll")]
    done = checks.run(*words, windows(FIXTURES / "demo_sin_inline/model.pte"), **found)
    checks.results.result(
        "a program in C runs a model by libtenon-1.dll",
        done[0] == 0 and done[1].split() == ["0.0998334", "0.198669", "0.29552", "0.389418"], done)
    missing = windows(checks.folder / "none.pte")
    checks.expect("a program in C prints why libtenon-1.dll failed", [*words, missing], code=1,
                  err=f"sines: AccessFailed: {missing}: No such file or directory", **found)
    unit_tests(checks, [C_INTERFACE[2]], **found)


def without_special_values(subject, folder):
    """A copy of GraphBackend's subject in `folder`, without one case: the sine of the largest float32 is wrong in
    mingw-w64's C library (0.977, expected -0.522)."""
    described = json.loads(subject.read_text(encoding="utf-8"))
    backend = described["backends"]["GraphBackend"]
    of_folder = (subject.parent / backend["cases"][0]).resolve()
    backend["cases"] = [os.path.relpath(case, folder) for case in sorted(of_folder.iterdir()) if case.name != "special_values"]
    out = folder / subject.name
    out.write_text(json.dumps(described), encoding="utf-8")
    return out


def conformance(checks, level):
    kit = checks.build / "tests/conformance/tenon-conformance.exe"
    for name in ["hello", "demo_backend", "graph_backend/graph_backend"]:
        subject = ROOT / f"tests/conformance/subjects/{pathlib.Path(name).name}.json"
        if name.endswith("graph_backend"):
            subject = without_special_values(subject, checks.folder)
        done = checks.expect(
            f"tenon-conformance {name} --level {level}",
            [kit, windows(checks.build / f"examples/backends/{name}.dll"), "--subject", windows(subject)]
            + ["--level", level, "--color", "never"],
        )
        checks.results.detail(judged(done[1]))


def broken_plugins(checks):
    kit = checks.build / "tests/conformance/tenon-conformance.exe"
    zoo = LINUX / "tests/conformance/zoo/zoo.json"
    breaks_of = {name: breaks.split() for name, (breaks, _) in zoo_list.zoo(ROOT / "tests/conformance/zoo", "windows").items()}
    for name in ZOO:
        breaks = breaks_of[name]
        words = [kit, windows(checks.build / f"zoo/{name}.dll"), "--subject", windows(zoo)]
        words += ["--level", breaks[3] if len(breaks) > 1 and breaks[1] == "at" else "3"]
        words += ["--timeout", "20", "--max-hangs", "1", "--color", "never"]
        if name == "good":
            checks.expect("the kit passes the zoo's good plugin", words)
            continue
        done = checks.run(*words, "--rule", breaks[0])
        checks.results.result(
            f"the kit catches {name} by {breaks[0]}", done[0] == 1 and breaks[0] in done[1], done
        )


def run_all(checks, quick, kit_level):
    """All checks: a check that an exception ends has failed, and the others are made."""
    steps = [
        ("Wine", lambda: checks.run("wineboot", "-i")),
        ("recorded numbers", lambda: recorded_numbers(checks, quick)),
        ("unit tests", lambda: unit_tests(checks, QUICK_UNITS if quick else UNITS)),
    ]
    if not quick:
        steps += [
            ("DLLs on Linux", lambda: other_side(checks)),
            ("files and paths", lambda: files_and_paths(checks)),
            ("tenon-compile", lambda: compiler(checks)),
            ("tenon-new", lambda: new_backend(checks)),
            ("repeated loads", lambda: repeated_loads(checks)),
            ("C interface", lambda: c_interface(checks)),
        ]
    if kit_level == 0:
        checks.results.not_run("the conformance kit (--kit-level 0)")
    else:
        steps.append(("conformance kit", lambda: conformance(checks, kit_level)))
        if not quick:
            steps.append(("zoo", lambda: broken_plugins(checks)))
    if not quick:
        checks.results.not_run("special values of GraphBackend, as mingw-w64 computes a sine wrongly")
        checks.results.not_run("Windows itself, and Microsoft's compiler and C++ library: Wine runs what mingw-w64 built")
    for name, step in steps:
        with checks.results.step(name):
            step()


def check_all(target, wine, quick=False):
    """With `quick` plugins, kit and unit tests alone."""
    # Not in /tmp, where everyone may write: no plugin there is trusted.
    with tempfile.TemporaryDirectory(dir=target.build) as name:
        checks = Checks(target, wine, pathlib.Path(name).resolve())
        (checks.folder / "wine").mkdir()
        try:
            run_all(checks, quick, target.kit_level)
        finally:
            with target.step("the end of Wine's server"):
                target.part.call([pathlib.Path(wine).with_name("wineserver"), "-k"], env=checks.environment)
