# SPDX-License-Identifier: MIT
"""Builds what is kept, on the day of a freeze.

    make.py VERSION MACHINE    builds and adds the files of a machine, x86_64 or aarch64

Programs have the C++ library inside, so that a later system runs them; plugins are as authors build them. All are small
(-Os) and stripped. The dumps of the ABI (../abidiff) are of the same libraries before they were stripped.
"""

import io
import json
import lzma
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tarfile

import keep

ROOT = keep.HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/abi/abidiff"))
import abi_dump  # noqa: E402  pylint: disable=wrong-import-position

OPTIONS = ["-Dbuildtype=minsize", "-Ddebug=true", "-Dtests=disabled", "-Dconformance=enabled", "-Dexamples=enabled",
           "-Dpython=disabled", "-Dcpu_aoti=disabled", "-Dcuda=disabled", "-Dpt2=disabled", "-Dbenchmarks=disabled",
           "-Dunity=on", "-Dunity_size=100", "-Dprogram_link_args=['-static-libstdc++', '-static-libgcc']"]
# By the names that they are kept by.
BUILT = {
    "hello.so": "examples/backends/hello.so",
    "demo_backend.so": "examples/backends/demo_backend.so",
    "tenon-run": "examples/programs/tenon-run/tenon-run",
    "tenon-conformance": "tests/conformance/tenon-conformance",
}
LIBRARY = "include/tenon/host/libtenon.so.1.0.0"
# Of the templates. The one for Python has the source of the minimal one.
PLUGINS = {
    "minimal.so": "templates/minimal/my_npu.cpp",
    "full.so": "templates/full/runtime/my_npu_backend.cpp",
    "wrapper.so": "templates/wrapper/runtime/my_npu.cpp",
}
RUNTIME = "libnpu_runtime.so", "templates/wrapper/stand_in/npu_runtime.cpp"
# What the tests give to plugins: it changes with them, and so is of the same day.
DATA = {
    "hello.tar": "tests/conformance/cases/hello",
    "demo_backend.tar": "tests/conformance/cases/demo_backend",
    "full.tar": "templates/full/test/golden",
    "wrapper.tar": "templates/wrapper/test/cases",
}
# As the Makefile of a template has them.
PLUGIN_FLAGS = ["-fvisibility-inlines-hidden", "-Wl,--version-script=include/tenon/abi/tenon-plugin.map", "-Wl,-z,defs",
                '-DTENON_PLUGIN_VERSION="0.1.0"', "-Iinclude"]


def declared(version, frozen=keep.HERE.parent / "frozen"):
    """The "DATE COMMIT" of the freeze of the ABI; kept binaries are of that day."""
    path = frozen / f"abi-{version}.json"
    text = json.loads(path.read_text(encoding="utf-8"))["frozen"] if path.exists() else None
    if not text:
        raise keep.Refused(f"ABI {version}: the freeze is not declared (tests/abi/boundary.py declare)")
    return text


def commit(root=ROOT):
    """The commit that is checked out, without changes outside of this folder."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], check=True, text=True, capture_output=True).stdout

    changed = [line[3:] for line in git("status", "--porcelain").splitlines()
               if not line[3:].startswith("tests/abi/kept/")]
    if changed:
        raise keep.Refused(f"expected the sources of a commit, found changes in {', '.join(changed)}")
    return git("rev-parse", "HEAD").strip()


def sysroot_of_arm64():
    """Of the folder that `./dev cross arm64` made."""
    here = ROOT / "build/cross/arm64/here.ini"
    if not here.exists():
        sys.exit("run `./dev cross arm64` first: it makes the libraries of arm64")
    [line] = [line for line in here.read_text(encoding="utf-8").splitlines() if line.startswith("sysroot = ")]
    return line.split("'")[1], here


def tools(machine):
    """The compiler for C++, the program that strips, and words for `meson setup`."""
    if machine == "x86_64":
        return ["g++"], ["strip"], []
    root, here = sysroot_of_arm64()
    # The programs name the dynamic linker of a system, not the linker of tests/cross/arm64.ini, which is a path of this
    # machine. So the emulator has to find it, when Meson runs what it compiled.
    os.environ["QEMU_LD_PREFIX"] = root
    words = ["--cross-file", str(here), "--cross-file", str(ROOT / "tests/cross/arm64.ini"),
             f"-Dcpp_link_args=--sysroot={root}", f"-Dc_link_args=--sysroot={root}"]
    return ["aarch64-linux-gnu-g++", f"--sysroot={root}"], ["aarch64-linux-gnu-strip"], words


def run(*words):
    """A command, in the root of the sources."""
    print("$", shlex.join(map(str, words)), flush=True)
    subprocess.run(words, cwd=ROOT, check=True)


def compile_library(compiler, source, path, *flags):
    """A plugin of a template, or the stand-in for the library that the wrapper's plugin loads."""
    template = "/".join(source.split("/")[:2])
    run(*compiler, "-std=c++20", "-Os", "-fPIC", "-shared", "-s", *flags, f"-I{template}", source, "-o", path, "-ldl")


def contents(folder):
    """The files of a folder by name, without exported models, which no test here reads."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in pathlib.Path(folder).rglob("*")
            if path.is_file() and path.suffix != ".pt2"}


def array_of(values):
    """A file of numpy with float32 numbers of the shape (2, 3)."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<6f", *values)


def case_of_minimal():
    """The case that templates/minimal/my_npu_case.cpp writes: its program is in the template for Python."""
    values = [-2, -1, 0, 0.25, 3, 1e6]
    return {"scale/model.pte": (ROOT / "templates/python/tests/scale.pte").read_bytes(),
            "scale/input_0.npy": array_of(values), "scale/expected_0.npy": array_of([1.5 * value for value in values])}


def packed(files):
    """Files by name as the bytes of a tar that depends on names and contents alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def make(store, version, machine, facts):
    """Builds everything for a machine and adds it to a keep.Store."""
    compiler, strip, words = tools(machine)
    build = ROOT / f"build/keep-{machine}"
    run("meson", "setup", *(["--reconfigure"] if (build / "build.ninja").exists() else []), build, *OPTIONS, *words)
    run("ninja", "-C", build, *BUILT.values(), LIBRARY)
    work = build / "kept"
    work.mkdir(exist_ok=True)
    files = {}
    for name, path in {"libtenon.abi": build / LIBRARY, "hello.abi": build / BUILT["hello.so"]}.items():
        files[name] = abi_dump.dump(os.path.realpath(path)).encode()
    for name, path in BUILT.items():
        run(*strip, "-o", work / name, build / path)
    for name, source in PLUGINS.items():
        compile_library(compiler, source, work / name, *PLUGIN_FLAGS)
    compile_library(compiler, RUNTIME[1], work / RUNTIME[0])
    for name in (*BUILT, *PLUGINS, RUNTIME[0]):
        files[name] = (work / name).read_bytes()
    facts["compiler"] = subprocess.run([compiler[0], "--version"], check=True, text=True,
                                       capture_output=True).stdout.splitlines()[0]
    for name, data in files.items():
        store.add(f"{version}/{machine}/{name}", data)
        print(f"{name}: {len(data)} bytes, {len(lzma.compress(data))} packed")
    for name, folder in DATA.items():
        store.add(f"{version}/data/{name}", packed(contents(ROOT / folder)))
    store.add(f"{version}/data/minimal.tar", packed(case_of_minimal()))
    store.made(version, machine, facts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    store, (version, machine) = keep.Store(), sys.argv[1:]
    try:
        if store.names(machine, version):
            raise keep.Refused(f"{version}/{machine}: kept already: a kept binary is never rebuilt")
        make(store, version, machine, {"frozen": declared(version), "commit": commit()})
    except keep.Refused as error:
        sys.exit(f"not ok: {error}")


if __name__ == "__main__":
    main()
