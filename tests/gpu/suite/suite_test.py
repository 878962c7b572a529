# SPDX-License-Identifier: MIT
"""The suite for machines with a GPU, on the stand-in for the driver, and the program that packs it.

Arguments: the build folder, the folder of the stand-in, and arguments of unittest.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
GPU = Path(__file__).resolve().parents[1]
FIXTURES = GPU.parent / "fixtures"
BUILD, STAND_IN = (Path(argument).resolve() for argument in sys.argv[1:3])

PASSING_KIT = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --json ] && report=$2; shift; done
folder=$(dirname "$report")
cp "$folder/gpu-suite.json" "$folder/seen.json"
echo '{"subjects": [{"tests": [{"name": "n", "suite": "s", "case": "", "outcome": "passed"}]}]}' >"$report"
"""


def load_make_pack() -> Any:
    """The program as a module: its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("make_pack", str(GPU / "make_pack"))
    spec = importlib.util.spec_from_loader("make_pack", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def is_running(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False


class SuiteTest(unittest.TestCase):
    """A small pack, with programs of the build folder or scripts in their places."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tenon-gpu-suite-")
        self.addCleanup(folder.cleanup)
        self.pack, self.out = Path(folder.name) / "pack", Path(folder.name) / "out"
        (self.pack / "bin").mkdir(parents=True)
        for name in load_make_pack().BINARIES:
            (self.pack / "bin" / Path(name).name).symlink_to(BUILD / name)
        shutil.copytree(FIXTURES / "cuda_addmul", self.pack / "cases/cuda_addmul")
        for name in ("bench_libtorch.py", "eager_models.py"):
            shutil.copy(GPU / name, self.pack)
        (self.pack / "manifest.json").write_text("{}")
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(STAND_IN)}

    def script(self, path: Path, text: str) -> None:
        """Puts a program of the test in a place."""
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_suite(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(GPU / "run_suite"), "--prebuilt", str(self.pack), "--out", str(self.out)]
        return subprocess.run([*command, *arguments], env=self.environment, capture_output=True, text=True,
                              check=False)

    def report(self) -> dict[str, Any]:
        return json.loads((self.out / "gpu-suite.json").read_text())

    def step(self, name: str) -> dict[str, Any]:
        """What the report has of a step."""
        return next(step for step in self.report()["steps"] if step["name"] == name)

    def test_each_step_that_can_run_is_recorded(self) -> None:
        done = self.run_suite("--only", "kernels,programs,memory", "--only", "times")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        report = self.report()
        self.assertEqual([step["name"] for step in report["steps"]],
                         ["kernels", "programs/cuda_addmul", "memory", "times/cuda_addmul"])
        self.assertEqual(report["remaining"], [])
        self.assertEqual(report["totals"], {"pass": 1, "fail": 0, "skip": 2, "not available": 1})
        self.assertFalse(report["device"]["computes"])
        self.assertEqual(self.step("kernels")["outcome"], "not available")
        self.assertIn("skipped, nothing was run", self.step("kernels")["reason"])
        checks = self.step("programs/cuda_addmul")["checks"]
        self.assertEqual([check["outcome"] for check in checks], ["skip"] * 5)
        self.assertIn("results not compared", checks[0]["detail"])
        self.assertEqual(self.step("memory")["outcome"], "pass")
        times = self.step("times/cuda_addmul")
        self.assertEqual(times["outcome"], "skip")
        self.assertGreater(times["figures"]["tenon_graph"], 0)
        self.assertIn("== memory: pass", (self.out / "gpu-suite.log").read_text())

    def test_the_report_is_written_after_each_step(self) -> None:
        self.script(self.pack / "bin/tenon-conformance", PASSING_KIT)
        done = self.run_suite("--only", "memory,kit")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = json.loads((self.out / "seen.json").read_text())
        self.assertEqual([step["name"] for step in seen["steps"]], ["memory"])
        self.assertEqual(seen["remaining"], ["kit"])
        self.assertEqual(self.step("kit")["figures"]["tests"], {"passed": 1})
        self.assertEqual([path.name for path in self.out.iterdir() if path.name.startswith(".")], [])

    def test_a_step_that_does_not_end_fails_and_leaves_no_process(self) -> None:
        self.script(self.pack / "bin/tenon-conformance",
                    "#!/bin/sh\npython3 -c 'import os, time; os.setpgrp(); time.sleep(600)' &\n"
                    f"echo $! $$ >{self.pack}/processes\nsleep 600\n")
        done = self.run_suite("--only", "kit,memory", "--step-seconds", "3")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(self.step("kit")["outcome"], "fail")
        self.assertIn("no end within 3 s", self.step("kit")["reason"])
        self.assertEqual(self.step("memory")["outcome"], "pass")
        for process in map(int, (self.pack / "processes").read_text().split()):
            # The system removes a killed process a moment later.
            for _ in range(1000):
                if not is_running(process):
                    break
                time.sleep(0.01)
            self.assertFalse(is_running(process))

    def test_a_step_that_cannot_run_is_not_a_pass(self) -> None:
        self.script(self.pack / "bin/cuda-gpu-test", "#!/bin/sh\necho no such device\nexit 77\n")
        done = self.run_suite("--only", "kernels")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(self.step("kernels")["outcome"], "not available")
        self.assertIn("no such device", self.step("kernels")["reason"])
        self.script(self.pack / "bin/cuda-gpu-test",
                    "#!/bin/sh\nprintf 'pass\\ta\\t\\nnot available\\tproducts by cuBLASLt\\tno such file\\n'\n")
        self.assertEqual(self.run_suite("--only", "kernels").returncode, 2)
        self.assertEqual(self.step("kernels")["outcome"], "not available")
        self.assertIn("cuBLASLt: no such file", self.step("kernels")["reason"])
        (self.pack / "bin/cuda-programs").unlink()
        self.assertEqual(self.run_suite("--only", "programs").returncode, 1)
        self.assertIn("cannot start", self.step("programs/cuda_addmul")["reason"])

    def test_a_step_that_crashes_or_breaks_off_fails(self) -> None:
        self.script(self.pack / "bin/cuda-programs", "#!/bin/sh\nprintf 'pass\\ta: b\\tc\\n'\nkill -SEGV $$\n")
        self.assertEqual(self.run_suite("--only", "programs").returncode, 1)
        step = self.step("programs/cuda_addmul")
        self.assertIn("ended by SIGSEGV", step["reason"])
        self.assertEqual(step["checks"], [{"outcome": "pass", "name": "a: b", "detail": "c"}])
        self.script(self.pack / "bin/cuda-programs", "#!/bin/sh\nexit 0\n")
        self.assertEqual(self.run_suite("--only", "programs").returncode, 1)
        self.assertEqual(self.step("programs/cuda_addmul")["reason"], "no check was made")

    def test_output_that_cannot_be_read_fails_its_step_alone(self) -> None:
        self.script(self.pack / "bin/tenon-conformance", PASSING_KIT.replace("subjects", "other"))
        self.assertEqual(self.run_suite("--only", "kit,memory,kit").returncode, 1)
        self.assertIn("its output is not what was expected: KeyError", self.step("kit")["reason"])
        self.assertEqual(self.step("memory")["outcome"], "pass")

    def test_a_sanitizer_that_refuses_is_not_available_and_one_that_finds_something_fails(self) -> None:
        tools = self.pack / "tools"
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"
        for text, code, outcome, reason in (
                ("========= Error: Device not supported", 1, "not available", "Device not supported"),
                ("========= ERROR SUMMARY: 3 errors", 86, "fail", "ERROR SUMMARY: 3 errors"),
                ("========= ERROR SUMMARY: 0 errors", 1, "fail", "exit code 1"),
                ("========= ERROR SUMMARY: 0 errors", 77, "skip", "nothing was computed"),
                ("========= ERROR SUMMARY: 0 errors", 0, "pass", ""),
                ("========= Invalid __global__ read of size 4 bytes\n=========     by thread (0,0,0)", "sleep 600", "fail",
                 "it found something: no end within 3 s"),
                ("========= COMPUTE-SANITIZER", "sleep 600", "skip", "cut: no end within 3 s")):
            ends = f"exit {code}" if isinstance(code, int) else code
            self.script(tools / "compute-sanitizer", f"#!/bin/sh\necho '{text}'\n{ends}\n")
            self.run_suite("--only", "sanitizer/cuda_addmul-memcheck", "--step-seconds", "3")
            step = self.step("sanitizer/cuda_addmul-memcheck")
            self.assertEqual(step["outcome"], outcome, text)
            self.assertIn(reason, step["reason"])

    def test_a_failed_test_of_the_kit_fails_unless_the_driver_cannot_know(self) -> None:
        for suite, outcome in (("numerics", "skip"), ("binary", "fail")):
            self.script(self.pack / "bin/tenon-conformance",
                        PASSING_KIT.replace('"passed"', '"failed"').replace('"s"', f'"{suite}"') + "exit 1\n")
            self.run_suite("--only", "kit")
            self.assertEqual(self.step("kit")["outcome"], outcome)

    def test_steps_that_would_begin_too_late_are_skipped(self) -> None:
        done = self.run_suite("--only", "memory", "--minutes", "0.001")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual((self.step("memory")["outcome"], self.step("memory")["reason"]),
                         ("skip", "no time was left"))

    def test_a_step_that_the_end_of_the_run_stops_is_no_failure(self) -> None:
        self.script(self.pack / "bin/tenon-conformance", "#!/bin/sh\nsleep 600\n")
        done = self.run_suite("--only", "kit", "--minutes", "0.1")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(self.step("kit")["outcome"], "skip")
        self.assertIn("no time was left: stopped after ", self.step("kit")["reason"])

    def test_an_unknown_step_is_refused(self) -> None:
        done = self.run_suite("--only", "memory,speed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("found 'speed'; there are kernels programs/cuda_addmul memory kit", done.stderr)
        self.assertFalse((self.out / "gpu-suite.json").exists())
        self.assertEqual(self.run_suite("--only", "times/*", "--list").stdout, "times/cuda_addmul\n")

    def test_a_folder_that_is_no_pack_and_a_machine_without_a_driver_are_refused(self) -> None:
        broken = self.pack / "driver"
        broken.mkdir()
        (broken / "libcuda.so.1").write_text("")
        self.environment["LD_LIBRARY_PATH"] = str(broken)
        done = self.run_suite("--only", "memory")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no CUDA driver", done.stderr)
        self.assertIn("no CUDA driver", self.report()["device"]["reason"])
        self.assertEqual(self.report()["remaining"], ["memory"])
        (self.pack / "manifest.json").unlink()
        done = self.run_suite()
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected a folder of `./dev gpu-pack`", done.stderr)


class MakePackTest(unittest.TestCase):
    """What must not be packed. The build folder of the tests links programs with shared libraries."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tenon-gpu-pack-")
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "pack"
        self.make_pack = load_make_pack()

    def make(self) -> tuple[int, str]:
        """Runs the program; its exit code and what it says on standard error."""
        self.make_pack.sys.argv = ["make_pack", str(BUILD), str(self.out)]
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            code = self.make_pack.main()
        return code, errors.getvalue()

    def test_files_that_need_too_much_of_the_system_are_refused(self) -> None:
        self.make_pack.NEWEST_GLIBC = (2, 17)
        self.make_pack.LARGEST_BYTES = 1000
        code, errors = self.make()
        self.assertEqual(code, 1)
        self.assertIn("cuda_aoti.so: expected GLIBC 2.17 or earlier, found 2.", errors)
        self.assertIn("tenon-run: expected no shared library but the C library's, found libstdc++.so.6", errors)
        self.assertNotIn("cuda_aoti.so: expected no shared library", errors)
        self.assertIn("expected 1,000 bytes at most, found ", errors)
        manifest = json.loads((self.out / "manifest.json").read_text())
        self.assertIn("libcuda.so.1", manifest["models"]["libraries"])
        self.assertTrue({"binaries", "ptx"} <= set(manifest["driver"]) or "why" in manifest["driver"])

    def test_a_plugin_with_a_cxx_library_of_its_own_is_refused(self) -> None:
        self.make_pack.libraries_of = lambda path: ["libc.so.6"]
        self.assertIn("cuda_aoti.so: expected the C++ library of the models", self.make()[1])

    def test_every_program_is_packed_with_payloads_of_each_generation(self) -> None:
        self.make()
        cases = {path.name for path in (self.out / "cases").iterdir()}
        for folder in FIXTURES.glob("cuda_*"):
            self.assertIn(folder.name, cases)
            for generation in (1, 2):
                self.assertEqual(f"{folder.name}_generation_{generation}" in cases,
                                 folder.name not in ("cuda_mlp", "cuda_variants"))
        decode = json.loads((self.out / "cases/cuda_two_methods_decode_generation_2/case.json").read_text())
        self.assertEqual(decode["method"], "decode")
        steps = subprocess.run([str(self.out / "run_suite"), "--out", str(self.out), "--list"],
                               capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("programs/cuda_stateful", steps)
        # Made again in its place.
        (self.out / "left over").write_text("")
        self.make()
        self.assertFalse((self.out / "left over").exists())

    def test_a_folder_that_is_no_pack_is_not_replaced(self) -> None:
        self.out.mkdir()
        (self.out / "mine").write_text("")
        code, errors = self.make()
        self.assertEqual(code, 1)
        self.assertIn("is not a pack", errors)
        self.assertTrue((self.out / "mine").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
