# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Several targets of tests/cross/run, which sets `here` and `kit_level`, with one summary.
# shellcheck disable=SC2154

# no_summary NAME: a run that does not come to its summary leaves no older one.
no_summary() { rm -f "build/cross/$1".{json,txt}; }

# several NAME AT_ONCE TARGET[:ARGUMENT]... [-- TARGET...]: runs each, AT_ONCE at the same time, and those after
# "--" when all before have ended; a summary of all of them. What one printed is shown when it ends. One that
# wrote no results has failed.
several() {
  local one names=()
  no_summary "$1"
  mkdir -p build/cross/results
  # In process groups of their own, so that what they started ends with this.
  set -m
  trap 'jobs -p | sed s/^/-/ | xargs -r kill -- 2>/dev/null || true' EXIT
  trap 'exit 143' INT TERM
  for one in "${@:3}"; do
    if [ "$one" = -- ]; then
      wait
      continue
    fi
    while [ "$(jobs -pr | wc -l)" -ge "$2" ]; do wait -n || true; done
    one_of_several "$one"
  done
  wait
  set +m
  printf '\n'
  python3 "$here/summary.py" "$1" "${names[@]}"
}

# one_of_several TARGET[:ARGUMENT]: starts it, and adds its name to `names`.
one_of_several() {
  local name arguments log
  IFS=: read -r -a arguments <<<"$1"
  name=${arguments[0]}${arguments[1]:+-${arguments[1]#--}}
  names+=("$name")
  log=build/cross/results/$name.log
  rm -f "build/cross/results/$name.tsv"
  note "started: $name"
  {
    "$here/run" "${arguments[@]}" --kit-level "$kit_level" >"$log" 2>&1 || true
    cat "$log"
    note "ended: $name"
  } &
}
