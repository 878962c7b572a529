#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model that PyTorch exported becomes a program, through the backend's own partitioner and
# tenon-compile, and the program gives PyTorch's numbers. Exits with 77, which means skipped, where
# Tenon was installed without tenon-compile.
#
# usage: compile_test.sh TENON_CONFORMANCE PLUGIN GOLDEN
set -eu
bin=$(dirname "$1")
plugin=$2
golden=$3/relu_of_sums

# Next to the kit in an installation; in PATH when Tenon is used from its build folder.
PATH=$bin:$PATH
if ! command -v tenon-compile >/dev/null || ! command -v tenon-run >/dev/null; then
  echo "skipped: there is no tenon-compile and tenon-run"
  exit 77
fi

# A line of the record is "backend ID" or "backend ID: DESCRIPTION".
record=$(tenon-inspect "$plugin")
id=$(printf '%s\n' "$record" | sed -n "s/^  backend \([^: ]*\).*/\1/p")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tenon-compile "$golden/model.pt2" --backend "$id" --plugin "$plugin" -o "$work/model.pte" \
  >"$work/report"
cat "$work/report"
grep -q '^method forward: 4 of 4 nodes in 1 delegate$' "$work/report"
for run in 0 1 2; do
  tenon-run "$work/model.pte" --plugin "$plugin" \
    --input "$golden/a$run.npy" --input "$golden/b$run.npy" --input "$golden/c$run.npy" \
    --expect "$golden/relu$run.npy" --expect "$golden/difference$run.npy" \
    --rtol 0 --atol 0
done

# What the partitioner does not take is no part of the program for this backend.
if tenon-compile "$golden/model.pt2" --backend NoSuchBackend --plugin "$plugin" \
  -o "$work/none.pte" 2>"$work/refusal"; then
  echo "a backend that does not exist was accepted"
  exit 1
fi
test ! -e "$work/none.pte"
