# SPDX-License-Identifier: MIT
"""What has to be installed: Debian's packages, and wheels from PyPI that tests are built and run with."""

import glob
import os
import pathlib
import platform
import re
import shutil
import subprocess

from dev.part import Failed, alone

# By the command, or the file, that shows that a package is there.
PROGRAMS = {
    "meson": "meson", "ninja": "ninja-build", "pkg-config": "pkg-config", "g++": "g++", "clang++": "clang",
    "clang-format-19": "clang-format-19", "ld.lld": "lld", "flatc": "flatbuffers-compiler", "python3": "python3",
    "nm": "binutils", "doxygen": "doxygen", "make": "make", "cmake": "cmake", "valgrind": "valgrind",
}
# By their names for pkg-config.
LIBRARIES = {
    "fmt": "libfmt-dev", "flatbuffers": "libflatbuffers-dev", "CLI11": "libcli11-dev",
    "nlohmann_json": "nlohmann-json3-dev", "libzip": "libzip-dev",
}
# Without files for pkg-config, or loaded by name.
FILES = {
    "libdnnl-dev": ("/usr/include/dnnl.h", "/usr/include/x86_64-linux-gnu/dnnl.h"),
    "libsleef3": ("/usr/lib/*/libsleef.so.3",),
    "libkissfft-float131": ("/usr/lib/*/libkissfft-float.so.131",),
    "liblapack3": ("/usr/lib/*/liblapack.so.3",),
    "libsodium23": ("/usr/lib/*/libsodium.so.23",),
    # A driver that runs on every machine, for the OpenCL example.
    "ocl-icd-libopencl1": ("/usr/lib/*/libOpenCL.so.1",),
    "pocl-opencl-icd": ("/etc/OpenCL/vendors/pocl.icd",),
}
MODULES = {
    "ensurepip": "python3-venv", "pip": "python3-pip", "jsonschema": "python3-jsonschema",
    "junitparser": "python3-junitparser",
}
# Other processors, for `./dev slow`.
EMULATORS = {"qemu-x86_64-static": "qemu-user-static"}
# Comparisons of libraries by their debug information, for `./dev quick`: the other builds have none.
ABIGAIL = {"abidiff": "abigail-tools"}


def use_system_python():
    """Debian's packages for Python belong to Debian's Python, also where another one is first on the path."""
    if not os.access("/usr/bin/python3", os.X_OK):
        return
    link = pathlib.Path("build/bin/python3").absolute()
    link.parent.mkdir(parents=True, exist_ok=True)
    if not (link.is_symlink() and os.readlink(link) == "/usr/bin/python3"):
        link.unlink(missing_ok=True)
        link.symlink_to("/usr/bin/python3")
    if not os.environ["PATH"].startswith(f"{link.parent}:"):
        os.environ["PATH"] = f"{link.parent}:{os.environ['PATH']}"


def missing_of(entries):
    """The packages of a table by command or file that are not there."""
    return {package for found, package in entries.items() if not (shutil.which(found) or os.path.exists(found))}


def _printed(*words):
    """What a program prints; nothing where it is not there or fails."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _missing_of_python():
    # Python's own headers come last. Without Python none of these can be asked for, and all are missing.
    script = ("import importlib.util, os, sys, sysconfig\n"
              "for name in sys.argv[1:]:\n"
              "  if importlib.util.find_spec(name): print(name)\n"
              "if os.path.exists(sysconfig.get_paths()['include'] + '/Python.h'): print('headers')")
    found = _printed("python3", "-c", script, *MODULES).split()
    missing = {package for module, package in MODULES.items() if module not in found}
    return missing if "headers" in found else missing | {"python3-dev"}


def missing():
    """The packages that a build needs and that are not there."""
    names = missing_of(PROGRAMS) | _missing_of_python()
    has = shutil.which("pkg-config") is not None

    def has_library(name):
        return has and subprocess.run(["pkg-config", "--exists", name], check=False).returncode == 0

    names |= {package for name, package in LIBRARIES.items() if not has_library(name)}
    if not has_library("catch2") and not has_library("catch2-with-main"):
        names.add("catch2")
    names |= {package for package, patterns in FILES.items() if not any(map(glob.glob, patterns))}
    # Zydis decodes x86-64 alone.
    if platform.machine() == "x86_64" and not os.path.exists("/usr/include/Zydis/Zydis.h"):
        names.add("libzydis-dev")
    # Sanitizers of clang are in a package of their own; its name has clang's version.
    version = re.match(r"\d+", _printed("clang++", "-dumpversion"))
    if version:
        folder = _printed("clang++", "-print-resource-dir").strip()
        if not glob.glob(f"{folder}/lib/linux/libclang_rt.fuzzer-*.a"):
            names.add(f"libclang-rt-{version[0]}-dev")
    return names


def _as_root():
    return [] if os.geteuid() == 0 else ["sudo", "-n"]


def _can_install():
    return shutil.which("apt-get") is not None and (
        os.geteuid() == 0 or
        (shutil.which("sudo") is not None and subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True)
         .returncode == 0))


def install(part, names, update=True):
    """Installs packages with apt, as root or by sudo."""
    names = sorted(names)
    if not names:
        return
    if not _can_install():
        part.print(f"dev: on Debian or Ubuntu: apt-get install {' '.join(names)}")
        raise Failed(f"missing, and cannot be installed from here: {' '.join(names)}")
    part.say(f"installing {' '.join(names)}")
    # In this session, as sudo may know who is at its terminal.
    here = {"start_new_session": False}
    apt = [*_as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    if update:
        part.run([*apt, "update", "-qq"], **here)
    part.run([*apt, "install", "-y", "-qq", *names], stdout=subprocess.DEVNULL, **here)


def need(part, entries):
    """Installs what is missing of a table by command or file."""
    with alone("packages"):
        install(part, missing_of(entries))


def setup(part, more=None):
    """Installs what is missing, and of `more`, a table by command or file."""
    more = more or {}
    use_system_python()
    with alone("packages"):
        names = missing() | missing_of(more)
        if not names:
            return
        install(part, names)
        use_system_python()
        # clang may have come just now, and its sanitizers with it.
        install(part, missing() | missing_of(more), update=False)


def from_pypi(part):
    """The wheels that the bridges are compiled against and that the OpenVINO plugin is tested with, and what the Python
    package is built with, 97 MB, before a build is configured. What needs a missing package is left out."""
    fetching = [part.aside(name, lambda own, script: own.call([script], stdout=subprocess.DEVNULL), f".ci/{name}")
                for name in ("fetch-executorch-wheel", "fetch-openvino-wheel", "fetch-python-build")]
    for each in fetching:
        part.join(each)
