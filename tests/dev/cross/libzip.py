# SPDX-License-Identifier: MIT
"""libzip, and zlib for it, compiled from Debian's sources for a system that Debian has no library for: tenon-compile reads
PyTorch's archives with it. Once for each system, into ~/.cache/tenon."""

import glob
import os
import pathlib
import re
import shutil

from dev.cross.roots import RELEASE, apt_of, made_once
from dev.cross.target import cache
from dev.part import Failed

OF_ZLIB = ("adler32", "compress", "crc32", "deflate", "infback", "inffast", "inflate", "inftrees", "trees", "uncompr",
           "zutil")
WITHOUT = [f"-D{name}=OFF" for name in (
    "BUILD_SHARED_LIBS", *(f"ENABLE_{name}" for name in ("COMMONCRYPTO", "GNUTLS", "MBEDTLS", "OPENSSL", "WINDOWS_CRYPTO",
                                                         "BZIP2", "LZMA", "ZSTD")),
    *(f"BUILD_{name}" for name in ("TOOLS", "REGRESS", "EXAMPLES", "DOC")))]


def _unpack_sources(part, work, names):
    """The upstream sources of Debian's packages, into WORK/NAME."""
    state = f"{work}/apt"
    apt = apt_of(state, "deb-src", RELEASE)
    part.run([*apt, "update"])
    part.run([*apt, "source", "--download-only", *names], cwd=state)
    for name in names:
        archives = glob.glob(f"{state}/{name}_*.orig.tar.*")
        archives = [archive for archive in archives if not archive.endswith(".asc")]
        if not archives:
            raise Failed(f"no upstream sources of {name} in {state}")
        os.makedirs(f"{work}/{name}")
        part.run(["tar", "-xf", archives[0], "-C", f"{work}/{name}", "--strip-components=1"])


def _make_zlib(part, cc, work, root):
    objects = []
    for name in OF_ZLIB:
        objects.append(f"{work}/{name}.o")
        # zlib takes macOS for Mac OS 9, which had no such function.
        part.run([*cc, "-O2", "-w", "-Dfdopen=fdopen", "-c", f"{work}/zlib/{name}.c", "-o", objects[-1]])
    part.run(["llvm-ar", "rcs", root / "lib/libz.a", *objects])
    for header in ("zlib.h", "zconf.h"):
        shutil.copy(f"{work}/zlib/{header}", root / "include")


def libzip(part, name, system, cc):
    """The folder with include/, lib/ and libzip.pc. SYSTEM as CMake names it, which asks for tools of Apple where it is
    Darwin: any Unix is right there."""
    kept = cache(f"cross/libzip-{name}")

    def make(work):
        root = pathlib.Path(work, "root")
        for folder in ("include", "lib"):
            (root / folder).mkdir(parents=True)
        _unpack_sources(part, work, ("zlib", "libzip"))
        _make_zlib(part, cc, work, root)
        library = root / "lib/libz.a"
        part.run(["cmake", "-S", f"{work}/libzip", "-B", f"{work}/build", "-G", "Ninja", f"-DCMAKE_SYSTEM_NAME={system}",
                  f"-DCMAKE_AR={shutil.which('llvm-ar')}", f"-DCMAKE_RANLIB={shutil.which('llvm-ranlib')}",
                  "-DCMAKE_BUILD_TYPE=Release", f"-DZLIB_LIBRARY={library}", f"-DZLIB_LIBRARY_RELEASE={library}",
                  f"-DZLIB_INCLUDE_DIR={root}/include", *WITHOUT], env={"CC": " ".join(cc)})
        part.run(["ninja", "-C", f"{work}/build", "lib/libzip.a"])
        shutil.copy(f"{work}/build/lib/libzip.a", root / "lib")
        for header in (f"{work}/libzip/lib/zip.h", f"{work}/build/zipconf.h"):
            shutil.copy(header, root / "include")
        version = re.search(r'#define LIBZIP_VERSION "(.*)"', (root / "include/zipconf.h").read_text(encoding="utf-8"))
        (root / "libzip.pc").write_text(
            f"Name: libzip\nDescription: read and write ZIP archives\nVersion: {version[1]}\n"
            f"Cflags: -isystem {kept}/include\nLibs: -L{kept}/lib -lzip -lz\n", encoding="utf-8")
        return root

    return made_once(kept, make)
