#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the folder `debian` of Debian's source package: make_debian.py SOURCE NANOBIND [REVISION]

SOURCE is an unpacked archive of Tenon, in which `dpkg-buildpackage -us -uc -b` then builds the packages libtenon-dev,
libtenon1, tenon-tools and python3-tenon. NANOBIND is the folder of the Python module nanobind, of which Debian 12 and 13 have no version
that is new enough: it is copied into the source package, so that the build downloads nothing. REVISION, 1 unless it is given,
ends the version of the packages: 1+deb13 where there are packages for several Debians. DEBFULLNAME and DEBEMAIL name who
packages it, SOURCE_DATE_EPOCH the date.
"""

import datetime
import email.utils
import os
import pathlib
import re
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True  # In the sources, it would be a change of theirs.
sys.path.insert(0, str(HERE.parents[2] / "examples/python/packaging"))
import nanobind_licences  # noqa: E402  pylint: disable=wrong-import-position


def version_of(source):
    """The SDK's, and whether the changelog calls it released."""
    header = (source / "include/tenon/abi/version.h").read_text(encoding="utf-8")
    version = re.search(r'TENON_VERSION_STRING "([0-9.]+)"', header)[1]
    section = re.search(rf"^## {re.escape(version)} \((.*)\)$", (source / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not section:
        sys.exit(f"make_debian: CHANGELOG.md has no section of {version}")
    return version, section[1] != "not released"


def in_copyright(licence):
    """The paragraphs of a licence, without its title and its holder, in the format of Debian's policy."""
    paragraphs = licence.strip().split("\n\n")
    while re.match(r"(MIT License|Copyright \(c\))", paragraphs[0]):
        del paragraphs[0]
    return "\n".join(f" {line}" if line else " ." for line in "\n\n".join(paragraphs).splitlines())


def holders(licence):
    """Who has the copyright."""
    [holder] = re.findall(r"^Copyright \(c\) (.*?)(?:, All rights reserved\.)?$", licence, re.M)
    return holder


def copyright_of(source, of_nanobind, of_robin_map):
    """In the format of Debian's policy."""
    licence = (source / "LICENSE").read_text(encoding="utf-8")
    return ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
            "Upstream-Name: tenon\n"
            "Comment: /usr/share/doc/tenon/NOTICE says which other software is compiled in.\n\n"
            f"Files: *\nCopyright: {holders(licence)}\nLicense: Expat\n\n"
            f"Files: debian/vendor/nanobind/*\nCopyright: {holders(of_nanobind)}\nLicense: BSD-3-Clause\n"
            "Comment: compiled into python3-tenon.\n\n"
            f"Files: debian/vendor/nanobind/ext/robin_map/*\nCopyright: {holders(of_robin_map)}\nLicense: Expat\n"
            "Comment: compiled into python3-tenon.\n\n"
            f"License: Expat\n{in_copyright(licence)}\n\n"
            f"License: BSD-3-Clause\n{in_copyright(of_nanobind)}\n")


def make(source, nanobind, environment, revision="1"):
    """Writes SOURCE/debian."""
    if not (nanobind / "src/nb_combined.cpp").is_file():
        sys.exit(f"make_debian: {nanobind} is not the folder of nanobind (.ci/fetch-python-build installs it)")
    version, released = version_of(source)
    maintainer = (f"{environment.get('DEBFULLNAME', 'Tenon authors')} "
                  f"<{environment.get('DEBEMAIL', 'authors@tenon.invalid')}>")
    seconds = int(environment.get("SOURCE_DATE_EPOCH", time.time()))
    date = email.utils.format_datetime(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc))
    debian = source / "debian"
    shutil.rmtree(debian, ignore_errors=True)
    shutil.copytree(HERE / "files", debian)
    (debian / "rules").chmod(0o755)
    control = (debian / "control").read_text(encoding="utf-8")
    (debian / "control").write_text(control.replace("@MAINTAINER@", maintainer), encoding="utf-8")
    texts = nanobind_licences.read(nanobind)
    (debian / "copyright").write_text(copyright_of(source, *texts), encoding="utf-8")
    (debian / "changelog").write_text(
        f"tenon ({version}-{revision}) {'unstable' if released else 'UNRELEASED'}; urgency=medium\n\n"
        f"  * Version {version}; /usr/share/doc/tenon/CHANGELOG.md has what changed.\n\n"
        f" -- {maintainer}  {date}\n", encoding="utf-8")
    (debian / "source").mkdir()
    (debian / "source/format").write_text("3.0 (quilt)\n", encoding="utf-8")

    vendor = debian / "vendor"
    shutil.copytree(nanobind, vendor / "nanobind", ignore=shutil.ignore_patterns("__pycache__"))
    (vendor / "licences").mkdir()
    for name, text in zip(("nanobind", "robin-map"), texts):
        (vendor / "licences" / name).write_text(text, encoding="utf-8")
    return version


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: make_debian.py SOURCE NANOBIND [REVISION]")
    print(make(*(pathlib.Path(word).resolve() for word in sys.argv[1:3]), os.environ, *sys.argv[3:]))
