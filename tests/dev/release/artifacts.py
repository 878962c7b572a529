# SPDX-License-Identifier: MIT
"""The files of a release, each made from the archive of the sources or from the commit."""

import dataclasses
import glob
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile

from dev import packages, pages
from dev.part import Failed, Part

NANOBIND = "build/python/venv/lib/python3*/site-packages/nanobind"


@dataclasses.dataclass
class Made:
    """Where a release is made."""

    part: Part
    version: str
    # The files of the release, and what is only needed to make them.
    folder: pathlib.Path
    work: pathlib.Path

    @property
    def archive(self):
        return self.folder / f"tenon-{self.version}.tar.gz"

    def empty(self, name):
        """An empty folder for work."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


def unpack(archive, folder):
    """The one directory of an archive, unpacked."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    [unpacked] = folder.iterdir()
    return unpacked


def missing_in(unpacked, tracked):
    """Files of the commit that an archive lacks. Those of git alone may."""
    return [name for name in tracked if not os.path.lexists(unpacked / name) and not name.startswith(".git")]


def archive(made):
    """`meson dist` of a clone: the working tree may have files that git ignores."""
    part = made.part

    def make():
        checkout = made.empty("checkout") / "tenon"
        part.run(["git", "clone", "--quiet", "--no-hardlinks", ".", checkout])
        part.run(["meson", "setup", checkout / "build", checkout, "-Dhost=disabled"], stdout=subprocess.DEVNULL)
        part.run(["meson", "dist", "-C", checkout / "build", "--no-tests", "--formats", "gztar"])
        shutil.move(checkout / "build/meson-dist" / made.archive.name, made.archive)
        tracked = part.output(["git", "-C", checkout, "ls-files", "-z"]).rstrip("\0").split("\0")
        missing = missing_in(unpack(made.archive, made.empty("archive")), tracked)
        if missing:
            raise Failed(f"the archive lacks {' '.join(missing)}")

    part.check("the archive of the sources has each file of the commit", make)


def debian(made):
    """Packages for this machine's Debian, built from the archive."""
    part = made.part
    packages.need(part, {"dh": "debhelper", "dh_python3": "dh-python", "dpkg-buildpackage": "dpkg-dev"})

    def make():
        part.run([".ci/fetch-python-build"])
        [nanobind] = glob.glob(NANOBIND)
        source = unpack(made.archive, made.empty("debian"))
        part.run(["python3", "include/packages/debian/make_debian.py", source, nanobind],
                 env={"SOURCE_DATE_EPOCH": part.output(["git", "log", "-1", "--format=%ct"])})
        # Packages of debug information take minutes to compress, and no release has them.
        part.run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source, env={"DEB_BUILD_OPTIONS": "noautodbgsym"})
        for path in source.parent.glob("*.deb"):
            shutil.move(path, made.folder / path.name)

    part.check("Debian packages", make)
    part.check("their contents", lambda: check_contents(part, made.folder))


def check_contents(part, folder):
    """There are three packages, no file is in two, and no library is among what all architectures share."""
    of_packages = {}
    for path in sorted(folder.glob("*.deb")):
        listed = part.output(["dpkg-deb", "--contents", path]).splitlines()
        for name in (line.split()[5] for line in listed if not line.startswith("d")):
            if name in of_packages:
                raise Failed(f"{name} is in {of_packages[name]} and in {path.name}")
            if name.startswith("./usr/share/") and name.endswith(".so"):
                raise Failed(f"{name} is in {path.name}")
            of_packages[name] = path.name
    if len(set(of_packages.values())) != 3:
        raise Failed(f"expected three packages, found {sorted(set(of_packages.values()))}")


def wheel(made):
    """That of `./dev wheel`, where PyPI has what it is built with."""
    part = made.part
    if part.captured(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", made.empty("probe"),
                      "meson-python"]).returncode != 0:
        part.skip("the wheel: nothing comes from PyPI")
        return

    def make():
        if pages.wheel(part) != 0:
            raise Failed("the wheel's test failed")
        for path in glob.glob("build/wheel/dist/*.whl"):
            shutil.copy2(path, made.folder)

    part.check("the wheel, in fresh environments", make)


def digest(path):
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_sums(folder):
    """SHA256SUMS, as sha256sum reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8")
