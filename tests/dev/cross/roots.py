# SPDX-License-Identifier: MIT
"""What other platforms are built with, fetched once into ~/.cache/tenon. Debian's libraries for another machine are
unpacked, not installed: nothing of this system changes, and Debian's packages of two machines cannot be in each other's
way."""

import glob
import hashlib
import os
import pathlib
import pwd
import shutil
import tempfile

from dev.cross.target import cache
from dev.part import alone

# Of Debian 12, as the compilers are: a library needs the C++ library that it was built with, or a newer one.
RELEASE = "bookworm"
ZIG = "0.17.1"
LIBRARIES = ["libc6-dev", "libfmt-dev", "libflatbuffers-dev", "libcli11-dev", "nlohmann-json3-dev", "catch2"]
# What Tenon's host and programs need; oneDNN is for 64-bit machines alone. Of trixie, also what a system needs that
# compiles.
OF_ROOT = {
    "arm64": [*LIBRARIES, "libstdc++-12-dev", "libzip-dev", "libdnnl-dev", "libsleef3"],
    "arm64-quick": [*LIBRARIES, "libstdc++-12-dev"],
    "armhf": [*LIBRARIES, "libstdc++-12-dev", "libzip-dev"],
    "trixie": [*LIBRARIES, "base-files", "bash", "coreutils", "dash", "grep", "sed", "git", "g++", "clang", "lld",
               "python3", "meson", "ninja-build", "pkgconf", "flatbuffers-compiler"],
}


def apt_of(work, kind, release, *more):
    """The words of a package manager of its own, which knows nothing that is installed, in an empty folder."""
    for name in ("lists/partial", "archives/partial"):
        pathlib.Path(work, name).mkdir(parents=True)
    pathlib.Path(work, "status").touch()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    pathlib.Path(work, "sources.list").write_text(
        f"{kind} [signed-by={key}] http://deb.debian.org/debian {release} main\n", encoding="utf-8")
    options = [f"Dir::State={work}", f"Dir::State::status={work}/status", f"Dir::Cache={work}",
               f"Dir::Etc::sourcelist={work}/sources.list", "Dir::Etc::sourceparts=-",
               f"APT::Sandbox::User={pwd.getpwuid(os.geteuid()).pw_name}", "Acquire::Languages=none", "Acquire::Retries=3", *more]
    return ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]


def made_once(root, make):
    """The folder `root`, which make(work) fills the first time in another one. Of two runs at once, the first one's is
    kept."""
    root = pathlib.Path(root)
    if root.is_dir():
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    work = tempfile.mkdtemp(prefix=f"{root.name}.", dir=root.parent)
    try:
        made = make(work)
        try:
            os.rename(made, root)
        except OSError:
            if not root.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return root


def sysroot(part, name):
    """The directory of OF_ROOT's libraries, as they are unpacked."""
    libraries, machine = OF_ROOT[name], name.partition("-")[0]
    release = "trixie" if machine == "trixie" else RELEASE
    key = hashlib.sha256("".join(f"{line}\n" for line in (release, *libraries)).encode()).hexdigest()[:12]

    def make(work):
        architecture = part.output(["dpkg", "--print-architecture"]) if machine == "trixie" else machine
        apt = apt_of(work, "deb", release, f"APT::Architecture={architecture}", f"APT::Architectures={architecture}")
        part.run([*apt, "update"])
        part.run([*apt, "install", "--download-only", "-y", "--no-install-recommends", *libraries])
        for package in sorted(glob.glob(f"{work}/archives/*.deb")):
            part.run(["dpkg-deb", "--extract", package, f"{work}/root"])
        return f"{work}/root"

    return str(made_once(cache(f"cross/{machine}-{key}"), make))


def zig_python(part):
    """The Python that has zig, from PyPI."""
    folder = cache(f"zig-{ZIG}")
    python = f"{folder}/bin/python3"
    with alone("zig"):
        # What an interrupted installation left is installed again.
        if part.captured([python, "-c", "import ziglang"]).returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            part.run(["python3", "-m", "venv", folder])
            part.run([f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check", f"ziglang=={ZIG}"])
    return python
