# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The steps of tests/cross/run, which sets `target`, `results`, `options`, `emulate` and `kit_level`. Each check
# counts, and a failure does not end the run.
# shellcheck disable=SC2154

note() { printf '== %s  [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# result KIND TEXT: one line for tests/cross/summary.py, which lists the kinds. A text may be what a program
# printed.
result() { printf '%s\t%s\n' "$1" "${2//[$'\n\t\r']/ }" >>"$results"; }
ok() {
  printf 'ok      %s\n' "$1"
  result ok "$1"
}
not_ok() {
  printf 'not ok  %s\n' "$1"
  result "not ok" "$1"
}
# About the check before it.
detail() {
  printf '        %s\n' "$1"
  result detail "$1"
}
not_run() { result "not run" "$1"; }

# alone NAME COMMAND...: of two runs at once, one has to wait.
alone() {
  mkdir -p build/cross
  { flock 9 && "${@:2}" 9>&-; } 9>"build/cross/$1.lock"
}

# Debian packages by the command or the file that shows that they are there.
packages() { alone packages install_missing "$@"; }
install_missing() {
  local entry missing=()
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || [ -e "${entry%%:*}" ] || missing+=("${entry#*:}")
  done
  [ "${#missing[@]}" = 0 ] && return
  note "installing ${missing[*]}"
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null; then
    echo "cross: missing, and cannot be installed from here: ${missing[*]}" >&2
    exit 1
  fi
}

# configure FOLDER [meson argument]...
configure() {
  local folder=$1
  shift
  if [ ! -f "$folder/build.ninja" ]; then
    mkdir -p "$folder"
    meson setup "$folder" "$@" "${options[@]}" >"$folder/setup.log" 2>&1 ||
      { cat "$folder/setup.log" >&2; exit 1; }
  fi
}

# build_in FOLDER TARGET...: configured for this machine's compiler where it is not configured.
build_in() { alone "$(basename "$1")-build" configured_build "$@"; }
configured_build() {
  local folder=$1
  shift
  configure "$folder"
  ninja -C "$folder" --quiet -j "$(nproc)" "$@"
}

# build TARGET...: in build/cross/$target. One that does not compile ends the run.
build() {
  note "building for $target"
  build_in "build/cross/$target" "$@"
  note "built"
}

# What the last check printed: of each run its own, as two may have one build folder.
log_of_check() { echo "${results%.tsv}.check.log"; }

# check NAME COMMAND...: shows what the command printed if it fails.
check() {
  local name=$1 log outcome=0
  shift
  log=$(log_of_check)
  "$@" >"$log" 2>&1 || outcome=$?
  if [ "$outcome" = 0 ]; then
    ok "$name"
  else
    not_ok "$name: exit $outcome"
    tail -n 40 "$log"
  fi
}

# The unit tests of what asks the system for something, and those of methods. Those of programs cut and
# change each byte of many files, which takes an emulator more than a quarter of an hour.
unit_tests=(core peek "files that are written" loader "loader threads" discovery "discovery threads" host "host threads")

# targets_of_tests: puts what they and the plugins that they load are built from into `tests`.
targets_of_tests() {
  local name arguments=() targets
  for name in "${unit_tests[@]}"; do arguments+=(--test "$name"); done
  targets=$(.ci/targets-of-tests "build/cross/$target" "${arguments[@]}")
  mapfile -t tests <<<"$targets"
}

check_units() {
  local name counted build=build/cross/$target log
  log=$build/meson-logs/$(log_of_tests).txt
  note "unit tests"
  for name in "${unit_tests[@]}"; do
    check "unit tests: $name" unit_test "$build" "$name"
    # Without it Meson did not come to the test, and the check has failed.
    [ -f "$log" ] || continue
    counted=$(sed -n 's/.*All tests passed (\(.*\))/\1/p' "$log")
    [ -z "$counted" ] || detail "$counted"
  done
}
log_of_tests() { echo "tests-$(basename "$results" .tsv)"; }
# unit_test FOLDER NAME. Meson counts a name that no test has as passed.
unit_test() {
  local text
  rm -f "$1/meson-logs/$(log_of_tests).txt"  # That of the test before it.
  text=$(meson test -C "$1" --no-rebuild --logbase "$(log_of_tests)" --timeout-multiplier 20 --print-errorlogs "$2" 2>&1) ||
    { echo "$text"; return 1; }
  grep -q '^Ok: *1 *$' <<<"$text" || { echo "$text"; return 1; }
}

# runs PROGRAM PLUGIN [argument]...: a program with recorded outputs, by tenon-run of `$host_build` with a
# plugin of `$plugin_build`.
runs() {
  local program=$1 plugin=$2
  shift 2
  check "tenon-run $(basename "$(dirname "$program")") with $(basename "$plugin")$pair" "${emulate[@]}" \
    "$host_build/examples/tenon-run/tenon-run" "$program" --plugin "$plugin_build/examples/$plugin" "$@"
}

# check_programs [HOST_BUILD PLUGIN_BUILD]
check_programs() {
  local cases=tests/conformance/cases fixtures=tests/fixtures name pair=
  local host_build=${1:-build/cross/$target} plugin_build=${2:-build/cross/$target}
  [ "$host_build" = "$plugin_build" ] ||
    pair=" of $(basename "$plugin_build"), host of $(basename "$host_build")"
  note "programs with recorded numbers"
  runs "$cases/hello/add/model.pte" hello.so --input "$cases/hello/add/a0.npy" \
    --input "$cases/hello/add/b0.npy" --expect "$cases/hello/add/expected0.npy"
  for name in demo_sin_inline demo_sin_seg; do
    runs "$fixtures/$name/model.pte" demo_backend.so --input "$fixtures/$name/c0_in0.npy" \
      --expect "$fixtures/$name/c0_out0.npy" --rtol 1e-6 --atol 1e-6
  done
  name=add_dynamic_portable
  if [ "$quick" = no ]; then
    runs "$fixtures/$name/model.pte" arithmetic_kernels.so --input "$fixtures/$name/c0_in0.npy" \
      --input "$fixtures/$name/c0_in1.npy" --expect "$fixtures/$name/c0_out0.npy"
    name=mlp_portable
    runs "$fixtures/$name/model.pte" mlp_kernels.so --input "$fixtures/$name/c0_in0.npy" \
      --expect "$fixtures/$name/c0_out0.npy" --rtol 1e-5 --atol 1e-6
  fi
  [ -f "$plugin_build/examples/graph_backend/graph_backend.so" ] || return 0
  [ -z "$pair" ] || return 0
  for name in mlp vision; do
    runs "$cases/graph_backend/$name/model.pte" graph_backend/graph_backend.so \
      --input "$fixtures/pt2/$name/input_0.npy" --expect "$fixtures/pt2/$name/expected_0.npy" \
      --rtol 1e-5 --atol 2e-6
  done
}

# check_compiled_models FOLDER: models that AOTInductor compiled for this platform, with PyTorch's numbers.
check_compiled_models() {
  local folder build=build/cross/$target
  note "models that AOTInductor compiled"
  for folder in "$1"/*/; do
    check "CpuAotiBackend runs $(basename "$folder")" "${emulate[@]}" "$build/tests/live/aoti-cases" \
      --plugin "$build/reference_backends/cpu_aoti/cpu_aoti.so" "$folder"
  done
}

# Plugins of four compilers and C++ libraries in hosts of two; only C types cross the boundary.
check_compilers() {
  local host plugin other=build/cross/compilers
  for plugin in "${plugins[@]}"; do
    check "$(basename "$plugin") needs no newer glibc than 2.28" \
      needs_at_most GLIBC 2.28 "$other/glibc-2.28/$plugin"
  done
  for host in build/cross/native "$other/libcxx"; do
    for plugin in build/cross/native "$other"/{libcxx,libstdcxx,glibc-2.28}; do
      check_programs "$host" "$plugin"
    done
  done
}

# needs_at_most PREFIX VERSION FILE: of the versions of symbols that FILE asks for. None is an error.
needs_at_most() {
  local newest
  newest=$(objdump -T "$3" | sed -n "s/.*(\?$1_\([0-9.]*\))\?.*/\1/p" | sort -V | tail -n 1)
  [ -n "$newest" ] || { echo "$3 asks for no version of $1"; return 1; }
  echo "the newest is $newest"
  [ "$(printf '%s\n' "$newest" "$2" | sort -V | tail -n 1)" = "$2" ]
}

# What the loader does not do, the host reports; the run itself succeeds.
check_unloading() {
  local text build=build/cross/$target fixture=tests/fixtures/demo_sin_seg/model.pte
  text=$("$build/examples/tenon-doctor/tenon-doctor" "$fixture" --plugin "$build/examples/demo_backend.so") ||
    { echo "$text"; return 1; }
  echo "$text"
  grep -q '^unloads: no (libraries stay in memory' <<<"$text"
}

# A container's root: the C library, a program, a plugin. Its loader finds no descriptor by name.
check_bare_root() {
  local build=build/cross/$target cases=tests/conformance/cases/hello/add root=build/cross/$target/root
  rm -rf "$root"
  mkdir -p "$root/lib"
  cp -L /lib/ld-musl-x86_64.so.1 "$root/lib"
  cp "$build/examples/tenon-run/tenon-run" "$build/examples/hello.so" "$cases"/{model.pte,a0.npy,b0.npy,expected0.npy} "$root"
  unshare --map-root-user chroot "$root" /tenon-run model.pte --plugin hello.so --input a0.npy \
    --input b0.npy --expect expected0.npy
}

# A file that the address space of 32 bits cannot hold; it occupies no disk.
check_large_file() {
  local file=build/cross/$target/large.pte text outcome=0
  truncate -s 5G "$file"
  text=$("${emulate[@]}" "build/cross/$target/examples/tenon-run/tenon-run" "$file" 2>&1) || outcome=$?
  rm "$file"
  echo "$text"
  [ "$outcome" = 3 ] && [[ $text == *"has 5368709120 bytes, this process of 32 bits maps at most"* ]]
}

# check_kit PLUGIN...: each judged by the conformance kit with its subject file.
check_kit() {
  local name plugin build=build/cross/$target log
  log=$(log_of_check)
  if [ "$kit_level" = 0 ]; then
    not_run "the conformance kit (--kit-level 0)"
    return
  fi
  build tests/conformance/tenon-conformance
  for name in "$@"; do
    plugin=$build/examples/$name.so
    [ "$name" != graph_backend ] || plugin=$build/examples/graph_backend/graph_backend.so
    note "conformance kit, level $kit_level: $name"
    check "tenon-conformance $name --level $kit_level" "${emulate[@]}" \
      "$build/tests/conformance/tenon-conformance" "$plugin" \
      --subject "tests/conformance/subjects/$name.json" --level "$kit_level" --color never --jobs 2
    detail "$(sed -n '/^[0-9]* \(test\|rule\)s\?: /p' "$log" | paste -sd ';' | sed 's/;/; /')"
  done
}

# program_of BUILD NAME: the program of an example, which has another name on Windows; nothing if it is not built.
program_of() {
  local program=$1/examples/$2/$2
  [ -f "$program" ] || program+=.exe
  [ ! -f "$program" ] || echo "$program"
}

# The plugin of each platform that is built, given to the hosts of all that run here.
check_refusals() {
  local host plugin hosts=() plugins=() built=()
  for host in build/cross/{native,arm64,armhf,musl,windows}; do
    if [ -n "$(program_of "$host" tenon-run)" ]; then
      hosts+=("$host")
    else
      not_run "the host of $(basename "$host") (not built)"
    fi
  done
  plugins=(build/cross/{native,arm64,armhf,musl}/examples/hello.so build/cross/windows/examples/hello.dll
    build/cross/macos-plugins/hello.dylib)
  for plugin in "${plugins[@]}"; do
    if [ -f "$plugin" ]; then
      built+=("$plugin")
    else
      plugin=${plugin%/*} plugin=${plugin%/examples}
      not_run "the plugin of $(basename "$plugin") (not built)"
    fi
  done
  for host in "${hosts[@]}"; do
    for plugin in "${built[@]}"; do refuses "$host" "$plugin"; done
  done
}
refuses() {
  local here=$1 plugin=$2 there text outcome=0 run=() pair folder=tests/conformance/cases/hello/add
  there=${plugin%/*} there=${there%/examples}
  pair="the host of $(basename "$here"), the plugin of $(basename "$there")"
  [ ! -x "$here/emulate" ] || run=("$here/emulate")
  text=$("${run[@]}" "$(program_of "$here" tenon-run)" "$folder/model.pte" --plugin "$plugin" \
    --input "$folder/a0.npy" --input "$folder/b0.npy" --expect "$folder/expected0.npy" 2>&1) || outcome=$?
  if [ "$here" = "$there" ] && [ "$outcome" = 0 ]; then
    ok "$pair: runs"
  elif [ "$here" != "$there" ] && [ "$outcome" = 3 ] && [ "$(wc -l <<<"$text")" = 1 ]; then
    ok "$pair: ${text##*"${plugin##*/}: "}"
  else
    not_ok "$pair: exit $outcome: $text"
  fi
}
