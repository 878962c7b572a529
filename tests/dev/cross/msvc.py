# SPDX-License-Identifier: MIT
"""The headers for authors, and plugins, by the rules of Microsoft's compiler as clang-cl has them: its target, its
extensions, no GNU C. Nothing is linked: that takes Visual Studio. The C++ library is LLVM's and the C library's headers
are mingw-w64's. Both come from zig, expect GNU C, and are read before it is switched off."""

import os
import pathlib
import re

FOLDER = pathlib.Path("build/cross/msvc")
# How libc++ was configured, which its builds write to a header, and zig to the command line.
CONFIGURATION = """
  ABI_VERSION=1 ABI_NAMESPACE=__1 HAS_THREADS=1 HAS_THREAD_API_WIN32=1 HAS_THREAD_API_PTHREAD=0
  HAS_THREAD_API_EXTERNAL=0 HAS_MONOTONIC_CLOCK=1 HAS_TERMINAL=0 HAS_MUSL_LIBC=0 HAS_FILESYSTEM=1
  HAS_RANDOM_DEVICE=1 HAS_LOCALIZATION=0 HAS_UNICODE=1 HAS_WIDE_CHARACTERS=1 HAS_TIME_ZONE_DATABASE=0
  HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0 PSTL_BACKEND_SERIAL=1 NO_VCRUNTIME=1
  HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_ENFORCE
""".split()
SOURCES = [f"examples/backends/{name}/{name}.cpp" for name in ("hello", "demo_backend", "arithmetic_kernels")]


def _headers():
    include = pathlib.Path("include/tenon")
    found = [path for part in ("abi", "core", "backend", "aot") for path in (include / part).rglob("*.h*")
             if path.suffix in (".h", ".hpp") and "compiler" not in path.parts
             # What reads JSON, and what asks the processor, is for hosts. <intrin.h> contradicts mingw-w64's headers.
             and not re.search("#include <(nlohmann/|intrin.h)|^/// Only POSIX systems have this header",
                               path.read_text(encoding="utf-8"), re.M)]
    return sorted(str(path) for path in [*found, include / "tenon.hpp", include / "aot.hpp",
                                        include / "host/c/tenon_host.h"])


def check(part, python):
    """How many headers and plugins were compiled; fails where one is not accepted."""
    lib = part.output([python, "-c", "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / 'lib')"])
    FOLDER.mkdir(parents=True, exist_ok=True)
    headers = _headers()
    # All headers of the standard library that the sources below include, and then no GNU C.
    standard = {line for path in [*headers, *SOURCES]
                for line in re.findall(r"(?m)^#include <[a-z_]*>$", pathlib.Path(path).read_text(encoding="utf-8"))}
    (FOLDER / "standard.hpp").write_text("\n".join([*sorted(standard), "#undef __GNUC__", ""]), encoding="utf-8")
    (FOLDER / "headers.cpp").write_text(
        "".join(f"#include <{path[len('include/'):]}>\n" for path in headers), encoding="utf-8")
    options = [
        "--target=x86_64-pc-windows-msvc", "-fms-compatibility-version=19.40", "-fms-extensions", "-fgnuc-version=12",
        "-nostdinc", *(word for folder in ("libcxx/include", "include", "libc/include/any-windows-any")
                       for word in ("-isystem", f"{lib}/{folder}")),
        *(f"-D_LIBCPP_{name}" for name in CONFIGURATION), "-D__CORRECT_ISO_CPP_WCHAR_H_PROTO", "-Iinclude", "-x", "c++",
        "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    for source in [FOLDER / "headers.cpp", *SOURCES]:
        part.run([python, "-m", "ziglang", "clang", *options, "-include", FOLDER / "standard.hpp", source],
                 env={"ZIG_GLOBAL_CACHE_DIR": os.path.abspath("build/cross/msvc-cache")})
    return f"{len(headers)} headers, {len(SOURCES)} plugins"
