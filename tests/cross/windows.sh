#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the host, its programs and the example plugins for Windows with mingw-w64, and runs them
# under Wine. Needs g++-mingw-w64-x86-64-posix and wine64 of Debian, and the packages of `./dev
# setup`, whose headers it uses. Usage: tests/cross/windows.sh, in the repository's root.
set -eu

packages=build/cross/windows-packages
build=build/cross/windows
mkdir -p "$packages/include"
# /usr/include itself would bring in the headers of glibc.
for package in fmt:fmt flatbuffers:flatbuffers nlohmann_json:nlohmann CLI11:CLI; do
  name=${package%%:*}
  folder=${package##*:}
  ln -sfn "/usr/include/$folder" "$packages/include/$folder"
  {
    echo "Name: $name"
    echo "Description: the headers of this machine"
    echo "Version: $(pkg-config --modversion "$name")"
    echo "Cflags: -isystem $PWD/$packages/include $([ "$name" != fmt ] || echo -DFMT_HEADER_ONLY)"
  } >"$packages/$name.pc"
done
printf "[properties]\npkg_config_libdir = '%s'\n" "$PWD/$packages" >"$packages/packages.ini"
if [ ! -f "$build/build.ninja" ]; then
  meson setup "$build" --cross-file tests/cross/windows.ini \
    --cross-file "$packages/packages.ini" --wrap-mode=nofallback --buildtype=release \
    -Doptimization=0 -Dwerror=true -Dcompiled_host=true -Dunity=on -Dunity_size=100 -Dtests=disabled -Dconformance=disabled -Dpython=disabled -Dpt2=disabled \
    -Dcpu_aoti=disabled -Dcuda=disabled -Dbenchmarks=disabled
fi
ninja -C "$build" examples/hello.dll examples/demo_backend.dll examples/graph_backend/graph_backend.dll \
  examples/arithmetic_kernels.dll examples/tenon-run/tenon-run.exe \
  examples/tenon-list/tenon-list.exe examples/tenon-inspect/tenon-inspect.exe \
  examples/tenon-doctor/tenon-doctor.exe
x86_64-w64-mingw32-g++-posix -std=c++20 -Wall -Wextra -Werror -Iinclude \
  tests/cross/unelevated.cpp -static -o "$build/unelevated.exe"
x86_64-w64-mingw32-g++-posix -std=c++20 -Wall -Wextra -Werror -Iinclude \
  tests/cross/load_and_unload.cpp -static -lpsapi -o "$build/load_and_unload.exe"

exec python3 tests/cross/windows_test.py --build "$build" --wine "${WINE:-/usr/lib/wine/wine64}"
