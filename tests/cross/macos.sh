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
cross_build build/cross/macos tests/cross/macos.ini \
  examples/hello.dylib examples/demo_backend.dylib examples/graph_backend/graph_backend.dylib \
  examples/arithmetic_kernels.dylib examples/tenon-run/tenon-run examples/tenon-list/tenon-list \
  examples/tenon-inspect/tenon-inspect examples/tenon-doctor/tenon-doctor \
  examples/tenon-new/tenon-new

exec python3 tests/cross/macos_test.py --build build/cross/macos \
  --inspect build/gcc/examples/tenon-inspect/tenon-inspect
