# SPDX-License-Identifier: MIT
"""Each file of a release in a root of Debian 12 that has nothing but the base system: the scripts of clean_root, each in a
copy of the root."""

import os
import pathlib
import shutil

from dev import packages
from dev.cross.roots import RELEASE, made_once
from dev.cross.target import cache
from dev.part import Failed, alone

SCRIPTS = pathlib.Path("tests/dev/release/clean_root")
# What the scripts use of the sources.
SAMPLES = ("examples/applications/digits/model.pte", "examples/applications/digits/input.npy",
           "examples/applications/digits/expected.npy", "examples/applications/embed/embed.cpp",
           "examples/backends/hello/hello.cpp", "examples/backends/demo_backend/demo_backend.cpp",
           "examples/backends/demo_backend/demo_blob.hpp", "tests/fixtures/demo_sin_inline/model.pte")
# By script: which files it is about.
CHECKS = {"archive": "*.tar.gz", "debian": "*.deb", "wheel": "*.whl"}


def root_of_debian(part):
    """Made once."""
    packages.need(part, {"debootstrap": "debootstrap"})

    def make(work):
        part.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", RELEASE, f"{work}/root"])
        os.chmod(f"{work}/root", 0o755)
        return f"{work}/root"

    with alone("release-root"):
        return made_once(cache(f"release/{RELEASE}"), make)


def check_one(part, root, folder, name):
    """Runs a script with the release as /tenon/release and the samples as /tenon/samples."""
    work = pathlib.Path(f"build/release/work/clean-{name}").absolute()
    shutil.rmtree(work, ignore_errors=True)
    for sample in SAMPLES:
        (work / "tree/samples" / sample).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(sample, work / "tree/samples" / sample)
    shutil.copytree(folder, work / "tree/release")
    shutil.copy2(SCRIPTS / f"{name}.sh", work / "tree/check.sh")
    part.run(["cp", "--archive", root, work / "root"])
    try:
        part.run(["tests/cross/in_root", work / "root", work / "tree", work / "cache", "sh", "-eux", "check.sh"])
    finally:
        shutil.rmtree(work / "root", ignore_errors=True)


def check_all(part, folder):
    """Those whose files were made."""
    if os.geteuid() != 0:
        part.skip("clean roots: debootstrap makes a root as root alone")
        return
    try:
        root = root_of_debian(part)
    except Failed as failure:
        part.skip(f"clean roots: {failure}")
        return
    for name, pattern in CHECKS.items():
        if list(folder.glob(pattern)):
            part.check(f"in a clean root: {name}", lambda name=name: check_one(part, root, folder, name))
