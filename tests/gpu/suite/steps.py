# SPDX-License-Identifier: MIT
"""The steps of the suite: what is run, and what its results mean."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from suite.runner import FAIL, NOT_AVAILABLE, PASS, SKIP, Finished, Result, Step
from suite.weights import restore

NOT_RUN = 77  # Exit code of programs that had nothing to run on.
SANITIZER_FOUND = 86  # Exit code of compute-sanitizer when it found something, as asked for.
SANITIZER_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# How its tools begin what they find, which they print at once.
SANITIZER_LINE = re.compile(r"^========= (Invalid|Uninitialized|Barrier error|Program hit|(Error|Warning): Race|Leaked)", re.M)
WEIGHTS = "aoti_cuda_blob.ptd"
REPEAT = 2000
KIT_LEVEL = 6
ISOLATED = ("cuda_mlp", "layer_decode")
KIT_TEST_OF_MEMORY = "device/gives-memory-back"
KIT_JOBS = 4  # Each has a context on the device.


class Pack:
    """A folder that `make_pack` made: programs, plugin, cases and manifest.json. Weights that it does not have are made in
    `scratch`."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder, self.scratch = folder, scratch
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.plugin = str(folder / "bin/cuda_aoti.so")

    def program(self, name: str) -> str:
        """The path of a program."""
        return str(self.folder / "bin" / name)

    def cases(self) -> dict[str, list[Path]]:
        """Folders by the name of the program: the case, and those with older payloads."""
        out: dict[str, list[Path]] = {}
        for folder in sorted((self.folder / "cases").iterdir()):
            out.setdefault(folder.name.split("_generation_")[0], []).append(folder)
        return out

    @staticmethod
    def has_its_weights(folder: Path) -> bool:
        """Whether none of a case's weights are generated."""
        return not (folder / WEIGHTS).with_suffix(".json").exists()

    def ready(self, folder: Path) -> Path:
        """The folder of a case, or one that has its generated weights as well."""
        if self.has_its_weights(folder):
            return folder
        description = (folder / WEIGHTS).with_suffix(".json")
        made = self.scratch / folder.name
        if not (made / WEIGHTS).exists():
            made.mkdir(exist_ok=True)
            for path in folder.iterdir():
                (made / path.name).unlink(missing_ok=True)
                (made / path.name).symlink_to(path)
            partial = made / "weights"
            restore(description, partial)
            partial.rename(made / WEIGHTS)
        return made


def checked_result(done: Finished) -> Result:
    """The outcome of a program, from a line for each check: outcome, name and details."""
    checks = []
    for line in done.text.splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and parts[0] in (PASS, FAIL, SKIP, NOT_AVAILABLE):
            checks.append(dict(zip(("outcome", "name", "detail"), parts)))
    outcomes = [check["outcome"] for check in checks]
    for word in (FAIL, SKIP, NOT_AVAILABLE):
        if word in outcomes:
            first = checks[outcomes.index(word)]
            more = f", and {outcomes.count(word) - 1} more" if outcomes.count(word) > 1 else ""
            reason = f"{first['name']}: {first['detail']}{more}"
            # It may also have ended early.
            if word != FAIL and (done.timed_out or done.code not in (0, NOT_RUN)):
                break
            return Result(word, reason, checks)
    if done.timed_out or done.code != 0 or not checks:
        return Result(FAIL, done.failure() if done.timed_out or done.code else "no check was made", checks)
    return Result(PASS, "", checks)


def find_cublaslt() -> list[str]:
    """Options that name cuBLASLt, where NVIDIA's wheel is installed and the system's loader does not find it."""
    for site in map(Path, sys.path):
        for found in sorted(site.glob("nvidia/*/lib/libcublasLt.so.*"), reverse=True):
            return ["--cublaslt", str(found)]
    return []


def kernels(pack: Pack) -> Step:
    """The project's own kernels, against references."""
    def body(step: Step) -> Result:
        done = step.command([pack.program("cuda-gpu-test"), *find_cublaslt()])
        if done.code == NOT_RUN and not done.timed_out:
            return Result(NOT_AVAILABLE, done.last_line())
        return checked_result(done)
    return Step("kernels", 120, body)


def kernel_times(pack: Pack, computes: bool) -> Step:
    """What the project's own kernels cost, by the device's events."""
    def body(step: Step) -> Result:
        done = step.command([pack.program("cuda-gpu-test"), "--times", *find_cublaslt()])
        if done.code == NOT_RUN and not done.timed_out:
            return Result(NOT_AVAILABLE, done.last_line())
        rows = [json.loads(line) for line in done.text.splitlines() if line.startswith("{") and line.endswith("}")]
        figures = {"kernels": [row for row in rows if "microseconds" in row]}
        if done.timed_out or done.code != 0 or not figures["kernels"]:
            return Result(FAIL, done.failure() if done.timed_out or done.code else "nothing was timed", figures=figures)
        return Result(PASS, figures=figures) if computes else Result(SKIP, "this driver computes nothing", figures=figures)
    return Step("times/kernels", 120, body)


def programs(pack: Pack, name: str, folders: list[Path]) -> Step:
    """One program of each generation, in every way in which an application may run it."""
    def body(step: Step) -> Result:
        command = [pack.program("cuda-programs"), pack.plugin, *(str(pack.ready(folder)) for folder in folders)]
        return checked_result(step.command(command))
    return Step(f"programs/{name}", 90, body)


def memory(pack: Pack) -> Step:
    """What programs need on the device, and leave there."""
    def body(step: Step) -> Result:
        folders = [str(pack.ready(folders[0])) for folders in pack.cases().values()]
        command = [pack.program("cuda-programs"), "--memory", pack.plugin, *folders]
        return checked_result(step.command(command))
    return Step("memory", 240, body)


def kit(pack: Pack, out: Path, computes: bool) -> Step:
    """The conformance kit."""
    def body(step: Step) -> Result:
        report = out / "conformance.json"
        report.unlink(missing_ok=True)
        done = step.command([
            pack.program("tenon-conformance"), pack.plugin, "--subject", str(pack.folder / "subject.json"),
            "--level", str(KIT_LEVEL), "--jobs", str(KIT_JOBS), "--color", "never", "--json", str(report)])
        if done.timed_out or not report.exists():
            return Result(FAIL, done.failure())
        tests = [test for subject in json.loads(report.read_text())["subjects"]
                 for test in subject["tests"]]
        failed = [test for test in tests if test["outcome"] in ("failed", "unexpected_pass", "kit_error")]
        names = [f"{test['suite']}: {test['name']} {test['case']}".strip() for test in failed]
        outcomes = [test["outcome"] for test in tests]
        figures = {"level": KIT_LEVEL, "tests": {word: outcomes.count(word) for word in sorted(set(outcomes))},
                   "failed": names}
        if not tests or done.code not in (0, 1):
            return Result(FAIL, done.failure(), figures=figures)
        # Results are nothing there, and the stand-in's record of all calls grows.
        if failed and not computes and all(test["suite"] in ("numerics", "leaks") or test["id"] == KIT_TEST_OF_MEMORY
                                           for test in failed):
            return Result(SKIP, f"{len(failed)} tests of results and of memory, which this driver has not",
                          figures=figures)
        if done.code != 0:
            return Result(FAIL, f"{len(failed)} of {len(tests)} tests failed: {'; '.join(names[:5])}",
                          figures=figures)
        return Result(PASS, figures=figures)
    return Step("kit", 240, body)


def isolated(pack: Pack, name: str, folder: Path, computes: bool) -> Step:
    """A program in a process of its own with the privileges of a driver, and what a run costs there and here."""
    def body(step: Step) -> Result:
        case = pack.ready(folder)
        run = json.loads((case / "case.json").read_text())["runs"][0]
        command = [pack.program("tenon-run"), str(case / "model.pte"), "--plugin", pack.plugin, "--json", "--repeat", "200"]
        for data in sorted(case.glob("*.ptd")):
            command += ["--data", str(data)]
        for option, names in (("--input", run["inputs"]), ("--expect", run["expected"] if computes else [])):
            for each in names:
                command += [option, str(case / each)]
        figures = {}
        # A layer in bfloat16 is compared by other limits in `programs`.
        limits = ["--rtol", "0.05", "--atol", "0.1"] if name.startswith("layer") and computes else []
        # The stand-in is found by a variable, which `driver` does not pass on.
        for way, options in (("here", []), ("isolated", ["--isolate", "driver" if computes else "open"])):
            done = step.command([*command, *limits, *options])
            if done.code != 0 and "no Landlock" in done.text:
                return Result(NOT_AVAILABLE, done.last_line(), figures=figures)
            if done.timed_out or done.code != 0:
                return Result(FAIL, f"{way}: {done.failure()}", figures=figures)
            report, _ = json.JSONDecoder().raw_decode(done.text[done.text.rfind('{"status"'):])
            figures[way] = {key: report["timings"]["execute"][f"{key}_ns"] / 1e9 for key in ("min", "median")}
        return Result(PASS, figures=figures) if computes else Result(SKIP, "this driver computes nothing", figures=figures)
    return Step(f"isolated/{name}", 60, body)


def sanitizer(pack: Pack, name: str, tool: str, command: list[str]) -> Step:
    """A program under one of compute-sanitizer's tools."""
    def body(step: Step) -> Result:
        found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not os.access(found, os.X_OK):
            return Result(NOT_AVAILABLE, "compute-sanitizer is not installed")
        done = step.command([found, "--tool", tool, "--error-exitcode", str(SANITIZER_FOUND), *command])
        if done.timed_out:
            if SANITIZER_LINE.search(done.text):
                return Result(FAIL, f"it found something: {done.failure()}")
            return Result(SKIP, f"cut: {done.failure()}, nothing found until then")
        # It says so at its end whatever happened in the program, unless it cannot work here at all.
        summaries = [line for line in done.text.splitlines() if " SUMMARY: " in line]
        if not summaries or "Device not supported" in done.text:
            return Result(NOT_AVAILABLE, f"compute-sanitizer does not work here: {done.last_line()}")
        if done.code == SANITIZER_FOUND:
            return Result(FAIL, summaries[-1].strip(" ="))
        if done.code == NOT_RUN:
            return Result(SKIP, "clean, and nothing was computed")
        return Result(PASS) if done.code == 0 else Result(FAIL, done.failure())
    return Step(f"sanitizer/{name}-{tool}", 180, body)


def by_events(pack: Pack, step: Step, folder: Path) -> Result:
    """Our times by the device's clock, and the bytes of weights that a second reads."""
    result = checked_result(step.command([pack.program("cuda-programs"), "--times", pack.plugin, str(folder)]))
    for check in result.checks:
        if check["outcome"] == FAIL:
            continue
        # Where nothing is computed, a message follows.
        figures, _ = json.JSONDecoder().raw_decode(check["detail"])
        weights = sum(path.stat().st_size for path in folder.glob("*.ptd"))
        result.figures = {"by_events": figures | {"bytes_of_weights": weights}}
        if weights and check["outcome"] == PASS:
            rate = weights / figures.get("captured", figures["plain"])
            result.figures["by_events"]["weight_bytes_per_second"] = round(rate)
    return result


def times(pack: Pack, name: str, folder: Path) -> Step:
    """What a run costs, by events on the device's stream."""
    return Step(f"times/{name}", 60, lambda step: by_events(pack, step, pack.ready(folder)))


def rivals(pack: Pack, name: str, folder: Path, python: str, computes: bool) -> Step:
    """Times the plugin beside torch's own loader of one model, which torch compiles for a minute and more."""
    def body(step: Step) -> Result:
        case = pack.ready(folder)
        # Again, in the same minutes as the rival's.
        result = by_events(pack, step, case)
        if result.outcome == FAIL:
            return result
        done = step.command([python, str(pack.folder / "bench_libtorch.py"), "--tenon-run",
                             pack.program("tenon-run"), "--plugin", pack.plugin,
                             "--repeat", str(REPEAT if computes else 20), str(case)])
        if done.code < 0 and not done.timed_out:
            # Our side is a process of its own, whose failure is an exit code.
            return Result(NOT_AVAILABLE, f"our side alone: torch's {done.failure()}", figures=result.figures)
        if done.timed_out or done.code != 0:
            return Result(FAIL, done.failure(), figures=result.figures)
        # The object begins a line; warnings of torch are around it.
        figures, _ = json.JSONDecoder().raw_decode(done.text[done.text.rfind("\n{\n") + 1 :])
        figures |= result.figures
        ours = figures.get("by_events", {})
        for side, rival in (("plain", "torch_by_events"), ("captured", "torch_captured")):
            # The rival copies nothing.
            if side in ours and rival in figures and not (side == "plain" and ours["copies"]):
                figures[f"{side}_ratio_to_{rival}"] = ours[side] / figures[rival]
        if not computes:
            return Result(SKIP, "this driver computes nothing", figures=figures)
        if "torch_compiled" not in figures:
            return Result(NOT_AVAILABLE, f"our side alone: {figures['why_not']['torch_compiled']}",
                          figures=figures)
        return Result(PASS, figures=figures)
    return Step(f"torch/{name}", 180, body)


def all_steps(pack: Pack, out: Path, python: str, computes: bool) -> list[Step]:
    """Every step, in the order in which they are run: what is most worth knowing first."""
    cases = pack.cases()
    steps = [kernels(pack), kernel_times(pack, computes)]
    steps += [programs(pack, name, folders) for name, folders in cases.items()]
    steps += [memory(pack), kit(pack, out, computes)]
    steps += [isolated(pack, name, cases[name][0], computes) for name in ISOLATED if name in cases]
    steps += [times(pack, name, folders[0]) for name, folders in cases.items()]
    steps += [sanitizer(pack, "kernels", tool, [pack.program("cuda-gpu-test")])
              for tool in SANITIZER_TOOLS]
    # A program of real width would take hours.
    steps += [sanitizer(pack, name, "memcheck",
                        [pack.program("cuda-programs"), pack.plugin, str(folders[0])])
              for name, folders in cases.items() if pack.has_its_weights(folders[0])]
    # Last, so that a limit leaves these out: each takes longer than all of ours together.
    steps += [rivals(pack, name, folders[0], python, computes) for name, folders in cases.items()]
    return steps
