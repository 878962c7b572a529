# SPDX-License-Identifier: MIT
"""The applications of examples/applications/four_ways, built and run."""

import os
import subprocess

from cargo import cargo_for

# Words after the plugin and the program, from the folder of the examples.
EXAMPLES = {
    "classifier": ["shape.ppm"],
    "generator": ["march april may "],
    "recommender": ["41", "45", "52", "58"],
}


def run(command, folder, environment=None):
    """The lines that a program prints in a folder."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def build_in_rust(folder, target, libraries):
    """The folder of the applications in Rust, and the environment that they run in; or None, and why they cannot be
    built."""
    cargo, why_not = cargo_for(folder)
    if not cargo:
        return None, why_not
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), TENON_LIBDIR=str(libraries),
                       LD_LIBRARY_PATH=str(libraries))
    subprocess.run([cargo, "build", "--offline", "--locked", "--quiet", f"--manifest-path={folder / 'Cargo.toml'}"],
                   check=True, env=environment)
    return target / "debug", environment


def numbers_of(lines):
    """The texts of the lines, and their numbers."""
    parts = [line.rpartition(": ") for line in lines]
    return [text for text, _, _ in parts], [float(number) for _, _, number in parts]
