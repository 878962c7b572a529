# SPDX-License-Identifier: MIT
"""Runs what `./dev test` leaves out, in slices of at most twelve minutes of two idle cores each where their build is
there.

Without arguments all slices run in turn. Ends with the totals of all that ran. The last result of each slice is written
to docs/measurements/rest.json when the tree equals a commit, and committed by hand; a test of suite lint fails when a
slice last ran without a failure more than 300 commits ago. Where CI is set, as in a clone that cannot commit, the
result is printed as a line `rest-result: ...` instead, which --take adds to the file.

The table of slices is tests/dev/rest/slices.py; tests/dev/rest/touched.py says which of them a change can touch.
"""

import argparse
import json
import math
import sys

from dev import totals
from dev.rest import record, runner
from dev.rest.slices import SLICES
from dev.rest.touched import NEAR, base, changed, touched


def number_of(text):
    """What gives the slices that --slice names, when those before have run."""
    choices = {"auto": automatic, "touched": of_change} | {each.name: lambda each=each: [each] for each in (*SLICES, *NEAR)}
    if text in choices:
        return choices[text]
    if text.isdecimal() and int(text) < len(SLICES):
        return lambda: [SLICES[int(text)]]
    raise argparse.ArgumentTypeError(
        f"expected auto, touched, a number below {len(SLICES)} or a name (--list), found {text!r}")


def of_change():
    """The slices that the change since the commit that CI saw last can touch. Without the history, the slices of a file that
    the table does not know."""
    since = base()
    files = [""] if since is None else changed(since)
    picked = touched(files)
    print(f"rest: {len(files)} files changed since {since[:12]}" if since else "rest: the history is not here",
          f"touched: {' '.join(each.name for each in picked) or 'nothing beside ./dev test'}", sep="; ", file=sys.stderr)
    return picked


def automatic():
    """The slice that is this commit's turn, or none: of those that ran without a failure once, and for which `.ci/run`
    has the time and the builds, the one with the number of commits modulo their number. Where the history is not here,
    the commit's hash is that number. A slice that never ran so fails for another reason than this commit; age_test.py
    names it.
    """
    count = record.commits()
    if count is None:
        count = int(record.git("rev-parse", "HEAD") or "0", 16)
    known = record.read()
    proven = [each for each in SLICES if known.get(each.name, {}).get("green") is not None] or SLICES
    left = runner.time_left()
    fitting = [each for each in proven if each.minutes * 60 <= left and not (math.isfinite(left) and each.needs_gcc)]
    if not fitting:
        print(f"rest: no slice: {runner.CI_SECONDS // 60} minutes after the start of .ci/run are in {left:.0f} s, and the "
              f"shortest slice takes {min(each.minutes for each in proven):g} minutes", file=sys.stderr)
        return []
    return [fitting[count % len(fitting)]]


def as_json(each):
    """A slice of the table, with its last result."""
    return {"name": each.name, "about": each.about, "commands": list(each.commands), "minutes": each.minutes,
            "last": record.read().get(each.name)}


def print_list():
    """The table of slices and of their last results."""
    last = record.read()
    print(" no  name                  min  last run")
    for number, each in enumerate(SLICES):
        result = last.get(each.name)
        when = "never" if result is None else (
            f"{result['date']} {result['commit']}: {result['passed']} passed, {result['failed']} failed, "
            f"{result['skipped']} skipped in {result['seconds']} s ({result['processor_seconds']} s of "
            f"{result['processors']} processors)")
        print(f"{number:3}  {each.name:20} {each.minutes:4g}  {when}")


def tree():
    """The commit that the tree is of, or None where it has changes."""
    return record.git("rev-parse", "HEAD") if record.is_clean() else None


def keep(outcome, before, out):
    """Records the result, or says why not. `before` is the tree when the slice began."""
    result = record.result_of(outcome.name, outcome.totals, outcome.seconds, outcome.processor_seconds)
    if outcome.left or outcome.name in (each.name for each in NEAR):
        return
    if record.os.environ.get("CI") or record.os.environ.get(runner.CI_STARTED):
        print(record.PREFIX + json.dumps(result), file=out)
    elif result["commits"] is None or before is None or tree() != before:
        print(f"rest: {outcome.name}: not recorded: the tree differs from its commit, or the history is not here", file=out)
    else:
        known = record.read()
        record.take(known, result)
        record.write(known)


def take_lines(lines):
    """Adds the lines of results in `lines` to the record."""
    known, count = record.read(), 0
    for line in lines:
        _, prefix, text = line.partition(record.PREFIX)
        if prefix:
            record.take(known, json.loads(text))
            count += 1
    record.write(known)
    print(f"{record.FILE}: {count} results")


def run(choices, out):
    """Runs the slices of each choice in turn, each slice once, and prints a summary."""
    outcomes = []
    for each in (each for choice in choices for each in choice()):
        if each.name in (outcome.name for outcome in outcomes):
            continue
        before = tree()
        outcome = runner.run_slice(each, out)
        outcomes.append(outcome)
        keep(outcome, before, out)
    print(file=out)
    for outcome in outcomes:
        print(f"{outcome.name}: {outcome.totals} in {outcome.seconds:.0f} s ({outcome.processor_seconds:.0f} s of the "
              "processor)", file=out)
        for command in outcome.left:
            print(f"left: {outcome.name}: {command}: .ci/run ends {runner.CI_SECONDS // 60} minutes after its start",
                  file=out)
    return outcomes


def add_arguments(parser):
    """Adds the arguments of the command."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", action="store_true", help="print the slices, with the last result of each, and leave")
    choice.add_argument("--slice", action="append", metavar="touched|auto|N|NAME", type=number_of, dest="slices",
                        help="run this slice; repeatable; touched: the slices that the change can touch; auto: the slice of "
                        "this commit's turn, out of the slices that have passed before and fit into what is left of .ci/run's "
                        "time")
    choice.add_argument("--take", metavar="LOG", type=argparse.FileType(encoding="utf-8"),
                        help="add the results in a log of CI to the record")
    parser.add_argument("--json", action="store_true", help="print results, or the list, as JSON; all else to stderr")


def rest(_, slices, take, **options):
    """The command. Its totals come from other commands, so it prints them itself."""
    is_json = options["json"]
    if take:
        take_lines(take)
        return 0
    if options["list"]:
        if is_json:
            print(json.dumps([as_json(each) for each in SLICES], indent=1))
        else:
            print_list()
        return 0
    outcomes = run(slices or [lambda: SLICES], sys.stderr if is_json else sys.stdout)
    total = sum((outcome.totals for outcome in outcomes), totals.Totals())
    if is_json:
        print(json.dumps({
            "slices": [record.result_of(one.name, one.totals, one.seconds, one.processor_seconds) | {"left": one.left}
                       for one in outcomes],
            "passed": total.passed, "failed": total.failed, "skipped": total.skipped}, indent=1))
    else:
        print(total)
    return 1 if total.failed else 0
