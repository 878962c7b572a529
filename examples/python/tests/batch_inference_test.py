# SPDX-License-Identifier: MIT
"""The example of batch inference, on a local cluster of two workers: batch_inference_test.py BUILD SOURCE.

Needs ray[data]: in the Python that runs it, or in build/ray/venv, where the slice `ray` of `./dev rest` installs it.
TENON_RAY_PROGRAM and TENON_RAY_ROWS are another program of CpuAotiBackend to measure, and on how many rows."""

import importlib.util
import math
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

BUILD, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
VENV = SOURCE / "build/ray/venv/bin/python"
SKIPPED = 77

os.environ.pop("PYTHONMALLOC", None)  # Ray's own processes are not under test.
if importlib.util.find_spec("ray") is None:
    if not VENV.exists() or pathlib.Path(sys.executable) == VENV:
        print("skipped: ray cannot be imported, and is not in build/ray/venv")
        sys.exit(SKIPPED)
    os.execv(VENV, [str(VENV), *sys.argv])

# Workers import the example too.
os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE / "examples/python/batch_inference"),
                                            os.environ.get("PYTHONPATH", "")])
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
sys.path.insert(0, str(SOURCE / "examples/python/batch_inference"))

import numpy as np  # noqa: E402
import ray  # noqa: E402

import batch_inference  # noqa: E402
import tenon  # noqa: E402

CONV = SOURCE / "tests/fixtures/cpu_conv/model.pte"
MLP = SOURCE / "tests/fixtures/cpu_mlp/model.pte"
PLUGINS = [BUILD / "reference_backends/cpu_aoti/cpu_aoti.so"]
MEASURED = pathlib.Path(os.environ.get("TENON_RAY_PROGRAM", CONV))
ROWS_TO_MEASURE = int(os.environ.get("TENON_RAY_ROWS", "20000"))


class Dying(batch_inference.Model):
    """A worker that is killed, once, when it has a batch with a certain row and has not returned its outputs."""

    def __init__(self, *args, row, marker, **options):
        super().__init__(*args, **options)
        self._row, self._marker = row, marker

    def __call__(self, batch):
        out = super().__call__(batch)
        if self._row in batch["id"] and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return out


class BatchInference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ray.init(num_cpus=4, include_dashboard=False, object_store_memory=2 << 30, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def inputs(self, name, *shape):
        values = np.random.default_rng(len(name)).standard_normal(shape, np.float32)
        (self.folder / "in").mkdir(exist_ok=True)
        np.save(self.folder / "in" / name, values)
        return values

    def infer(self, program, name="out", workers=2, **options):
        files = batch_inference.files_of(self.folder / "in")
        return batch_inference.infer(program, PLUGINS, files, self.folder / name, workers, **options)

    def outputs(self, name="out"):
        """All outputs by their row; fails when a row is missing or there twice."""
        rows = sorted(ray.data.read_parquet(str(self.folder / name)).take_all(), key=lambda row: row["id"])
        self.assertEqual([row["id"] for row in rows], list(range(len(rows))))
        return np.stack([row["output"] for row in rows])

    def expect_mlp(self, x, outputs):
        method = tenon.load(MLP, plugins=PLUGINS, threads=1)["forward"]
        padded = np.concatenate([x, np.zeros((-len(x) % 4, 16), np.float32)])
        expected = np.concatenate([method(run).numpy() for run in np.split(padded, len(padded) // 4)])
        np.testing.assert_array_equal(outputs, expected[: len(x)])

    def test_rows_of_several_files_are_there_once_and_in_their_order(self):
        x = np.concatenate([self.inputs("a", 100, 16), self.inputs("b", 1, 16), self.inputs("c", 302, 16)])
        self.assertEqual(self.infer(MLP, batch=37), 403)
        self.expect_mlp(x, self.outputs())

    def test_a_worker_that_is_killed_loses_nothing(self):
        x = self.inputs("a", 2000, 16)
        marker = self.folder / "killed"
        self.infer(MLP, batch=50, model=Dying, row=1000, marker=marker)
        self.assertTrue(marker.exists())
        self.expect_mlp(x, self.outputs())

    def test_inputs_that_do_not_fit_are_refused_before_a_worker_starts(self):
        self.inputs("a", 3, 17)
        with self.assertRaisesRegex(ValueError, r"takes rows of \(16,\), float32; the files have \(17,\)"):
            self.infer(MLP)
        self.inputs("b", 3, 16)
        self.inputs("empty", 0, 16)
        with self.assertRaisesRegex(ValueError, "one shape and dtype"):
            self.infer(MLP)
        with self.assertRaisesRegex(ValueError, "no rows"):
            batch_inference.Rows([self.folder / "in" / "empty.npy"])
        with self.assertRaisesRegex(ValueError, "no .npy file"):
            batch_inference.files_of(SOURCE / "docs")

    def test_two_workers_against_one(self):
        [size, *shape] = tenon.load(MEASURED).method_meta("forward").inputs[0].tensor.sizes
        self.inputs("a", ROWS_TO_MEASURE, *shape)
        batch = max(size, ROWS_TO_MEASURE // 100)
        self.infer(MEASURED, name="first", batch=batch)  # Starts Ray's processes, which stay.
        seconds = {}
        for turn, workers in enumerate((1, 2) * 2):
            start = time.perf_counter()
            self.infer(MEASURED, name=f"turn {turn}", workers=workers, batch=batch)
            seconds[workers] = min(seconds.get(workers, math.inf), time.perf_counter() - start)
        self.assertEqual(len(self.outputs("first")), ROWS_TO_MEASURE)
        print(f"measured: {ROWS_TO_MEASURE} rows in {seconds[1]:.1f} s by one worker, in {seconds[2]:.1f} s by two: "
              f"x {seconds[1] / seconds[2]:.2f}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
