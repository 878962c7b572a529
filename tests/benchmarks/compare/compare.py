# SPDX-License-Identifier: MIT
"""Compares two runs of tenon-bench, written by --json.

compare.py BEFORE.json AFTER.json

A row with a stock side is compared by ours / stock, because both sides of a run take turns and meet
the same changes of the machine's speed; any other row by its own figure. The noise of a run is how
far the even and the odd rounds of it are apart. A row differs when it changed by more than 3 % and
by more than twice the noise of both runs.

Exit status: 0, 1 when a row became slower, 2 when a file is no run or the two have no row in common.
"""

import json
import sys

LEAST = 0.03


def figures(row):
    """The figures of a row and of its halves; None when there is none to compare."""
    ours, stock = row.get("ours"), row.get("stock")
    if not ours or ours["minimum"] <= 0:
        return None
    if stock and stock["minimum"] <= 0:
        return None
    halves = ours.get("halves") or [0, 0]
    if not stock:
        return ours["minimum"], halves
    of_stock = stock.get("halves") or [0, 0]
    ratios = [a / b if b > 0 else 0 for a, b in zip(halves, of_stock)]
    return ours["minimum"] / stock["minimum"], ratios


def noise(halves):
    """How far the halves are apart; a count has none."""
    return abs(halves[0] - halves[1]) / min(halves) if min(halves) > 0 else 0


def compare(before, after):
    """For each row of both: its name, both figures, the limit, and the verdict."""
    known = {(row["group"], row["what"]): row for row in before["rows"]}
    for row in after["rows"]:
        name = (row["group"], row["what"])
        old, new = figures(known.get(name, {})), figures(row)
        if not old or not new:
            continue
        limit = max(LEAST, 2 * max(noise(old[1]), noise(new[1])))
        change = new[0] / old[0] - 1
        verdict = "SLOWER" if change > limit else "faster" if change < -limit else ""
        yield ": ".join(name), old[0], new[0], change, limit, verdict


def main(paths):
    try:
        runs = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                runs.append(json.load(file))
        lines = list(compare(*runs))
    except (OSError, ValueError, KeyError, TypeError) as failure:
        print(f"compare.py: expected two files of tenon-bench --json: {failure!r}", file=sys.stderr)
        return 2
    if not lines:
        print("compare.py: the two runs have no row in common", file=sys.stderr)
        return 2
    print(f"{'row':66} {'before':>9} {'after':>9} {'change':>8} {'noise':>7}")
    for name, old, new, change, limit, verdict in lines:
        line = f"{name:66} {old:9.3g} {new:9.3g} {100 * change:+7.1f}% {100 * limit:6.1f}% {verdict}"
        print(line.rstrip())
    return 1 if any(line[-1] == "SLOWER" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
