# SPDX-License-Identifier: MIT
"""Runs a program in a restricted process, with inputs of zeros, and expects that nothing ends it.

    restricted_test.py FOLDER_OF_MEASURE_CALLS RESTRICTED_RUN PLUGIN MODEL PROFILE [OPTION...]

SCRATCH in an option, or in a variable of the environment, is a directory of the test.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])

import measure_calls  # noqa: E402

SKIPPED = 77


def main():
    program, plugin, model, *options = sys.argv[2:]
    plugin = str(pathlib.Path(plugin).resolve())
    with tempfile.TemporaryDirectory(prefix="tenon-restricted-") as scratch:
        environment = {name: value.replace("SCRATCH", scratch) for name, value in os.environ.items()}
        options = [option.replace("SCRATCH", scratch) for option in options]
        reads = [f"read={folder}" for folder in (scratch, os.path.dirname(plugin), os.path.dirname(model))]
        command = [program, *options, *reads, "--", model, "--plugin", plugin, "--repeat", "3"]
        first = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if first.returncode == SKIPPED:
            print(first.stderr)
            sys.exit(SKIPPED)
        inputs = measure_calls.inputs_of(command, pathlib.Path(scratch), environment)
        ran = subprocess.run([*command, *inputs], env=environment, capture_output=True, text=True, check=False)
        print(ran.stdout + ran.stderr)
        sys.exit(ran.returncode or "ended by" in ran.stderr)


if __name__ == "__main__":
    main()
