# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# `./dev fuzz [TARGET] [SECONDS]`.

# The directories tests/fuzz/corpus/PROGRAM/TARGET are the list of targets.
fuzz() {
  local seconds=${2:-60} folders=(tests/fuzz/corpus/*/*/) folder target program options seeds
  case ${1:-all} in
    all) ;;
    [0-9]*) seconds=$1 ;;
    *)
      folders=(tests/fuzz/corpus/*/"$1"/)
      [ -d "${folders[0]}" ] || {
        echo "dev: fuzz: there is no target $1; there are" \
          "$(cd tests/fuzz/corpus && echo */* | sed 's#[a-z]*/##g')" >&2
        exit 2
      }
      ;;
  esac
  setup
  from_pypi
  configure fuzz clang clang++ -Dbuildtype=debug -Doptimization=1 \
    -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true "${together[@]}" "${lines_only[@]}"
  sanitizers
  for folder in "${folders[@]}"; do
    target=$(basename "$folder") program=fuzz-$(basename "$(dirname "$folder")")
    if ! ninja -C build/fuzz -t query "tests/fuzz/$program" >/dev/null 2>&1; then
      echo "dev: fuzz: $target is left out: $program needs a package that is not here" >&2
      skipped=$((skipped + 1))
      continue
    fi
    # Header-only: a library that was compiled without the fuzzer would not guide it.
    build fuzz "tests/fuzz/$program"
    mkdir -p "build/fuzz/corpus/$target"
    # The entropic schedule costs more than the execution of so small an input, ten times as much.
    options=(-max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -malloc_limit_mb=1024
      -timeout=10 -entropic=0 -print_final_stats=1 -verbosity=0)
    [ ! -f "tests/fuzz/dictionaries/$target.dict" ] ||
      options+=(-dict="tests/fuzz/dictionaries/$target.dict")
    seeds=("$folder")
    [ ! -d "tests/fixtures/$target" ] || seeds+=("tests/fixtures/$target")
    check "fuzz: $target, $seconds s" env TENON_FUZZ_TARGET="$target" "build/fuzz/tests/fuzz/$program" \
      "${options[@]}" "build/fuzz/corpus/$target" "${seeds[@]}"
  done
  totals
}
