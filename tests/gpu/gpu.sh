# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `./dev gpu` and `./dev gpu-pack`.

# Programs for another machine: of the system they need the C library alone. Debian's fmt is a shared
# library, so fmt is compiled with what includes it. The plugin shares the system's C++ library with the
# models, as everywhere: with one of its own it would keep some of that library's memory each time that
# it is unloaded. What programs export for plugins leaves theirs out.
gpu_pack() {
  local inside="'-static-libstdc++', '-static-libgcc'"
  local hidden="'-Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a'"
  say "building, release"
  configure gpu gcc g++ -Dbuildtype=release -Doptimization=2 -Dbenchmarks=disabled -Dpt2=disabled \
    -Dcuda=enabled "${compiled[@]}" -Dcpp_args=-DFMT_HEADER_ONLY "-Dprogram_link_args=[$inside, $hidden]"
  build gpu reference_backends/cuda_aoti/cuda_aoti.so examples/tenon-run/tenon-run \
    tests/conformance/tenon-conformance tests/gpu/cuda_kernels/cuda-gpu-test \
    tests/gpu/cuda_programs/{cuda-programs,write-older-generations}
  tests/gpu/make_pack build/gpu build/gpu-pack
}

gpu() {
  if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "gpu: skipped: no NVIDIA GPU here (nvidia-smi finds none)" >&2
    exit 77
  fi
  setup
  gpu_pack
  local device
  device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr ' /' '__')
  build/gpu-pack/run_suite --out "${1:-docs/measurements}/gpu-$device"
}
