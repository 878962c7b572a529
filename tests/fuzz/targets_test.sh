#!/bin/sh
# SPDX-License-Identifier: MIT
# targets_test.sh PROGRAM TARGET...: the targets of the program are these, each with a corpus.
program=$1
shift
found=$("$program" --targets | sort | tr '\n' ' ')
expected=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
[ "$found" = "$expected" ] && exit 0
echo "fuzz: $program has the targets $found, and tests/fuzz/corpus archives for $expected" >&2
exit 1
