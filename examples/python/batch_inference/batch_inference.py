# SPDX-License-Identifier: MIT
"""Runs a program over many rows with Ray Data, in several workers on one machine or on a cluster.

The inputs are .npy files that all machines can read, and their rows are numbered through. Ray hands out row numbers;
each worker loads the method once, and reads its rows itself. Ray repeats what a worker that died had begun.
Needs tenon, numpy and ray[data]. The program has one input and one output, with the batch as their first dimension.
"""

import argparse
import os
import pathlib
import sys

import numpy as np
import ray
import tenon


class Rows:
    """The rows of several .npy files, as one array that is read where it is used."""

    def __init__(self, files):
        self._parts = [np.load(file, mmap_mode="r") for file in files]
        kinds = {(part.shape[1:], part.dtype) for part in self._parts}
        if len(kinds) != 1:
            raise ValueError(f"expected files with rows of one shape and dtype, found {sorted(map(str, kinds))}")
        [(self.shape, self.dtype)] = kinds
        self._ends = np.cumsum([len(part) for part in self._parts])
        if len(self) == 0:
            raise ValueError("the files have no rows")

    def __len__(self):
        return int(self._ends[-1])

    def __getitem__(self, numbers):
        out = np.empty((len(numbers), *self.shape), self.dtype)
        parts = np.searchsorted(self._ends, numbers, side="right")
        for part in np.unique(parts):
            here = parts == part
            out[here] = self._parts[part][numbers[here] - (self._ends[part] - len(self._parts[part]))]
        return out


class Model:
    """One method in one worker: batches of row numbers in, the same numbers with the outputs out."""

    def __init__(self, program, plugins, files, method="forward", prepared=None):
        # Workers are the parallelism here.
        self._program = tenon.load(program, plugins=plugins, threads=1, prepared=prepared)
        self._method = self._program.load_method(method)
        self._rows = Rows(files)
        self._rows_of_run = rows_of_run(self._program.method_meta(method), self._rows)

    def __call__(self, batch):
        x = self._rows[batch["id"]]
        missing = -len(x) % self._rows_of_run
        if missing:  # The program takes whole runs; what is added is cut off again.
            x = np.concatenate([x, np.repeat(x[-1:], missing, axis=0)])
        runs = np.split(x, len(x) // self._rows_of_run)
        outputs = np.concatenate([self._method(run).numpy() for run in runs])
        return {"id": batch["id"], "output": outputs[: len(batch["id"])]}


def rows_of_run(meta, rows):
    """How many rows one run of the program takes, once it is clear that it takes such rows."""
    if len(meta.inputs) != 1 or len(meta.outputs) != 1:
        raise ValueError(f"expected a program of one input and one output, found {len(meta.inputs)} and "
                         f"{len(meta.outputs)}")
    [size, *shape], dtype = meta.inputs[0].tensor.sizes, meta.inputs[0].tensor.dtype
    if (tuple(shape), dtype) != (rows.shape, rows.dtype.name):
        raise ValueError(f"the program takes rows of {tuple(shape)}, {dtype}; the files have {rows.shape}, "
                         f"{rows.dtype.name}")
    if meta.outputs[0].tensor.sizes[:1] != (size,):
        raise ValueError("expected an output with as many rows as the input")
    return size


def files_of(path):
    """A .npy file, or a directory's .npy files by name."""
    path = pathlib.Path(path).resolve()
    files = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path}: no .npy file")
    return files


def infer(program, plugins, files, output, workers, batch=256, model=Model, **options):
    """Writes Parquet files with the columns id and output to a directory, and returns the number of rows."""
    rows = Rows(files)
    rows_of_run(tenon.load(program).method_meta(options.get("method", "forward")), rows)
    # A block is what Ray hands out, writes and repeats: each costs a task to read and one to write.
    blocks = min(-(-len(rows) // batch), 8 * workers)
    results = ray.data.range(len(rows), override_num_blocks=blocks).map_batches(
        model, fn_constructor_args=(program, plugins, files), fn_constructor_kwargs=options, batch_size=batch,
        compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=1)
    results.write_parquet(str(output))
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="a program (.pte)")
    parser.add_argument("plugin", type=pathlib.Path, nargs="+", help="plugins with its backends and kernels")
    parser.add_argument("--input", required=True, help="a .npy file, or a directory of them")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="a new directory for Parquet files")
    parser.add_argument("--workers", type=int, default=2, help="processes that compute (%(default)s)")
    parser.add_argument("--batch", type=int, default=256, help="rows that a worker takes at a time (%(default)s)")
    parser.add_argument("--method", default="forward", help="the method to run (%(default)s)")
    parser.add_argument("--prepared", metavar="DIR", help="cache what backends prepare from the program in DIR")
    args = parser.parse_args()
    if args.output.exists():
        sys.exit(f"{args.output}: exists")
    # A local cluster says that it has more processors than the workers take, for reading and writing.
    local = not os.environ.get("RAY_ADDRESS")
    ray.init(**({"num_cpus": 2 * args.workers, "include_dashboard": False} if local else {}))
    rows = infer(args.program.resolve(), [plugin.resolve() for plugin in args.plugin], files_of(args.input),
                 args.output.resolve(), args.workers, args.batch, method=args.method, prepared=args.prepared)
    print(f"{rows} rows in {args.output}")


if __name__ == "__main__":
    main()
