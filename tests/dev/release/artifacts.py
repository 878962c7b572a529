# SPDX-License-Identifier: MIT
"""The files of a release, each made from the archive of the sources or from the commit."""

import dataclasses
import gzip
import hashlib
import os
import pathlib
import shutil
import tarfile

from dev import packages
from dev.part import Failed, Part

# Of a second build, which must give each byte again: a longer path too.
ELSEWHERE = {"TZ": "Pacific/Chatham", "LC_ALL": "C", "LANGUAGE": "de"}
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
    # Whether packages and the wheel are built again elsewhere, and compared.
    twice: bool = False
    # When the commit was made, in seconds: the time of all that is in packages and the wheel.
    epoch: str = "0"

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

    def files(self):
        """All that a user installs."""
        return sorted({self.archive, *(path for paths in self.of_debian.values() for path in paths)})

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


def write_archive(part, path, top, source="."):
    """The commit as an archive: its bytes follow from the commit alone, as files have its time, no owner and no umask."""
    tar = path.with_suffix("")
    part.run(["git", "-C", source, "-c", "tar.umask=0022", "-c", "core.autocrlf=false", "archive", "--format=tar",
              f"--prefix={top}/", f"--output={tar.absolute()}", "HEAD"])
    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(tar.read_bytes())
    tar.unlink()


def archive(made):
    """Twice: of the repository, and of a clone elsewhere."""
    part = made.part

    def make():
        write_archive(part, made.archive, f"tenon-{made.version}")
        tracked = part.output(["git", "ls-tree", "-r", "--name-only", "-z", "HEAD"]).rstrip("\0").split("\0")
        missing = missing_in(unpack(made.archive, made.empty("archive")), tracked)
        if missing:
            raise Failed(f"the archive lacks {' '.join(missing)}")

    def make_again():
        again = made.empty("archive-in-another-place")
        part.run(["git", "clone", "--quiet", "--no-hardlinks", ".", again / "tenon"])
        write_archive(part, again / made.archive.name, f"tenon-{made.version}", again / "tenon")
        check_equal(part, [made.archive], [again / made.archive.name])

    part.check("the archive of the sources has each file of the commit", make)
    part.check("the archive of a clone has these bytes too", make_again)


def check_equal(part, files, others):
    """Each file is made again with these bytes; diffoscope, where it is installed, prints what differs."""
    found = {path.name: path for path in others}
    if sorted(found) != sorted(path.name for path in files):
        raise Failed(f"expected {sorted(path.name for path in files)} again, found {sorted(found)}")
    different = [path for path in files if digest(path) != digest(found[path.name])]
    for path in different:
        if shutil.which("diffoscope"):
            part.call(["diffoscope", "--max-report-size", "20000", path, found[path.name]])
    if different:
        raise Failed(f"another build gives other bytes: {' '.join(path.name for path in different)}")


def _build_debian(made, place, name, **surroundings):
    """Builds packages in a folder of this name, and returns them."""
    folder = place.empty(name)
    source = folder / unpack(made.archive, place.tree / folder).name
    place.run(".ci/fetch-python-build")
    [nanobind] = place.tree.glob(NANOBIND)
    place.run("python3", "include/packages/debian/make_debian.py", source, nanobind.relative_to(place.tree),
              f"1{place.suffix()}", SOURCE_DATE_EPOCH=made.epoch)
    place.prepare(source)
    # Packages of debug information take minutes to compress, and no release has them.
    place.run("sh", "-c", f"umask {'002' if surroundings else '022'}; exec dpkg-buildpackage -us -uc -b", folder=source,
              DEB_BUILD_OPTIONS="noautodbgsym", **surroundings)
    return sorted((place.tree / folder).glob("*.deb"))


def debian(made, place):
    """Packages for a Debian, built from the archive."""
    part = made.part
    part.check(f"Debian packages for {place.debian}", lambda: made.add(place, _build_debian(made, place, "debian")))
    packaged = [path for path in made.files_for(place.debian) if path.suffix == ".deb"]
    if not packaged:
        return
    part.check(f"contents of the packages for {place.debian}", lambda: check_contents(part, packaged))
    part.check(f"lintian about the packages for {place.debian}", lambda: check_lintian(part, packaged))
    if made.twice:
        part.check(f"another build of the packages for {place.debian} has these bytes too", lambda: check_equal(
            part, packaged, _build_debian(made, place, "debian-in-another-place", **ELSEWHERE)))


def check_lintian(part, files):
    """No error and no warning, but for those that a package explains in its overrides."""
    packages.need(part, {"lintian": "lintian"})
    part.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *files])


def check_contents(part, files):
    """There are four packages, no file is in two, and no library is among what all architectures share."""
    of_packages = {}
    for path in files:
        listed = part.output(["dpkg-deb", "--contents", path]).splitlines()
        for name in (line.split()[5] for line in listed if not line.startswith("d")):
            if name in of_packages:
                raise Failed(f"{name} is in {of_packages[name]} and in {path.name}")
            if name.startswith("./usr/share/") and name.endswith(".so"):
                raise Failed(f"{name} is in {path.name}")
            of_packages[name] = path.name
    if len(set(of_packages.values())) != 4:
        raise Failed(f"expected four packages, found {sorted(set(of_packages.values()))}")


def wheel(made, place):
    """Makes the wheel of `./dev wheel`, for a Debian's Python, where PyPI has what it is built with."""
    part = made.part
    if not place.succeeds("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place.empty("probe"),
                          "meson-python"):
        part.skip(f"the wheel for {place.debian}: nothing comes from PyPI")
        return

    def make():
        place.run("./dev", "wheel", "--python", "/usr/bin/python3", SOURCE_DATE_EPOCH=made.epoch)
        made.add(place, sorted(place.tree.glob(WHEELS)))

    def make_again():
        folder = place.empty("wheel-in-another-place")
        source = folder / unpack(made.archive, place.tree / folder).name
        place.run("sh", "-c", "umask 002; exec python3 examples/python/packaging/build_wheel.py --python /usr/bin/python3 "
                  ". build/wheel", folder=source, SOURCE_DATE_EPOCH=made.epoch, **ELSEWHERE)
        check_equal(part, [path for path in made.files_for(place.debian) if path.suffix == ".whl"],
                    sorted((place.tree / source).glob(WHEELS)))

    part.check(f"the wheel for {place.debian}, in fresh environments", make)
    if made.twice:
        part.check(f"another build of the wheel for {place.debian} has these bytes too", make_again)


def digest(path):
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
