# SPDX-License-Identifier: MIT
"""The last result of each slice, which is committed: docs/measurements/rest.json.

An object with a member for each slice that ran: `commit`, `tree` and `commits` (the commit, its tree, and how many commits
the history had), `committed` (the commit's time in seconds since 1970), `date`, `passed`, `failed`, `skipped`, `seconds`,
`processor_seconds`, `processors`, and `green`: how many commits the history had when the slice last ran without a failure, or
null. `green_tree` and `green_committed` are of that run. Commits may be squashed later, which changes their number and their
hashes, but neither the last tree nor the time, so ages are counted by these. Records before 2026-12 have neither.
"""

import datetime
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILE = "docs/measurements/rest.json"
MAX_AGE = 300
# What a line for `./dev rest --take` begins with.
PREFIX = "rest-result: "


def git(*arguments):
    """What git prints, or None where this is no checkout."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.rstrip() if done.returncode == 0 else None


def commits():
    """The number of commits of the history, or None where it is not here: an archive, or a shallow clone."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        return None
    return int(git("rev-list", "--count", "HEAD"))


def history():
    """(time, tree) of each commit, the newest first, or None where the history is not here."""
    if commits() is None:
        return None
    lines = git("log", "--format=%ct %T").splitlines()
    return [(int(time), tree) for time, tree in map(str.split, lines)]


def age_of(green, of_slice, past):
    """How many commits are newer than a slice's last run without a failure: those after its tree, or, where no commit has that
    tree any more, those after its time."""
    trees = [tree for _, tree in past]
    if of_slice.get("green_tree") in trees:
        return trees.index(of_slice["green_tree"])
    if of_slice.get("green_committed"):
        return sum(time > of_slice["green_committed"] for time, _ in past)
    return max(0, len(past) - green)


def is_clean():
    """Whether the tree equals the commit, without the record itself."""
    changed = git("status", "--porcelain", "--untracked-files=all")
    return changed is not None and all(line[3:] == FILE for line in changed.splitlines())


def read(root=ROOT):
    """The record: slices by name."""
    path = root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(record, root=ROOT):
    """Replaces the record."""
    text = json.dumps(dict(sorted(record.items())), indent=1) + "\n"
    (root / FILE).write_text(text, encoding="utf-8")


def result_of(name, totals, seconds, processor_seconds):
    """What is recorded of a run of a slice."""
    return {
        "slice": name,
        "commit": (git("rev-parse", "HEAD") or "")[:12],
        "tree": git("rev-parse", "HEAD^{tree}"),
        "commits": commits(),
        "committed": int(git("log", "-1", "--format=%ct") or 0),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "passed": totals.passed,
        "failed": totals.failed,
        "skipped": totals.skipped,
        "seconds": round(seconds),
        "processor_seconds": round(processor_seconds),
        "processors": len(os.sched_getaffinity(0)),
    }


def take(record, result):
    """Adds a result to the record. A result of an older commit than the recorded one changes nothing."""
    result = dict(result)
    name = result.pop("slice")
    before = record.get(name, {})
    if before.get("committed", 0) > result.get("committed", 0) or before.get("date", "") > result["date"]:
        return
    is_green = result["failed"] == 0 and result["passed"] > 0
    green = {"": "commits", "_tree": "tree", "_committed": "committed"}
    record[name] = result | {f"green{end}": result.get(member) if is_green else before.get(f"green{end}")
                             for end, member in green.items()}


def ages(slices, record, past):
    """A line about each slice whose last run without a failure is more than MAX_AGE commits ago, and one about each
    whose last run failed or that never ran: (too old, to note). `past` is the history."""
    old, notes = [], []
    for each in slices:
        of_slice = record.get(each.name)
        green = (of_slice or {}).get("green")
        age = max(0, len(past) - each.since) if green is None else age_of(green, of_slice, past)
        if of_slice is None:
            text = "never ran"
        elif green is None:
            text = "never ran without a failure"
        else:
            text = f"last ran without a failure {age} commits ago"
        if age > MAX_AGE:
            old.append(f"{each.name}: {text}, expected at most {MAX_AGE}: run ./dev rest --slice {each.name}")
        elif green is None or of_slice["failed"]:
            notes.append(f"{each.name}: {text}")
    unknown = sorted(set(record) - {each.name for each in slices})
    old += [f"{name}: is in {FILE}, but is no slice" for name in unknown]
    return old, notes
