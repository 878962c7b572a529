#!/bin/bash -eu
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets as OSS-Fuzz does: $CXX and $CXXFLAGS compile, $LIB_FUZZING_ENGINE is
# linked, and $OUT gets a program for each target with its seeds, its dictionary and the libraries
# that it needs. `./dev setup` installs the packages. The bridges to ExecuTorch are left out: their
# peer is a library from PyPI that no sanitizer was compiled into.
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${WORK:-$OUT/work}/tenon
export CC=${CC:-clang} CFLAGS=${CFLAGS:-} LDFLAGS="${LDFLAGS:-} -Wl,-rpath,\$ORIGIN/lib"
rm -rf "$build"
meson setup "$build" "$root" --buildtype=plain -Dfuzz=true -Dunity=on -Dunity_size=100 \
  -Db_lundef=false -Dfuzz_engine="$LIB_FUZZING_ENGINE"
ninja -C "$build" tests/fuzz/fuzz-{programs,parsers,operators,isolated}
mkdir -p "$OUT/lib"
for corpus in "$root"/tests/fuzz/corpus/{programs,parsers,operators,isolated}/*.zip; do
  target=$(basename "$corpus" .zip)
  program=$build/tests/fuzz/fuzz-$(basename "$(dirname "$corpus")")
  cp "$program" "$OUT/fuzz-$target"
  cp "$corpus" "$OUT/fuzz-${target}_seed_corpus.zip"
  printf '[libfuzzer]\nmax_len = 16384\n' >"$OUT/fuzz-$target.options"
  if [ -f "$root/tests/fuzz/dictionaries/$target.dict" ]; then
    cp "$root/tests/fuzz/dictionaries/$target.dict" "$OUT/fuzz-$target.dict"
    echo "dict = fuzz-$target.dict" >>"$OUT/fuzz-$target.options"
  fi
  ldd "$program" | awk '$3 ~ "^/" && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ { print $3 }' |
    xargs -r cp -t "$OUT/lib"
done
