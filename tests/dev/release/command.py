# SPDX-License-Identifier: MIT
"""Makes the files of release VERSION from the commit in build/release/VERSION, and checks each:

  archive   tenon-VERSION.tar.gz, the sources
  debian    Debian packages libtenon-dev, libtenon1, tenon-tools and python3-tenon, for a Debian
  wheel     the wheel of `./dev wheel`, for a Debian's Python; needs PyPI

and with them FILE.spdx.json, the third-party parts of each file (SPDX 2.3), tenon-VERSION.notes.md, the changelog's
section, recipe.yaml for conda-forge, tenon-VERSION.intoto.json, a statement of provenance (in-toto, SLSA 1), and
SHA256SUMS. It ends with the commands that need an account or a key. TENON_REPOSITORY is the repository's address. What is
for another Debian than this machine's is made in its root of `./dev cross` (2.4 GB). As root, each is installed and used
in a root of its Debian that has nothing else, made once by debootstrap in ~/.cache/tenon (200 MB). Nothing is published."""

import os
import pathlib
import re
import shutil
import time

from dev import packages
from dev.part import Failed
from dev.release import artifacts, clean, papers, places, sbom
from dev.totals import FAILED

PARTS = {"debian": artifacts.debian, "wheel": artifacts.wheel}
DEBIANS = ("bookworm", "trixie")
FOLDER = pathlib.Path("build/release")


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument("version", metavar="VERSION", help="the version in include/tenon/abi/version.h")
    parser.add_argument("--only", metavar="PART", action="append", choices=["archive", *PARTS],
                        help=f"one of archive, {', '.join(PARTS)}; may be repeated. The archive is always made")
    parser.add_argument("--root", metavar="DEBIAN", action="append", choices=DEBIANS,
                        help=f"for which Debian, one of {', '.join(DEBIANS)}; may be repeated (default: this machine's)")
    parser.add_argument("--twice", action="store_true", help="build packages and the wheel again in another folder, time "
                        "zone, language and umask, and compare each byte; the archive always is")
    parser.add_argument("--trial", action="store_true", help="also when the changelog says that it is not released")


def check_version(version, root=pathlib.Path()):
    """What is wrong with the version, the sources' own and the changelog's, in a line; nothing if all is right. The second
    result is whether the changelog says that it is released."""
    header = (root / "include/tenon/abi/version.h").read_text(encoding="utf-8")
    own = re.search(r'TENON_VERSION_STRING "(.*)"', header)[1]
    if version != own:
        return f"expected {own}, the version of include/tenon/abi/version.h, found {version}", False
    section = re.search(rf"^## {re.escape(version)} \((.*)\)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not section:
        return f"CHANGELOG.md has no section `## {version} (DATE)`", False
    return "", section[1] != "not released"


def _time():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def release(part, version, only=None, root=None, trial=False, twice=False):
    """See above."""
    problem, released = check_version(version)
    if problem:
        raise Failed(problem)
    if not released and not trial:
        raise Failed(f"CHANGELOG.md calls {version} not released (--trial makes it all the same)")
    changed = part.output(["git", "status", "--porcelain"])
    if changed:
        raise Failed(f"what is released is the commit, and these are not committed:\n{changed}")
    packages.setup(part)
    started, repository = _time(), os.environ.get(papers.REPOSITORY, "")
    commit, epoch = part.output(["git", "log", "-1", "--format=%H %ct"]).split()
    folder = FOLDER / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = artifacts.Made(part, version, folder, FOLDER / "work", twice=twice, epoch=epoch)
    artifacts.archive(made)
    found = [places.place_of(part, debian) for debian in dict.fromkeys(root or [places.own()])]
    for place in found:
        for name, make in PARTS.items():
            if not only or name in only:
                make(made, place)
    if any(check.outcome == FAILED for check in part.checks):
        return
    for place in found:
        part.check(f"what others made is listed, for {place.debian}", lambda place=place: sbom.write(made, place))
    part.check("notes of the changelog", lambda: papers.write_notes(
        made, pathlib.Path("CHANGELOG.md").read_text(encoding="utf-8"), repository))
    part.check("the recipe for conda-forge", lambda: papers.write_recipe(made, repository))
    part.check("where the files come from", lambda: papers.write_provenance(
        made, commit, repository, (started, _time())))
    part.check("SHA256SUMS", lambda: papers.write_sums(folder))
    for place in found:
        clean.check_all(part, place.debian, made.files_for(place.debian))
    part.say(f"made in {folder}")
    for path in sorted(folder.iterdir()):
        part.print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")
    part.say("what remains to be done by hand")
    for line in papers.by_hand(made):
        part.print(line)
