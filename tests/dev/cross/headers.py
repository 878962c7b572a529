# SPDX-License-Identifier: MIT
"""Builds for another system or C++ library with the headers of this machine's packages."""

import os
import pathlib

from dev import builds

# By their names for pkg-config, the folder of /usr/include.
PACKAGES = {"fmt": "fmt", "flatbuffers": "flatbuffers", "nlohmann_json": "nlohmann", "CLI11": "CLI", "catch2": "catch2"}


def describe(part, folder):
    """Descriptions for pkg-config of the packages of `./dev setup` that are used as headers alone, and
    FOLDER/packages.ini for Meson, which points to them and says where the sources are."""
    folder = pathlib.Path(folder).absolute()
    # /usr/include itself would bring in the headers of glibc.
    (folder / "include").mkdir(parents=True, exist_ok=True)
    for name, headers in PACKAGES.items():
        link = folder / "include" / headers
        link.unlink(missing_ok=True)
        link.symlink_to(f"/usr/include/{headers}")
        version = part.output(["pkg-config", "--modversion", name])
        more = " -DFMT_HEADER_ONLY" if name == "fmt" else ""
        (folder / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: the headers of this machine\nVersion: {version}\n"
            f"Cflags: -isystem {folder}/include{more}\n", encoding="utf-8")
    (folder / "packages.ini").write_text(
        f"[constants]\nsource = '{os.getcwd()}'\n[properties]\npkg_config_libdir = '{folder}'\n", encoding="utf-8")


def cross_build(part, folder, files, names, tests):
    """Configures the host, its programs, the kit and the example plugins with cross files of tests/cross, and with `tests`
    the unit tests; compiles what is named. Archives of PyTorch are read where FOLDER-packages has libzip. One translation
    unit a target, not optimised: it is not measured."""
    packages = f"{folder}-packages"
    describe(part, packages)
    pt2 = "enabled" if os.path.isfile(f"{packages}/libzip.pc") else "disabled"
    if not builds.is_configured(folder):
        builds.set_up(part, folder, [
            "--cross-file", f"{packages}/packages.ini", *(f"--cross-file=tests/cross/{file}.ini" for file in files),
            "--wrap-mode=nofallback", "--buildtype=release", "-Doptimization=0", "-Dwerror=true",
            *builds.TOGETHER,
            f"-Dtests={'enabled' if tests else 'disabled'}", "-Dconformance=enabled", "-Dpython=disabled", f"-Dpt2={pt2}",
            "-Dcpu_aoti=disabled", "-Dcuda=disabled", "-Dbenchmarks=disabled"])
    builds.compile_in(part, folder, names, jobs=os.cpu_count())
