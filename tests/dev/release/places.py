# SPDX-License-Identifier: MIT
"""Where packages and the wheel are made: on this machine, for its own Debian, or in a root of another one."""

import dataclasses
import pathlib
import platform
import shutil

from dev import packages
from dev.cross import trixie
from dev.cross.roots import RELEASE
from dev.cross.target import cache
from dev.part import Part

# What a source package is built with, besides what its control file names.
PROGRAMS = {"dh": "debhelper", "dh_python3": "dh-python", "dpkg-buildpackage": "dpkg-dev"}
WORK = pathlib.Path("build/release/work")
# By the name of a system, what begins the end of a package's version.
NAMES = {"debian": "deb"}


@dataclasses.dataclass
class Place:
    """A system of a Debian, by its code name, and a tree of the sources that its commands see as the folder they run in."""

    part: Part
    debian: str
    tree: pathlib.Path = pathlib.Path()
    # What comes before the words of a command to run it there.
    prefix: tuple = ()

    def words(self, *command, folder=".", **variables):
        """The words that run a command there, in a folder of the tree."""
        given = [f"{name}={value}" for name, value in variables.items()]
        return [*self.prefix, "env", f"--chdir={folder}", *given, *command]

    def run(self, *command, **more):
        """Runs a command that has to succeed."""
        self.part.run(self.words(*command, **more))

    def output(self, *command):
        """What a command prints that has to succeed."""
        return self.part.output(self.words(*command))

    def succeeds(self, *command, **more):
        """Whether a command does."""
        return self.part.captured(self.words(*command, **more)).returncode == 0

    def empty(self, name):
        """An empty folder for work: its path in the tree."""
        folder = WORK / name
        shutil.rmtree(self.tree / folder, ignore_errors=True)
        (self.tree / folder).mkdir(parents=True)
        return folder

    def suffix(self):
        """The end of its packages' versions, which differs by Debian and is higher for a newer Debian: +deb13."""
        system, version = self.output("sh", "-c", '. /etc/os-release; echo "$ID $VERSION_ID"').split()
        return f"+{NAMES.get(system, system)}{version}"

    def prepare(self, source):
        """Installs what the source package in a folder of the tree is built with."""
        if not self.prefix:
            packages.need(self.part, PROGRAMS)
        elif not self.succeeds("dpkg-checkbuilddeps", folder=source):
            self.part.say(f"installing what packages of {self.debian} are built with")
            self.run("apt-get", "update", "-qq")
            self.run("apt-get", "build-dep", "-y", "-qq", "-o=Dpkg::Use-Pty=0", "./", folder=source,
                     DEBIAN_FRONTEND="noninteractive")


def own():
    """The code name of this machine's Debian; of other systems, the one that is installed in roots."""
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", RELEASE)
    except OSError:
        return RELEASE


def place_of(part, debian):
    """This machine, with this tree, or the root of `./dev cross`, with a copy of the tree."""
    if debian == own():
        return Place(part, debian)
    root, tree = trixie.installed(part, debian), WORK / debian
    trixie.copy_tree(part, tree)
    place = Place(part, debian, tree, ("tests/cross/in_root", root, tree, cache("")))
    place.run("./dev", "setup")
    return place
