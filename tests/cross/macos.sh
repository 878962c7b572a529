#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the host, its programs and the example plugins for macOS with zig, and reads what was linked.
# Nothing of it runs: that takes a Mac. Needs the packages of `./dev setup`, whose headers it uses, and
# build/cross/native, whose tenon-inspect reads the plugins: `./dev cross macos` makes both.
# Usage: tests/cross/macos.sh PYTHON [argument of macos_test.py]..., in the repository's root; zig is the
# package ziglang of PYTHON.
set -euo pipefail
# shellcheck source=tests/cross/header_packages.sh
. tests/cross/header_packages.sh
# shellcheck source=tests/cross/libzip.sh
. tests/cross/libzip.sh

python=$1
shift
PYTHONPATH=$("$python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent.parent)')
ZIG_GLOBAL_CACHE_DIR=$PWD/build/cross/macos-cache
export PYTHONPATH ZIG_GLOBAL_CACHE_DIR
# Not by Meson, which makes bundles of plugins: zig makes none.
mkdir -p build/cross/macos-plugins
for plugin in hello demo_backend; do
  python3 tests/macos/compiler.py c++ -std=c++20 -shared -Iinclude \
    -Wl,-exported_symbols_list,include/tenon/abi/tenon-plugin.exp \
    "examples/$plugin/$plugin.cpp" -o "build/cross/macos-plugins/$plugin.dylib"
done
mkdir -p build/cross/macos-packages
cp "$(libzip macos Linux "$python $PWD/tests/macos/compiler.py cc")/libzip.pc" build/cross/macos-packages
cross_build build/cross/macos tests/cross/macos.ini disabled tests/conformance/tenon-conformance \
  examples/tenon-{run/tenon-run,list/tenon-list,inspect/tenon-inspect,doctor/tenon-doctor} \
  examples/tenon-{compile/tenon-compile,new/tenon-new}

exec python3 tests/cross/macos_test.py --build build/cross/macos --plugins build/cross/macos-plugins \
  --inspect build/cross/native/examples/tenon-inspect/tenon-inspect "$@"
