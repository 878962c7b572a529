# SPDX-License-Identifier: MIT
"""Each file of a release in a root of its Debian that has nothing but the base system: the scripts of clean_root, each in a
copy of the root."""

import os
import pathlib
import shutil

from dev import packages
from dev.cross.roots import made_once
from dev.cross.target import cache
from dev.part import Failed, alone

SCRIPTS = pathlib.Path("tests/dev/release/clean_root")
# What the scripts use of the sources: files, and folders whole.
SAMPLES = ("examples/applications/digits/model.pte", "examples/applications/digits/input.npy",
           "examples/applications/digits/expected.npy", "examples/applications/embed/embed.cpp",
           "examples/applications/c_host/sines.c", "examples/backends/hello/hello.cpp",
           "examples/backends/demo_backend/demo_backend.cpp", "examples/backends/demo_backend/demo_blob.hpp",
           "include/packages/debian/files", "tests/fixtures/demo_sin_inline/model.pte",
           "tests/conformance/cases/hello", "examples/applications/consumer")
# By script: which files it is about.
CHECKS = {"archive": "*.tar.gz", "debian": "*.deb", "autopkgtest": "*.deb", "wheel": "*.whl"}


def root_of_debian(part, release):
    """Made once."""
    packages.need(part, {"debootstrap": "debootstrap"})

    def make(work):
        part.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", release, f"{work}/root"])
        os.chmod(f"{work}/root", 0o755)
        return f"{work}/root"

    with alone(f"release-root-{release}"):
        return made_once(cache(f"release/{release}"), make)


def check_one(part, root, files, name):
    """Runs a script with the files as /tenon/release and the samples as /tenon/samples."""
    work = pathlib.Path(f"build/release/work/clean-{name}").absolute()
    shutil.rmtree(work, ignore_errors=True)
    for sample in SAMPLES:
        (work / "tree/samples" / sample).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if os.path.isdir(sample) else shutil.copy2)(sample, work / "tree/samples" / sample)
    (work / "tree/release").mkdir()
    for path in files:
        shutil.copy2(path, work / "tree/release" / path.name)
    shutil.copy2(SCRIPTS / f"{name}.sh", work / "tree/check.sh")
    part.run(["cp", "--archive", root, work / "root"])
    try:
        part.run(["tests/cross/in_root", work / "root", work / "tree", work / "cache", "sh", "-eux", "check.sh"])
    finally:
        shutil.rmtree(work / "root", ignore_errors=True)


def check_all(part, release, files):
    """Checks the artifacts whose files were made, in roots of a release of Debian."""
    if os.geteuid() != 0:
        part.skip("clean roots: debootstrap makes a root as root alone")
        return
    try:
        root = root_of_debian(part, release)
    except Failed as failure:
        part.skip(f"clean roots: {failure}")
        return
    for name, pattern in CHECKS.items():
        of_script = [path for path in files if path.match(pattern)]
        if of_script:
            part.check(f"in a clean root of {release}: {name}",
                       lambda name=name, of_script=of_script: check_one(part, root, of_script, name))
