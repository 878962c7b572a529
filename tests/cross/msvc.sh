#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Checks the headers for authors, and plugins, by the rules of Microsoft's compiler as clang-cl has them:
# its target, its extensions, no GNU C. Nothing is linked: that takes Visual Studio. The C++ library is
# LLVM's and the C library's headers are those of mingw-w64, both from zig, which expect GNU C and are
# read before it is switched off. Usage: tests/cross/msvc.sh PYTHON, in the repository's root; zig is the
# package ziglang of PYTHON.
set -euo pipefail

lib=$("$1" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "lib")')
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/cross/msvc-cache
folder=build/cross/msvc
mkdir -p "$folder"

# How libc++ was configured, which its builds write to a header, and zig to the command line.
configuration=(
  ABI_VERSION=1 ABI_NAMESPACE=__1 HAS_THREADS=1 HAS_THREAD_API_WIN32=1 HAS_THREAD_API_PTHREAD=0
  HAS_THREAD_API_EXTERNAL=0 HAS_MONOTONIC_CLOCK=1 HAS_TERMINAL=0 HAS_MUSL_LIBC=0 HAS_FILESYSTEM=1
  HAS_RANDOM_DEVICE=1 HAS_LOCALIZATION=0 HAS_UNICODE=1 HAS_WIDE_CHARACTERS=1 HAS_TIME_ZONE_DATABASE=0
  HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0 PSTL_BACKEND_SERIAL=1 NO_VCRUNTIME=1
  HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_ENFORCE
)
options=(
  --target=x86_64-pc-windows-msvc -fms-compatibility-version=19.40 -fms-extensions -fgnuc-version=12
  -nostdinc -isystem "$lib/libcxx/include" -isystem "$lib/include" -isystem "$lib/libc/include/any-windows-any"
  "${configuration[@]/#/-D_LIBCPP_}" -D__CORRECT_ISO_CPP_WCHAR_H_PROTO -Iinclude
  -x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
)

# All headers of the standard library that the sources below include, and then no GNU C. What reads JSON is for hosts.
sources=(examples/{hello/hello,demo_backend/demo_backend,arithmetic_kernels/arithmetic_kernels}.cpp)
mapfile -t headers < <(find include/tenon/{abi,core,backend} include/tenon/aot include/tenon/{tenon,aot}.hpp \
  -name compiler -prune -o -name '*.hpp' -print -o -name '*.h' -print | xargs grep -L '<nlohmann/' | sort)
{
  sed -n 's/^#include \(<[a-z_]*>\)$/#include \1/p' "${headers[@]}" "${sources[@]}" | sort -u
  echo '#undef __GNUC__'
} >"$folder/standard.hpp"
for header in "${headers[@]#include/}"; do echo "#include <$header>"; done >"$folder/headers.cpp"
for source in "$folder/headers.cpp" "${sources[@]}"; do
  "$1" -m ziglang clang "${options[@]}" -include "$folder/standard.hpp" "$source"
done
echo "${#headers[@]} headers, ${#sources[@]} plugins"
