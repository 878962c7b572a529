# SPDX-License-Identifier: MIT
"""Libraries of the system for a wheel: those that manylinux does not promise are copied next to what
needs them, with their licences.

auditwheel does the same for extension modules. It cannot for programs, for what is loaded by name,
and for plugins: a host loads a plugin's neighbours by their own names (docs/hosts/discovery.md).
"""

import pathlib
import re
import shutil
import subprocess

# Of every platform with a tag manylinux_2_34 or later (PEP 600), as auditwheel's policies have it.
PROMISED = re.compile(
    r"ld-linux-x86-64\.so\.2|lib(c|m|dl|rt|pthread|mvec|resolv|util)\.so\.\d+|"
    r"libgcc_s\.so\.1|libstdc\+\+\.so\.6|libz\.so\.1|"
    # The bridge to stock ExecuTorch is used in a process that has ExecuTorch's own library.
    r"libexecutorch\.so")


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def needed_by(path):
    """DT_NEEDED of a library or program."""
    return output("patchelf", "--print-needed", path).split()


def system_library(name):
    """The file that the dynamic loader of this machine has for `name`."""
    for line in output("/sbin/ldconfig", "-p").splitlines():
        words = line.split()
        if words and words[0] == name and "x86-64" in line:
            return pathlib.Path(words[-1]).resolve()
    raise FileNotFoundError(f"{name}: the system has no such library, which the wheel would contain")


def graft(files, folder, origin="$ORIGIN", loaded_by_name=None):
    """Copies what `files` need, and what of it needs, to `folder`, and sets run paths: `origin` for
    the files themselves, $ORIGIN for the copies. Gives the copies with the system's files."""
    copies = {}
    waiting = [(path, name) for path in files for name in
               (*needed_by(path), *(loaded_by_name or {}).get(path, ()))]
    while waiting:
        user, name = waiting.pop()
        if PROMISED.fullmatch(name) or name in copies:
            continue
        found = system_library(name)
        folder.mkdir(parents=True, exist_ok=True)
        copies[name] = found
        shutil.copy2(found, folder / name)
        (folder / name).chmod(0o755)
        waiting += [(folder / name, more) for more in needed_by(folder / name)]
    for path in files:
        if any(not PROMISED.fullmatch(name) for name in needed_by(path)):
            subprocess.run(["patchelf", "--set-rpath", origin, path], check=True)
    for name in copies:
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", folder / name], check=True)
    return {folder / name: found for name, found in copies.items()}


def package_of(library):
    """Debian's package that has it. By the last directory, too: a compiler for another processor brings libraries of the
    same names, and dpkg may know /lib/x86_64-linux-gnu as /usr/lib/x86_64-linux-gnu."""
    return output("dpkg", "-S", f"*/{library.parent.name}/{library.name}").split(":")[0]


def add_licences(copies, folder, packages=()):
    """The licence texts of Debian's packages that the copies are from, and of `packages`."""
    for package in sorted({*map(package_of, copies.values()), *packages}):
        shutil.copy2(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")
