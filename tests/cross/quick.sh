# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `./dev cross quick` as a part of `./dev test`.

# What `cross quick` needs. Wine is not on the path.
packages_of_cross=(
  aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static
  x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix /usr/lib/wine/wine64:wine64 llvm-ar:llvm
)

# A part of arm64 and Windows, with the counts of its summary. Without one it has failed.
cross_quick() {
  local good bad
  nice -n 5 tests/cross/run quick || true
  read -r good bad < <(python3 -c '
import json
found = json.load(open("build/cross/quick.json"))
print(found["passed"], found["failed"])')
  passed=$((passed + good)) failed=$((failed + bad))
  [ "$bad" = 0 ] || failures+=("cross quick: $bad of $((good + bad))")
}
