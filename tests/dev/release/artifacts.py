# SPDX-License-Identifier: MIT
"""The files of a release, each made from the archive of the sources or from the commit."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile

from dev.part import Failed, Part

NANOBIND = "build/python/venv/lib/python3*/site-packages/nanobind"
WHEELS = "build/wheel/dist/*.whl"


@dataclasses.dataclass
class Made:
    """Where a release is made."""

    part: Part
    version: str
    # The files of the release, and what is only needed to make them.
    folder: pathlib.Path
    work: pathlib.Path
    # Artifacts that are for one Debian alone, by its code name.
    of_debian: dict = dataclasses.field(default_factory=dict)

    @property
    def archive(self):
        return self.folder / f"tenon-{self.version}.tar.gz"

    def empty(self, name):
        """An empty folder for work."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def add(self, place, paths):
        """Moves what was made for a Debian to the release."""
        for path in paths:
            shutil.move(path, self.folder / path.name)
            self.of_debian.setdefault(place.debian, []).append(self.folder / path.name)

    def files_for(self, debian):
        """What is for a Debian: the archive is for each."""
        return [self.archive, *sorted(self.of_debian.get(debian, ()))]


def unpack(archive, folder):
    """The one directory of an archive, unpacked."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    [unpacked] = folder.iterdir()
    return unpacked


def missing_in(unpacked, tracked):
    """Files of the commit that an archive lacks, except the files for git alone."""
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


def debian(made, place):
    """Packages for a Debian, built from the archive."""
    part = made.part

    def make():
        folder = place.empty("debian")
        source = folder / unpack(made.archive, place.tree / folder).name
        place.run(".ci/fetch-python-build")
        [nanobind] = place.tree.glob(NANOBIND)
        place.run("python3", "include/packages/debian/make_debian.py", source, nanobind.relative_to(place.tree),
                  f"1{place.suffix()}", SOURCE_DATE_EPOCH=part.output(["git", "log", "-1", "--format=%ct"]))
        place.prepare(source)
        # Packages of debug information take minutes to compress, and no release has them.
        place.run("dpkg-buildpackage", "-us", "-uc", "-b", folder=source, DEB_BUILD_OPTIONS="noautodbgsym")
        made.add(place, sorted((place.tree / folder).glob("*.deb")))

    part.check(f"Debian packages for {place.debian}", make)
    part.check(f"contents of the packages for {place.debian}", lambda: check_contents(part, made.files_for(place.debian)))


def check_contents(part, files):
    """There are three packages, no file is in two, and no library is among what all architectures share."""
    of_packages = {}
    for path in (path for path in files if path.suffix == ".deb"):
        listed = part.output(["dpkg-deb", "--contents", path]).splitlines()
        for name in (line.split()[5] for line in listed if not line.startswith("d")):
            if name in of_packages:
                raise Failed(f"{name} is in {of_packages[name]} and in {path.name}")
            if name.startswith("./usr/share/") and name.endswith(".so"):
                raise Failed(f"{name} is in {path.name}")
            of_packages[name] = path.name
    if len(set(of_packages.values())) != 3:
        raise Failed(f"expected three packages, found {sorted(set(of_packages.values()))}")


def wheel(made, place):
    """Makes the wheel of `./dev wheel`, for a Debian's Python, where PyPI has what it is built with."""
    part = made.part
    if not place.succeeds("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place.empty("probe"),
                          "meson-python"):
        part.skip(f"the wheel for {place.debian}: nothing comes from PyPI")
        return

    def make():
        place.run("./dev", "wheel", "--python", "/usr/bin/python3")
        made.add(place, sorted(place.tree.glob(WHEELS)))

    part.check(f"the wheel for {place.debian}, in fresh environments", make)


def digest(path):
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_sums(folder):
    """SHA256SUMS, as sha256sum reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8")
