# SPDX-License-Identifier: MIT
"""Where cargo is, for tests of applications in Rust."""

import pathlib
import re
import shutil
import subprocess


def cargo_for(crate):
    """The path of a cargo that can build the crate in a folder, and None; or None, and why there is no such one."""
    home = pathlib.Path.home() / ".cargo/bin/cargo"
    cargo = shutil.which("cargo") or (str(home) if home.exists() else None)
    if not cargo:
        return None, "cargo is not installed"
    found = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"cargo ([0-9.]+)", found)
    if not version:
        return None, f"cargo does not run: {found.strip()!r}"
    needed = re.search(r'rust-version = "([0-9.]+)"', (crate / "Cargo.toml").read_text())[1]
    if [int(part) for part in version[1].split(".")] < [int(part) for part in needed.split(".")]:
        return None, f"cargo {version[1]}; the crate needs {needed}"
    return cargo, None
