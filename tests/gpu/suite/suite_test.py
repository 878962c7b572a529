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
from typing import Any, Callable

sys.dont_write_bytecode = True
GPU = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(GPU))

from suite.weights import describe, generated, restore  # noqa: E402

FIXTURES = GPU.parent / "fixtures"
BUILD, STAND_IN = (Path(argument).resolve() for argument in sys.argv[1:3])

PASSING_KIT = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --json ] && report=$2; shift; done
folder=$(dirname "$report")
cp "$folder/gpu-suite.json" "$folder/seen.json"
echo '{"subjects": [{"tests": [{"id": "s/n", "name": "n", "suite": "s", "case": "", "outcome": "passed"}]}]}' >"$report"
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
        done = self.run_suite("--only", "kernels,programs,memory", "--only", "times,torch")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        report = self.report()
        self.assertEqual([step["name"] for step in report["steps"]],
                         ["kernels", "times/kernels", "programs/cuda_addmul", "memory", "times/cuda_addmul",
                          "torch/cuda_addmul"])
        self.assertEqual(report["remaining"], [])
        self.assertEqual(report["totals"], {"pass": 1, "fail": 0, "skip": 3, "not available": 2})
        self.assertFalse(report["device"]["computes"])
        self.assertEqual(self.step("kernels")["outcome"], "not available")
        self.assertIn("skipped, nothing was run", self.step("kernels")["reason"])
        checks = self.step("programs/cuda_addmul")["checks"]
        self.assertEqual([check["outcome"] for check in checks], ["skip"] * 5)
        self.assertIn("results not compared", checks[0]["detail"])
        self.assertEqual(self.step("memory")["outcome"], "pass")
        for name in ("times/cuda_addmul", "torch/cuda_addmul"):
            times = self.step(name)
            self.assertEqual(times["outcome"], "skip")
            self.assertGreater(times["figures"]["by_events"]["plain_median"], 0)
            self.assertGreater(times["figures"]["by_events"]["captured"], 0)
            self.assertTrue(times["figures"]["by_events"]["copies"])
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

    def generate_weights(self, literal: Callable[[bytes], bytes] = bytes) -> None:
        """Puts a program whose weights the suite makes in the place of the case."""
        shutil.rmtree(self.pack / "cases/cuda_addmul")
        case = shutil.copytree(FIXTURES / "cuda_stateful", self.pack / "cases/layer")
        weights = case / "aoti_cuda_blob.ptd"
        description, rest = describe(weights.read_bytes(), {})
        weights.unlink()
        weights.with_suffix(".json").write_text(json.dumps(description))
        weights.with_suffix(".literal").write_bytes(literal(rest))

    def test_weights_that_the_pack_does_not_have_are_made(self) -> None:
        self.generate_weights()
        self.environment["TMPDIR"] = str(self.pack)
        self.run_suite("--only", "programs,times,memory")
        self.assertEqual(self.step("memory")["outcome"], "pass")
        self.assertEqual({check["outcome"] for check in self.step("programs/layer")["checks"]}, {"skip"})
        figures = self.step("times/layer")["figures"]["by_events"]
        self.assertEqual(figures["bytes_of_weights"], (FIXTURES / "cuda_stateful/aoti_cuda_blob.ptd").stat().st_size)
        # No rate of a driver that reads none.
        self.assertNotIn("weight_bytes_per_second", figures)
        # They are removed again, and nothing was written to the case.
        self.assertEqual([path.name for path in self.pack.glob("tenon-gpu-weights-*")], [])
        self.assertFalse((self.pack / "cases/layer/aoti_cuda_blob.ptd").exists())
        self.assertEqual([name for name in self.run_suite("--list").stdout.split() if name.startswith("sanitizer/layer")], [])

    def test_what_runs_read_of_weights_is_a_rate_where_they_are_computed(self) -> None:
        self.generate_weights()
        line = """layer: times\\t{"copies": false, "plain": 0.5, "captured": 0.25}"""
        self.script(self.pack / "bin/cuda-programs", f"#!/bin/sh\nprintf 'pass\\t{line}\\n'\n")
        self.run_suite("--only", "times")
        figures = self.step("times/layer")["figures"]["by_events"]
        self.assertEqual(figures["weight_bytes_per_second"], 4 * figures["bytes_of_weights"])

    def test_weights_that_are_not_the_exporters_fail(self) -> None:
        self.generate_weights(lambda rest: bytes(len(rest)))
        self.run_suite("--only", "programs")
        self.assertEqual(self.step("programs/layer")["outcome"], "fail")
        self.assertIn("bytes with SHA-256 ", self.step("programs/layer")["reason"])

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

    def test_times_of_kernels_are_figures(self) -> None:
        self.script(self.pack / "bin/cuda-gpu-test", """#!/bin/sh
echo '{"device": "d", "tiles_at_once": 528}'
echo '{"what": "copy", "way": "kernel", "microseconds": 2.50}'
""")
        self.run_suite("--only", "times/kernels")
        self.assertEqual(self.step("times/kernels")["outcome"], "skip")
        self.assertEqual(self.step("times/kernels")["figures"],
                         {"kernels": [{"what": "copy", "way": "kernel", "microseconds": 2.5}]})
        self.script(self.pack / "bin/cuda-gpu-test", "#!/bin/sh\necho '{}'\n")
        self.assertEqual(self.run_suite("--only", "times/kernels").returncode, 1)
        self.assertEqual(self.step("times/kernels")["reason"], "nothing was timed")

    def test_a_rival_that_crashes_is_not_available_and_ours_keeps_its_times(self) -> None:
        self.script(self.pack / "crashing-python", "#!/bin/sh\nkill -SEGV $$\n")
        self.run_suite("--only", "torch", "--python", str(self.pack / "crashing-python"))
        step = self.step("torch/cuda_addmul")
        self.assertEqual(step["outcome"], "not available")
        self.assertIn("our side alone: torch's ended by SIGSEGV", step["reason"])
        self.assertGreater(step["figures"]["by_events"]["plain"], 0)

    def test_what_waits_for_a_rival_comes_last(self) -> None:
        shutil.copytree(FIXTURES / "cuda_mlp", self.pack / "cases/cuda_mlp")
        names = self.run_suite("--list").stdout.split()
        self.assertEqual(names[-2:], ["torch/cuda_addmul", "torch/cuda_mlp"])
        self.assertLess(names.index("times/cuda_mlp"), names.index("sanitizer/kernels-memcheck"))

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
                 "it found something: no end within "),
                ("========= COMPUTE-SANITIZER", "sleep 600", "skip", "cut: no end within ")):
            ends = f"exit {code}" if isinstance(code, int) else code
            self.script(tools / "compute-sanitizer", f"#!/bin/sh\necho '{text}'\n{ends}\n")
            self.run_suite("--only", "sanitizer/cuda_addmul-memcheck", "--step-seconds", "3")
            step = self.step("sanitizer/cuda_addmul-memcheck")
            self.assertEqual(step["outcome"], outcome, text)
            self.assertIn(reason, step["reason"])

    def test_a_failed_test_of_the_kit_fails_unless_the_driver_cannot_know(self) -> None:
        for suite, test, outcome in (("numerics", "any", "skip"), ("binary", "any", "fail"), ("device", "any", "fail"),
                                     ("device", "gives-memory-back", "skip")):
            self.script(self.pack / "bin/tenon-conformance", PASSING_KIT.replace('"passed"', '"failed"').replace(
                '"s"', f'"{suite}"').replace("s/n", f"{suite}/{test}") + "exit 1\n")
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
        self.assertIn("found 'speed'; there are kernels times/kernels programs/cuda_addmul memory kit", done.stderr)
        self.assertFalse((self.out / "gpu-suite.json").exists())
        self.assertEqual(self.run_suite("--only", "times/*", "--list").stdout, "times/kernels\ntimes/cuda_addmul\n")

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


class WeightsTest(unittest.TestCase):
    """Files of weights as descriptions."""

    def test_a_file_is_made_again_from_its_description(self) -> None:
        data = b"head" + generated("a", 5000) + bytes(9000) + b"between" + generated("b", 70) + b"end" + bytes(10)
        description, literal = describe(data, {"b": 70, "a": 5000})
        self.assertEqual(literal, b"headbetweenend" + bytes(10))
        with tempfile.TemporaryDirectory(prefix="tenon-weights-") as folder:
            file = Path(folder) / "weights.json"
            file.write_text(json.dumps(description))
            file.with_suffix(".literal").write_bytes(literal)
            restore(file, file.with_suffix(".ptd"))
            self.assertEqual(file.with_suffix(".ptd").read_bytes(), data)

    def test_a_weight_that_the_file_does_not_have_is_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "no weight of the file has the bytes of c"):
            describe(generated("a", 100), {"c": 20})


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
        archives = sorted((GPU / "programs").glob("*.zip"))
        self.assertTrue(archives)
        for archive in archives:
            self.assertTrue((self.out / "cases" / archive.stem / "case.json").is_file(), archive.name)
        self.assertNotIn("layer", (self.out / "subject.json").read_text())
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
