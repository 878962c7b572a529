# SPDX-License-Identifier: MIT
"""Makes the wheels `tenon-ml`: build_wheel.py [--python PATH]... ROOT FOLDER (`./dev wheel` runs it).

One wheel serves each of the interpreters: Python 3.12 and later share one, by the stable ABI. Without --python they are
those that are at hand (pythons.py).

meson-python builds the Python package. What an installation of Tenon has besides (programs, headers,
files for CMake and pkg-config, templates, plugins) is added as data of the wheel, so that the
environment it is installed into is a prefix of Tenon. Libraries of the system that a wheel may not
rely on are added with their licences; auditwheel checks the result and names the platform.

The wheels are left in FOLDER/dist; with SOURCE_DATE_EPOCH their bytes follow from the sources. FOLDER/meson is a build directory, reused by the next call and for all
interpreters: the extension modules alone are compiled again for each. FOLDER/venv has meson-python, auditwheel and
the rest of requirements.txt from PyPI, FOLDER/venv-X.Y what an interpreter builds with.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import graft
import nanobind_licences
import pythons

ABI_MAJOR = "1"
PLUGINS = f"share/tenon/plugins-{ABI_MAJOR}"
LIBRARIES = "share/tenon/libraries"
OPTIONS = [
    "-Doptimization=2", "-Dunity=on", "-Dunity_size=100",
    "-Dpython=enabled", "-Dpt2=enabled", "-Dcpu_aoti=enabled", "-Dtests=disabled",
    "-Dconformance=enabled", "-Dbenchmarks=disabled", "-Dcuda=disabled",
    "-Dlibdir=lib", "-Dplugindir=" + PLUGINS,
]
TAGS = ("runtime", "devel")
PLUGIN_FILES = {
    "reference_backends/cpu_aoti/cpu_aoti.so": "cpu_aoti.so",
    "examples/backends/graph_backend/graph_backend.so": "graph_backend.so",
    "examples/backends/quantized_kernels.so": "quantized_kernels.so",
}
# Debian's packages whose headers are compiled into what the wheel has.
HEADERS = ("libcli11-dev", "libflatbuffers-dev", "libfmt-dev", "nlohmann-json3-dev")
# What CpuAotiBackend loads by name when it is used, besides oneDNN and Zydis. LAPACK is left to the system, whose
# administrator may have chosen a faster one (docs/python/packages.md).
LOADED_BY_NAME = {"cpu_aoti.so": ["libsleef.so.3", "libkissfft-float.so.131"]}


def run(*command, **arguments):
    return subprocess.run([os.fspath(word) for word in command], check=True, text=True, **arguments)


def make_environment(python, folder):
    """The environment FOLDER with requirements.txt, which is made anew when its contents are others."""
    listed = pathlib.Path(__file__).with_name("requirements.txt")
    complete = folder / "requirements.txt"
    if not complete.is_file() or complete.read_text() != listed.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder)
        run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", listed)
        shutil.copy2(listed, complete)


def enter_environment(folder):
    """Runs this script again in FOLDER/venv. Returns when that is where it runs."""
    # Debian's own: other installations may lack a shared library or the headers.
    make_environment(pythons.SYSTEM if os.path.exists(pythons.SYSTEM) else sys.executable, folder)
    if pathlib.Path(sys.prefix) == folder:
        return
    python = folder / "bin/python"
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    os.execv(python, [str(python), *sys.argv])


def link_sources(root, folder):
    """A directory for pyproject.toml next to the project's meson.build, as meson-python wants
    it. Links alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in sorted({path.name for path in root.iterdir()} - {".git", "README.md", "build"}):
        (folder / name).symlink_to(os.path.relpath(root / name, folder))
    (folder / "README.md").symlink_to(os.path.relpath(root / "examples/python/README.md", folder))


def write_metadata(root, source, is_stable):
    """pyproject.toml, which says whether the package is built by the stable ABI."""
    text = (root / "examples/python/pyproject.toml").read_text(encoding="utf-8")
    if is_stable:
        text += "\n[tool.meson-python]\nlimited-api = true\n"
    (source / "pyproject.toml").unlink(missing_ok=True)
    (source / "pyproject.toml").write_text(text, encoding="utf-8")


def targets_of(build):
    """What the wheels hold of what the project can build, for any Python."""
    plan = json.loads((build / "meson-info/intro-install_plan.json").read_text())
    wanted = [path for path, about in plan["targets"].items() if about["tag"] in TAGS]
    files = {target["filename"][0] for target
             in json.loads((build / "meson-info/intro-targets.json").read_text())}
    return [os.path.relpath(path, build) for path in wanted if path in files] + list(PLUGIN_FILES)


def build_native(source, build):
    """All that no version of Python is in, in a build directory that is there for the next call."""
    if not (build / "build.ninja").is_file():
        run("meson", "setup", source, build, "-Dbuildtype=release", "-Db_ndebug=if-release", *OPTIONS)
    # Otherwise targets have the names of the build before.
    run("ninja", "-C", build, "build.ninja")
    run("ninja", "-C", build, *targets_of(build))


# What an interpreter runs in its own environment, whose meson-python names the wheel for it.
BUILD_WHEEL = "import json, sys, mesonpy; print(mesonpy.build_wheel(sys.argv[1], json.loads(sys.argv[2])))"


def build_package(root, source, build, python, folder):
    """The wheel with the Python package alone for an interpreter."""
    environment = folder / ("venv" if python.path == pythons.SYSTEM else f"venv-{python.name}")
    make_environment(python.path, environment)
    write_metadata(root, source, python.is_stable)
    out = folder / f"package-{python.name}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    settings = {
        "build-dir": str(build),
        "setup-args": [*OPTIONS, f"-Dpython_stable_abi={str(python.is_stable).lower()}"],
        "compile-args": ["python-package"],
        "install-args": ["--tags=python"],
    }
    run(environment / "bin/python", "-c", BUILD_WHEEL, out, json.dumps(settings), cwd=source,
        env=os.environ | {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}"})
    [package] = out.iterdir()
    return package


def stage_prefix(build, stage):
    """The files of an installation, without the Python package."""
    shutil.rmtree(stage, ignore_errors=True)
    run("meson", "install", "-C", build, "--no-rebuild", "--skip-subprojects", "--quiet",
        "--tags", ",".join(TAGS), "--destdir", stage)
    [header] = stage.rglob("include/tenon/tenon.hpp")
    prefix = header.parents[2]
    # A wheel cannot hold the links by which a shared library is found.
    for path in (*prefix.glob("lib/libtenon.so*"), prefix / "lib/pkgconfig/tenon-c.pc"):
        path.unlink()
    plugins = prefix / PLUGINS
    plugins.mkdir(parents=True, exist_ok=True)
    for built, name in PLUGIN_FILES.items():
        shutil.copy2(build / built, plugins / name)
    # Applications that are compiled against these headers search the environment they are in.
    up = "/".join([".."] * 4)
    header = prefix / "include/tenon/host/plugindir.hpp"
    header.write_text(header.read_text().split("//  Made")[0].split("#define")[0] +
                      f'#define TENON_PLUGINDIR __FILE__ "/{up}/{PLUGINS}"\n'
                      f'#define TENON_WORKERDIR __FILE__ "/{up}/libexec/tenon"\n')
    return prefix


def onednn_of(plugin):
    """The name of the oneDNN that CpuAotiBackend was compiled for, which it has as a text."""
    [name] = set(re.findall(rb"libdnnl\.so\.[0-9.]*[0-9](?=\0)", plugin.read_bytes()))
    return name.decode()


def zydis(header=pathlib.Path("/usr/include/Zydis/Zydis.h")):
    """The name of Zydis, in the version of its headers; none where a plugin is built without it."""
    if not header.exists():
        return []
    # (ZyanU64)0x... until 4.0, 0x...ULL from 4.1 on.
    [version] = re.findall(r"#define ZYDIS_VERSION (?:\(ZyanU64\))?0x([0-9A-Fa-f]{16})", header.read_text())
    return [f"libZydis.so.{int(version[:4], 16)}.{int(version[4:8], 16)}"]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def add_prefix(prefix, unpacked):
    """Copies the prefix into the wheel: programs to `scripts`, all else to `data`."""
    [info] = unpacked.glob("*.dist-info")
    data = unpacked / info.name.replace(".dist-info", ".data")
    data.mkdir(exist_ok=True)
    (data / "scripts").mkdir(exist_ok=True)
    shutil.copytree(prefix, data / "data", symlinks=True)
    for program in sorted((data / "data/bin").iterdir()):
        shutil.move(program, data / "scripts" / program.name)
    (data / "data/bin").rmdir()
    return data, info


def pack(root, package, prefix, folder):
    """The wheel with everything in it, and the names of libraries that auditwheel need not add."""
    work = folder / "unpacked"
    shutil.rmtree(work, ignore_errors=True)
    run(sys.executable, "-m", "wheel", "unpack", package, "--dest", work, stdout=subprocess.DEVNULL)
    [unpacked] = work.iterdir()
    data, info = add_prefix(prefix, unpacked)
    for path in unpacked.rglob("*"):
        if path.is_file() and is_elf(path):
            run("strip", "--strip-unneeded", path)
        elif path.suffix == ".a":
            run("strip", "--strip-debug", "--enable-deterministic-archives", path)
    licences = info / "licenses"
    licences.mkdir(exist_ok=True)
    for name in ("LICENSE", "NOTICE"):
        shutil.copy2(root / name, licences / name)

    plugins = data / "data" / PLUGINS
    loaded_by_name = {plugins / name: list(also) for name, also in LOADED_BY_NAME.items()}
    loaded_by_name[plugins / "cpu_aoti.so"].extend([onednn_of(plugins / "cpu_aoti.so"), *zydis()])
    grafted = graft.graft([plugins / name for name in PLUGIN_FILES.values()], plugins,
                          loaded_by_name=loaded_by_name)
    # Where each is in an environment: bin, and lib/pythonX.Y/site-packages.
    depths = {path: 1 for path in sorted((data / "scripts").iterdir())}
    depths |= {path: len(path.relative_to(unpacked).parts) + 2
               for path in sorted((unpacked / "tenon").rglob("*.so"))}
    for path, depth in depths.items():
        grafted |= graft.graft([path], data / "data" / LIBRARIES,
                               origin=f"$ORIGIN/{'../' * depth}{LIBRARIES}")
    graft.add_licences(grafted, licences, HEADERS)
    nanobind = pathlib.Path(importlib.util.find_spec("nanobind").origin).parent
    for name, text in zip(("nanobind", "robin-map"), nanobind_licences.read(nanobind)):
        (licences / f"{name}.txt").write_text(text, encoding="utf-8")

    # A wheel has the files' modes, which in a checkout follow from someone's umask.
    for path in unpacked.rglob("*"):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    complete = folder / "complete"
    shutil.rmtree(complete, ignore_errors=True)
    complete.mkdir()
    run(sys.executable, "-m", "wheel", "pack", unpacked, "--dest-dir", complete,
        stdout=subprocess.DEVNULL)
    [wheel] = complete.iterdir()
    return wheel, ["libexecutorch.so", *(path.name for path in grafted)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    root, folder = given.root.resolve(), given.folder.resolve()
    try:
        served = [pythons.read(path) for path in given.python] or pythons.at_hand()
        builders = pythons.builders(served)
    except pythons.Refused as refused:
        sys.exit(f"build_wheel: {refused}")
    if not builders:
        sys.exit("build_wheel: found no Python 3.10 or later with its headers; --python names one")
    enter_environment(folder / "venv")
    source, build, dist = folder / "source", folder / "meson", folder / "dist"
    link_sources(root, source)
    build_native(source, build)
    prefix = stage_prefix(build, folder / "stage")
    shutil.rmtree(dist, ignore_errors=True)
    for python in builders:
        package = build_package(root, source, build, python, folder)
        wheel, provided = pack(root, package, prefix, folder)
        run(sys.executable, "-m", "auditwheel", "repair", *(f"--exclude={name}" for name in provided),
            "--wheel-dir", dist, wheel)
    for made in sorted(dist.iterdir()):
        print(f"{os.path.relpath(made)}: {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
