#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the host, its programs, the kit and the example plugins for Windows with mingw-w64, and runs
# them under Wine. Needs g++-mingw-w64-x86-64-posix and wine64 of Debian, and the packages of `./dev
# setup`, whose headers it uses. Usage: tests/cross/windows.sh [argument of windows_test.py]..., in
# the repository's root.
set -euo pipefail
# shellcheck source=tests/cross/header_packages.sh
. tests/cross/header_packages.sh

build=build/cross/windows
cross_build "$build" tests/cross/windows.ini \
  examples/hello.dll examples/demo_backend.dll examples/graph_backend/graph_backend.dll \
  examples/arithmetic_kernels.dll examples/tenon-run/tenon-run.exe \
  examples/tenon-list/tenon-list.exe examples/tenon-inspect/tenon-inspect.exe \
  examples/tenon-doctor/tenon-doctor.exe tests/conformance/tenon-conformance.exe
for program in unelevated load_and_unload; do
  x86_64-w64-mingw32-g++-posix -std=c++20 -Wall -Wextra -Werror -Iinclude \
    "tests/cross/$program.cpp" -static -fno-use-linker-plugin -wrapper tests/cross/link_with_lld \
    -o "$build/$program.exe" -lpsapi
done
# A plugin of another compiler, with the same C++ library in it.
gcc=$(dirname "$(x86_64-w64-mingw32-g++-posix -print-libgcc-file-name)")
clang++ --target=x86_64-w64-windows-gnu -std=c++20 -nostdinc++ -isystem "$gcc/include/c++" \
  -isystem "$gcc/include/c++/x86_64-w64-mingw32" -Iinclude -c examples/hello/hello.cpp \
  -include tenon/backend/static_libstdcxx.hpp -o "$build/hello_clang.o"
x86_64-w64-mingw32-g++-posix -shared -static -fno-use-linker-plugin \
  -wrapper tests/cross/link_with_lld "$build/hello_clang.o" -o "$build/hello_clang.dll"
# Those of the zoo that ask no POSIX; `pause` is the only exception.
zoo=tests/conformance/zoo
mkdir -p "$build/zoo"
for plugin in $(python3 tests/cross/windows_test.py --zoo); do
  [ "$build/zoo/$plugin.dll" -nt "$zoo/$plugin.c" ] ||
    x86_64-w64-mingw32-gcc-posix -std=c11 -O1 -shared -static '-Dpause()=_sleep(1000)' -Iinclude \
      "$zoo/$plugin.c" -o "$build/zoo/$plugin.dll"
done

exec python3 tests/cross/windows_test.py --build "$build" --wine "${WINE:-/usr/lib/wine/wine64}" "$@"
