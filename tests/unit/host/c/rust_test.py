# SPDX-License-Identifier: MIT
"""Runs the tests and the example of the Rust wrapper, examples/applications/rust_host, with cargo.

    rust_test.py CRATE TARGET_FOLDER LIBRARY_FOLDER PLUGIN COUNTING_PLUGIN MODEL [VALGRIND]

Exits with 77 where there is no cargo, or an older one than the crate needs.
"""

import os
import pathlib
import subprocess
import sys

from cargo import cargo_for

# Cargo runs tests in the folder of the crate.
crate, target, libraries, plugin, counting, model, *valgrind = (pathlib.Path(path).resolve()
                                                                 for path in sys.argv[1:])


cargo, why_not = cargo_for(crate)
if not cargo:
    print(f"skipped: {why_not}")
    sys.exit(77)

environment = dict(os.environ, CARGO_TARGET_DIR=str(target), TENON_LIBDIR=str(libraries),
                   TENON_TEST_PLUGIN=str(plugin), TENON_TEST_COUNTING=str(counting),
                   TENON_TEST_MODEL=str(model))
options = ["--offline", "--locked", "--quiet", f"--manifest-path={crate / 'Cargo.toml'}"]
subprocess.run([cargo, "test", *options, "--test", "host"], check=True, env=environment)
subprocess.run([cargo, "build", *options, "--example", "sines"], check=True, env=environment)
command = [target / "debug/examples/sines", plugin, model]
if valgrind:
    # Rust's own start keeps memory, which is still reachable at the end.
    command = [*valgrind, "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible",
               "--error-exitcode=9", *command]
output = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
sines = [float(line) for line in output.split()]
assert all(abs(a - b) < 1e-5 for a, b in zip(sines, [0.0998334, 0.198669, 0.29552, 0.389418])), output
assert len(sines) == 4, output
