# SPDX-License-Identifier: MIT
"""What export_models.py needs to compile a model for 64-bit ARM on another machine.

Inductor writes C++ for the machine that it runs on, which it asks Python for. Debian's cross compiler compiles it
(g++-aarch64-linux-gnu). The wheel's sleef.h has the functions of its own machine alone, so the header of Debian's
package for arm64 comes before it (libsleef-dev, unpacked, not installed).
"""

import hashlib
import platform
import subprocess
from pathlib import Path
from typing import Any

# The baseline of 64-bit ARM, which has vectors of 128 bits.
COMPILE_OPTIONS: dict[str, Any] = {"cpp.march": "armv8-a", "cpp.simdlen": 128}
STRIP = "aarch64-linux-gnu-strip"
SLEEF = "https://deb.debian.org/debian/pool/main/s/sleef/libsleef-dev_3.5.1-3_arm64.deb"
# By Debian's signed list of packages.
SLEEF_SHA256 = "d8a45cfddae9e98fc3fca664b4719790c2b69778032d93cd3e7429119ece9db5"


def prepare(folder: Path) -> str:
    """Lets Inductor take this machine for ARM; the command that compiles for it."""
    package = folder / "libsleef-dev.deb"
    subprocess.run(["curl", "--fail", "--silent", "--show-error", "--location", "--output",
                    package, SLEEF], check=True)
    found_sha256 = hashlib.sha256(package.read_bytes()).hexdigest()
    if found_sha256 != SLEEF_SHA256:
        raise ValueError(f"{SLEEF}: expected SHA-256 {SLEEF_SHA256}, found {found_sha256}")
    subprocess.run(["dpkg-deb", "--extract", package, folder / "sleef"], check=True)
    found = next((folder / "sleef").rglob("sleef.h"))
    platform.machine = lambda: "aarch64"
    return f"aarch64-linux-gnu-g++ -I{found.parent}"
