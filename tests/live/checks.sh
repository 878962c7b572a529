# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The live checks, for ./dev: models that PyTorch and ExecuTorch export, with both of them as the judges. And
# what is timed against libtorch.

# PyTorch and ExecuTorch in build/live/venv, or a line that says why not. By uv, which takes a third of
# pip's processor time for their 6 GB.
live_python() {
  local venv=build/live/venv
  mkdir -p build/live
  if [ ! -f "$venv/complete" ]; then
    say "installing PyTorch and ExecuTorch into $venv (one to five minutes)"
    python3 -m venv "$venv" &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check uv==0.13.9 &&
      "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" torch==2.15.0 executorch==1.5.1 &&
      touch "$venv/complete"
  fi
}

# Runs each exported case in one process, with what else the arguments ask for.
run_cases() {
  build/gcc/tests/live/aoti-cases \
    --plugin build/gcc/reference_backends/cpu_aoti/cpu_aoti.so "$@" build/live/cache/*/
}

# Whether PyTorch is here. Skips with a line where PyPI cannot be reached; PyTorch is nothing that Tenon needs.
live_ready() {
  export TORCHINDUCTOR_CACHE_DIR=$PWD/build/live/inductor
  live_python && return
  echo "live: skipped: PyTorch and ExecuTorch cannot be installed here" >&2
  skipped=$((skipped + 1))
  return 1
}

# live_models [--only MODEL]...: these are exported, and all that were.
live_models() {
  check "live: real models are exported" \
    build/live/venv/bin/python tests/live/export_models.py --cache build/live/cache "$@"
  local lib
  lib=$(echo build/live/venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so)
  cp build/gcc/reference_backends/cpu_aoti/cpu_aoti.so build/live/another.so
  check "live: they run right without libtorch" run_cases --forbid libtorch --forbid libc10
  check "live: and with libtorch loaded first, and another plugin" \
    run_cases --preload "$lib" --beside build/live/another.so
  local executorch
  executorch=$(echo build/live/venv/lib/python3*/site-packages/executorch/include)
  check "live: the facts that this project relies on are those of these packages" \
    python3 tests/live/drift.py "${executorch%/include}" "${lib%/lib/*}"
  check "live: the ExecuTorch delegate in the pages compiles" \
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DC10_USING_CUSTOM_GENERATED_MACROS \
    -isystem "$executorch" -isystem "$executorch/executorch/runtime/core/portable_type/c10" \
    docs/snippets/executorch_delegate.cpp
  local few=() name
  for name in small_mlp gpt2 unet stateful; do
    [ ! -d "build/live/cache/$name" ] || few+=("build/live/cache/$name/")
  done
  [ "${#few[@]}" = 0 ] ||
    check "live: before, between and after opening the plugins for CUDA and Metal" \
      build/gcc/tests/live/aoti-cases --preload "$lib" \
      --plugin build/gcc/reference_backends/cpu_aoti/cpu_aoti.so \
      --open build/gcc/reference_backends/cuda_aoti/cuda_aoti.so \
      --open build/gcc/tests/stand_ins/metal/metal_aoti_stand_in.so "${few[@]}"
}

# live_programs [few]: what compiles and packs models without AOTInductor's exporter for ExecuTorch.
live_programs() {
  check "live: exported models compile and give eager PyTorch's numbers, here and in the wheel" \
    build/live/venv/bin/python tests/live/compiled_programs.py \
    build/gcc/examples/tenon-compile/tenon-compile build/gcc/examples/tenon-run/tenon-run \
    build/gcc/examples/graph_backend/graph_backend.so
  # A few leave out operators that are called by number, which `live_operator_sample` has.
  local packed=()
  [ "${1:-}" != few ] || packed=(--only mlp --only sums --only factors)
  local kernels=() executorch_kernels=build/gcc/examples/executorch/plugins/executorch_kernels.so
  local linalg_kernels=build/gcc/examples/linalg_kernels.so
  [ ! -f "$executorch_kernels" ] || kernels=(--executorch-kernels "$executorch_kernels")
  if [ -f "$linalg_kernels" ]; then
    kernels+=(--linalg-kernels "$linalg_kernels")
    [ "${#packed[@]}" = 0 ] || packed+=(--only triangular)
  fi
  check "live: what AOTInductor compiled is packed, and gives eager PyTorch's numbers" \
    build/live/venv/bin/python tests/live/packed_models.py "${packed[@]}" \
    build/gcc/examples/tenon-compile/tenon-compile build/gcc/examples/tenon-run/tenon-run \
    build/gcc/reference_backends/cpu_aoti/cpu_aoti.so \
    --operators build/gcc/tests/plugins/operators/operator_kernels.so "${kernels[@]}"
  if [ -f build/gcc/examples/python/tenon/executorch/libtenon_executorch.so ]; then
    check "live: plugins run in stock Python with the ExecuTorch wheel" \
      build/live/venv/bin/python tests/live/executorch_python.py build/gcc
  else
    echo "live: skipped: built without the Python package and ExecuTorch's wheel" \
      "(run .ci/fetch-python-build and .ci/fetch-executorch-wheel)" >&2
    skipped=$((skipped + 1))
  fi
}

# Programs for CUDA: functions that their libraries ask for, and their numbers, without a GPU.
live_cuda() {
  if [ ! -f "${CUDA_HOME:-/usr/local/cuda}/include/cuda_runtime_api.h" ]; then
    echo "live: skipped: programs for CUDA need the headers of CUDA 13 in ${CUDA_HOME:-/usr/local/cuda}" >&2
    skipped=$((skipped + 1))
    return
  fi
  check "live: models for CUDA are exported" \
    build/live/venv/bin/python tests/live/export_cuda.py --out build/live/cuda \
    --toolkit "${CUDA_HOME:-/usr/local/cuda}"
  local exported=(build/live/cuda)
  [ ! -d build/live/cache ] || exported+=(build/live/cache)
  check "live: the plugins have each function that exported libraries ask for" \
    python3 tests/live/shim_table.py --build build/gcc "${exported[@]}" \
    tests/fixtures/{cpu,cuda,metal}_*/model.pte
  check "live: their kernels, run by Triton's interpreter, give eager PyTorch's numbers" \
    build/live/venv/bin/python tests/live/replay_cuda.py --build build/gcc --kernels build/live/cuda \
    build/live/cuda/*/ tests/fixtures/cuda_{embedding,stateful,two_methods}/
}

# Thousands of archives, programs and operators against PyTorch's and ExecuTorch's own readers, writers and
# kernels. Minutes that `test` has not; `live` does it.
live_upstream() {
  check "live: archives hold what PyTorch finds in them" \
    build/live/venv/bin/python tests/live/check_pt2.py --facts build/gcc/tests/live/pt2-facts
  check "live: what Tenon writes is read and run by ExecuTorch's wheel" \
    build/live/venv/bin/python tests/live/written_programs.py build/gcc/tests/live/write-programs
  check "live: kernels for operators that are left over are ExecuTorch's" \
    build/live/venv/bin/python tests/live/portable_operators.py
  check "live: programs without a delegate run in ExecuTorch's wheel" \
    build/live/venv/bin/python tests/live/left_over_operators.py \
    build/gcc/examples/tenon-compile/tenon-compile
}

# In ExecuTorch's exporter and runtime.
live_executorch() {
  if [ -f build/gcc/examples/python/tenon/executorch/libtenon_executorch.so ]; then
    check "live: plugins compile in ExecuTorch's exporter as in tenon-compile" \
      build/live/venv/bin/python tests/live/executorch_lowering.py build/gcc
    check "live: ExecuTorch's own tests of the exporter pass with plugins" \
      build/live/venv/bin/python tests/live/upstream_tests.py build/gcc
  fi
  if [ ! -x build/gcc/tests/live/beside-executorch ]; then
    echo "live: skipped: built without the ExecuTorch wheel (run .ci/fetch-executorch-wheel)" >&2
    skipped=$((skipped + 1))
    return
  fi
  check "live: models for XNNPACK are exported" \
    build/live/venv/bin/python tests/live/export_xnnpack.py --cache build/live/xnnpack
  check "live: they give the bits of the stock runtime" \
    build/gcc/tests/live/beside-executorch --plugin build/gcc/examples/executorch/plugins/xnnpack.so \
    --plugin build/gcc/examples/executorch/plugins/executorch_kernels.so build/live/xnnpack/*/
}

# Says in a line why it leaves its work out where OpenVINO cannot be installed.
live_openvino() {
  check "live: the OpenVINO plugin gives eager PyTorch's numbers" tests/live/openvino.sh
}

live_operators() {
  live_python
  # The suite marks its tests with pytest.
  build/live/venv/bin/python -c 'import pytest' 2>/dev/null ||
    build/live/venv/bin/python -m pip install --quiet --disable-pip-version-check pytest==9.2.0
  TORCHINDUCTOR_CACHE_DIR=$PWD/build/live/inductor build/live/venv/bin/python \
    tests/live/operator_suite.py --cache build/live/operators --build build/gcc "$@"
}

# live_architectures BUILD [ARGUMENT]... The packages of the architectures have a folder of their own, so that the other
# checks see the same Python as ever.
live_architectures() {
  local build=build/$1
  shift
  live_python
  local packages=build/live/architecture_packages wanted=tests/live/architecture_packages.txt
  if ! cmp -s "$wanted" "$packages/complete.txt"; then
    rm -rf "$packages"
    build/live/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$packages" \
      -r "$wanted" && cp "$wanted" "$packages/complete.txt"
  fi
  TORCHINDUCTOR_CACHE_DIR=$PWD/build/live/inductor PYTHONPATH=$packages build/live/venv/bin/python \
    tests/live/architectures.py --cache build/live/architectures --build "$build" "$@"
}

# A sample of as many cases as one program has; the same cases each time.
live_operator_sample() {
  check "live: a sample of ExecuTorch's suite of operators gives eager PyTorch's numbers" live_operators --sample 48
}

# What takes some minutes, for `test`.
live_part() {
  live_ready || return 0
  live_models --only small_mlp --only gpt2 --only unet --only stateful
  live_programs few
  live_operator_sample
}

# The build of what is timed: with -Og, as the build of the checks has it, loops of the plugin take up to three times as
# long.
configure_o2() {
  configure_with_lld o2 gcc g++ -Dbuildtype=release -Doptimization=2 -Dbenchmarks=disabled "${compiled[@]}"
}

# Single operators in libtorch and in the plugin.
bench_operators() {
  configure_o2
  build o2 tests/live/bench-operators
  local lib
  lib=$(echo build/live/venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so)
  echo "load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) processors"
  OMP_NUM_THREADS=1 build/o2/tests/live/bench-operators --libtorch "$lib" "$@"
}

# Models that are exported with a package for libtorch's loader; `live` checks what they compute.
bench_models() {
  local program=(build/live/venv/bin/python tests/live/bench_aoti.py --cache build/live/cache
    --plugin build/o2/reference_backends/cpu_aoti/cpu_aoti.so --bench-tenon build/o2/tests/live/bench-tenon
    --tenon-run build/o2/examples/tenon-run/tenon-run)
  if [[ " $* " == *" -h "* || " $* " == *" --help "* ]]; then
    "${program[@]}" --help
    return
  fi
  local only=() arguments=("$@") i
  for ((i = 1; i < $#; ++i)); do
    [ "${arguments[i - 1]}" != --only ] || only+=(--only "${arguments[i]}")
  done
  configure_o2
  build o2 reference_backends/cpu_aoti/cpu_aoti.so tests/live/bench-tenon examples/tenon-run/tenon-run
  TORCHINDUCTOR_CACHE_DIR=$PWD/build/live/inductor build/live/venv/bin/python \
    tests/live/export_models.py --cache build/live/cache --package "${only[@]}"
  "${program[@]}" "$@"
}

bench_aoti() {
  setup
  live_python
  if [ "${1:-}" = --operators ]; then bench_operators "${@:2}"; else bench_models "$@"; fi
}
