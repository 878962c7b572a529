# SPDX-License-Identifier: MIT
"""Models of AOTInductor on other x86-64 processors, which qemu emulates: refused by name, or right.

AOTInductor compiles for the exporting machine, so code for AVX2 or AVX-512 ends the process on an
older one unless a plugin refuses it before it is mapped. Here each committed program is run by
tenon-run on processors of levels 2 and 3 and on all that qemu can be, and judged by tenon-doctor; the
unit tests of CUDA and Metal on their stand-ins do the same with theirs ([processor]).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

# The first has SSE4.2 and no AVX, the second AVX2 and no AVX-512.
PROCESSORS = ("Nehalem", "Haswell", "max")


def cases_of(source):
    """(folder, program, inputs, expected, data files) of programs for the CPU."""
    folders = [*sorted((source / "tests/fixtures").glob("cpu_*")),
               *sorted((source / "tests/conformance/cases/cpu_aoti").iterdir())]
    for folder in folders:
        case = json.loads((folder / "case.json").read_text())
        if "runs" in case:
            inputs, expected = case["runs"][0]["inputs"], case["runs"][0]["expected"]
        else:
            inputs, expected = case["inputs"], case["expected"]
        program = folder / case.get("program", "model.pte")
        yield (folder.name, program, [folder / name for name in inputs],
               [folder / name for name in expected], sorted(folder.glob("*.ptd")))


def is_refused_by_name(done):
    return done.returncode == 4 and " CPU feature" in done.stderr and "OperatorMissing" in done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--run", required=True, help="tenon-run")
    parser.add_argument("--doctor", required=True, help="tenon-doctor")
    parser.add_argument("--plugin", required=True, help="CpuAotiBackend")
    parser.add_argument("--test", action="append", default=[], help="program with tests [processor]")
    given = parser.parse_args()
    qemu = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if qemu is None:
        print("left out: qemu-x86_64 is not here (Debian: qemu-user)")
        return 77

    def emulate(processor, *command):
        done = subprocess.run([qemu, "-cpu", processor, *map(os.fspath, command)], check=False,
                              capture_output=True, text=True, errors="replace")
        # It says on each start which features it cannot emulate.
        done.stderr = "".join(line for line in done.stderr.splitlines(True)
                              if "TCG doesn't support" not in line)
        return done

    problems = []
    outcomes = {}

    def complain(what, done):
        problems.append(f"{what}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")

    def run_case(processor, case):
        name, program, inputs, expected, data = case
        arguments = [program, "--plugin", given.plugin]
        for option, files in (("--input", inputs), ("--expect", expected), ("--data", data)):
            for file in files:
                arguments += [option, file]
        done = emulate(processor, given.run, *arguments)
        outcomes[processor, name] = "right" if done.returncode == 0 else "refused"
        if done.returncode != 0 and not is_refused_by_name(done):
            complain(f"tenon-run, {processor}, {name}", done)

    def check_digits(processor, level):
        """The example's model is for AVX2."""
        program = given.source / "examples/applications/digits/model.pte"
        done = emulate(processor, given.doctor, program, "--plugin", given.plugin)
        is_refused = level < 3
        named = f"(the model was compiled for x86-64-v3; this processor has x86-64-v{level})"
        wanted = "blob: incompatible" if is_refused else "blob: optimal"
        if wanted not in done.stdout or (is_refused and not (
                named in done.stdout and "avx2" in done.stdout)):
            complain(f"tenon-doctor, {processor}, digits: expected '{wanted}'", done)

    def run_tests(processor, program):
        done = emulate(processor, program, "[processor]")
        if done.returncode != 0 or "All tests passed" not in done.stdout:
            complain(f"{pathlib.Path(program).name} [processor], {processor}", done)

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = []
        for processor in PROCESSORS:
            jobs += [pool.submit(run_tests, processor, test) for test in given.test]
            jobs += [pool.submit(run_case, processor, case) for case in cases_of(given.source)]
            jobs.append(pool.submit(check_digits, processor, 2 if processor == "Nehalem" else 3))
        for job in jobs:
            job.result()

    for processor in PROCESSORS:
        found = [outcome for (where, _), outcome in outcomes.items() if where == processor]
        print(f"{processor}: {found.count('right')} right, {found.count('refused')} refused by name")
    for processor, wanted in (("Nehalem", "refused"), ("Haswell", "right"), ("max", "right")):
        if outcomes[processor, "digits"] != wanted:
            problems.append(f"{processor}, digits: expected {wanted}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
