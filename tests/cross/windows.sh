#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the host, its programs, the kit and the example plugins for Windows with mingw-w64, and runs
# them under Wine. Needs g++-mingw-w64-x86-64-posix and wine64 of Debian, the packages of `./dev setup`,
# whose headers it uses, and build/cross/native: `./dev cross windows` makes all of them. Usage:
# tests/cross/windows.sh [argument of windows_test.py]..., in the repository's root; with --quick it
# builds what that checks.
set -euo pipefail
# shellcheck source=tests/cross/header_packages.sh
. tests/cross/header_packages.sh
# shellcheck source=tests/cross/libzip.sh
. tests/cross/libzip.sh

build=build/cross/windows
check() { exec python3 tests/cross/windows_test.py --build "$build" --wine "${WINE:-/usr/lib/wine/wine64}" "$@"; }

if [[ " $* " == *" --quick "* ]]; then
  build=build/cross/windows-quick
  mapfile -t units < <(python3 tests/cross/windows_test.py --units --quick)
  # Each program compiles what it uses of the host, which is less than all of it once.
  compiled_host=false cross_build "$build" tests/cross/windows.ini,tests/cross/windows-clang.ini enabled \
    examples/hello.dll examples/demo_backend.dll examples/graph_backend/graph_backend.dll \
    examples/tenon-run/tenon-run.exe tests/conformance/tenon-conformance.exe "${units[@]}"
  check "$@"
fi
mapfile -t units < <(python3 tests/cross/windows_test.py --units)
mkdir -p "$build-packages"
cp "$(libzip windows Windows x86_64-w64-mingw32-gcc-posix)/libzip.pc" "$build-packages"
cross_build "$build" tests/cross/windows.ini enabled "${units[@]}" \
  examples/{hello,demo_backend,arithmetic_kernels,mlp_kernels}.dll examples/graph_backend/graph_backend.dll \
  examples/tenon-{run/tenon-run,list/tenon-list,inspect/tenon-inspect,doctor/tenon-doctor}.exe \
  examples/tenon-{compile/tenon-compile,new/tenon-new}.exe tests/conformance/tenon-conformance.exe
for program in unelevated load_and_unload; do
  x86_64-w64-mingw32-g++-posix -std=c++20 -Wall -Wextra -Werror -Iinclude \
    "tests/cross/programs/$program.cpp" -static -fno-use-linker-plugin -wrapper tests/cross/link_with_lld \
    -o "$build/$program.exe" -lpsapi
done
x86_64-w64-mingw32-g++-posix -std=c++20 -Wall -Wextra -Werror -Iinclude -shared -static \
  -include tenon/backend/static_libstdcxx.hpp tests/unit/tools/compile/two_compilers.cpp \
  -fno-use-linker-plugin -wrapper tests/cross/link_with_lld -o "$build/two_compilers.dll"
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
  library=$build/zoo/$plugin.dll
  [ -f "$library" ] && [ -z "$(find "$zoo/$plugin.c" "$zoo"/*.h include -newer "$library" -type f -print -quit)" ] ||
    x86_64-w64-mingw32-gcc-posix -std=c11 -O1 -shared -static '-Dpause()=_sleep(1000)' -Iinclude \
      "$zoo/$plugin.c" -o "$library"
done

check "$@"
