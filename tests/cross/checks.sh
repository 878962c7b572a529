# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The steps of tests/cross/run, which sets `target`, `options`, `emulate` and `kit_level`. Each check counts,
# and a failure does not end the run.
# shellcheck disable=SC2154

passed=0 failed=0
left_out=()

note() { printf '== %s  [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
not_run() { left_out+=("$*"); }

# Debian packages by the command that shows that they are there.
packages() {
  local entry missing=()
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
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
    meson setup "$folder" "$@" "${options[@]}" >"$folder/setup.log" 2>&1 ||
      { cat "$folder/setup.log" >&2; exit 1; }
  fi
}

# build TARGET...: in build/cross/$target. One that does not compile ends the run.
build() {
  note "building for $target"
  ninja -C "build/cross/$target" --quiet "$@"
  note "built"
}

# check NAME COMMAND...: shows what the command printed if it fails.
check() {
  local name=$1 log=build/cross/$target/check.log outcome=0
  shift
  "$@" >"$log" 2>&1 || outcome=$?
  if [ "$outcome" = 0 ]; then
    passed=$((passed + 1))
    printf 'ok      %s\n' "$name"
  else
    failed=$((failed + 1))
    printf 'not ok  %s: exit %s\n' "$name" "$outcome"
    tail -n 40 "$log"
  fi
}

# The unit tests of what asks the system for something: files, libraries, processors, memory.
unit_tests=(core peek "files that are written" loader discovery)

# targets_of_tests: what they and the plugins that they load are built from.
targets_of_tests() {
  local name arguments=()
  for name in "${unit_tests[@]}"; do arguments+=(--test "$name"); done
  .ci/targets-of-tests "build/cross/$target" "${arguments[@]}"
}

check_units() {
  local name build=build/cross/$target
  note "unit tests"
  for name in "${unit_tests[@]}"; do
    check "unit tests: $name" meson test -C "$build" --no-rebuild --timeout-multiplier 20 \
      --print-errorlogs "$name"
    sed -n 's/.*All tests passed/        All tests passed/p' "$build/meson-logs/testlog.txt"
  done
}

# runs PROGRAM PLUGIN [argument]...: a program with recorded outputs, by tenon-run.
runs() {
  local build=build/cross/$target program=$1 plugin=$2
  shift 2
  check "tenon-run $program with $(basename "$plugin")" "${emulate[@]}" \
    "$build/examples/tenon-run/tenon-run" "$program" --plugin "$build/examples/$plugin" "$@"
}

check_programs() {
  local cases=tests/conformance/cases fixtures=tests/fixtures name
  note "programs with recorded numbers"
  runs "$cases/hello/add/model.pte" hello.so --input "$cases/hello/add/a0.npy" \
    --input "$cases/hello/add/b0.npy" --expect "$cases/hello/add/expected0.npy"
  for name in demo_sin_inline demo_sin_seg; do
    runs "$fixtures/$name/model.pte" demo_backend.so --input "$fixtures/$name/c0_in0.npy" \
      --expect "$fixtures/$name/c0_out0.npy" --rtol 1e-6 --atol 1e-6
  done
  name=add_dynamic_portable
  runs "$fixtures/$name/model.pte" arithmetic_kernels.so --input "$fixtures/$name/c0_in0.npy" \
    --input "$fixtures/$name/c0_in1.npy" --expect "$fixtures/$name/c0_out0.npy"
  [ -f "build/cross/$target/examples/graph_backend/graph_backend.so" ] || return 0
  for name in mlp vision; do
    runs "$cases/graph_backend/$name/model.pte" graph_backend/graph_backend.so \
      --input "$fixtures/pt2/$name/input_0.npy" --expect "$fixtures/pt2/$name/expected_0.npy" \
      --rtol 1e-5 --atol 2e-6
  done
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
  local name plugin build=build/cross/$target log=build/cross/$target/check.log
  for name in "$@"; do
    plugin=$build/examples/$name.so
    [ "$name" != graph_backend ] || plugin=$build/examples/graph_backend/graph_backend.so
    note "conformance kit, level $kit_level: $name"
    check "tenon-conformance $name --level $kit_level" "${emulate[@]}" \
      "$build/tests/conformance/tenon-conformance" "$plugin" \
      --subject "tests/conformance/subjects/$name.json" --level "$kit_level" --color never --jobs 2
    tail -n 3 "$log"  # The totals.
  done
}

# Plugins of each platform that is built, described by the hosts of all. Of the same machine with another C
# library they are refused.
check_refusals() {
  local host plugin
  for host in build/cross/*/examples/tenon-inspect/tenon-inspect; do
    for plugin in build/cross/*/examples/hello.so; do
      refuses "$host" "$plugin"
    done
  done
}
refuses() {
  local here there text outcome=0 run=()
  here=$(cut -d / -f 3 <<<"$1") there=$(cut -d / -f 3 <<<"$2")
  [ ! -x "build/cross/$here/emulate" ] || run=("build/cross/$here/emulate")
  text=$("${run[@]}" "$1" "$2" 2>&1) || outcome=$?
  if [ "$here" = "$there" ] && [ "$outcome" = 0 ]; then
    passed=$((passed + 1))
    printf 'ok      %s describes its own hello.so\n' "$here"
  elif [ "$here" != "$there" ] && [ "$outcome" = 0 ] && [[ $text == *"cannot be loaded here"* ]]; then
    passed=$((passed + 1))
    printf 'ok      %s describes that of %s, which it cannot load\n' "$here" "$there"
  elif [ "$here" != "$there" ] && [ "$outcome" = 3 ] && [ "$(wc -l <<<"$text")" = 1 ]; then
    passed=$((passed + 1))
    printf 'ok      %s refuses that of %s: %s\n' "$here" "$there" "${text##*hello.so: }"
  else
    failed=$((failed + 1))
    printf 'not ok  %s, with the plugin of %s: exit %d: %s\n' "$here" "$there" "$outcome" "$text"
  fi
}

totals() {
  local text
  printf '\n%s: %d passed, %d failed  [%d:%02d]\n' "$target" "$passed" "$failed" $((SECONDS / 60)) $((SECONDS % 60))
  for text in "${left_out[@]}"; do printf '%s: not run: %s\n' "$target" "$text"; done
  [ "$failed" = 0 ]
}
