#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the host, its programs and the example plugins for macOS with zig, and reads what was linked.
# Nothing of it runs: that takes a Mac. Installs zig from PyPI into build/cross/macos-zig. Needs the
# packages of `./dev setup`, whose headers it uses, and the build of `./dev quick`, whose
# tenon-inspect reads the plugins. Usage: tests/cross/macos.sh, in the repository's root.
set -euo pipefail
# shellcheck source=tests/cross/header_packages.sh
. tests/cross/header_packages.sh

zig=build/cross/macos-zig
[ -d "$zig" ] || pip3 --disable-pip-version-check install -q --no-deps --target "$zig" \
  "$(sed -n 's/^ZIG = "\(.*\)"$/\1/p' tests/macos/compile_test.py)"
PYTHONPATH=$PWD/$zig
ZIG_GLOBAL_CACHE_DIR=$PWD/build/cross/macos-cache
export PYTHONPATH ZIG_GLOBAL_CACHE_DIR
# Not by Meson, which makes bundles of plugins: zig makes none.
mkdir -p build/cross/macos-plugins
for plugin in hello demo_backend; do
  python3 tests/macos/compiler.py c++ -std=c++20 -shared -Iinclude \
    -Wl,-exported_symbols_list,include/tenon/abi/tenon-plugin.exp \
    "examples/$plugin/$plugin.cpp" -o "build/cross/macos-plugins/$plugin.dylib"
done
cross_build build/cross/macos tests/cross/macos.ini examples/tenon-{run/tenon-run,list/tenon-list} \
  examples/tenon-{inspect/tenon-inspect,doctor/tenon-doctor}

exec python3 tests/cross/macos_test.py --build build/cross/macos --plugins build/cross/macos-plugins \
  --inspect build/gcc/examples/tenon-inspect/tenon-inspect
