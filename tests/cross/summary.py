# SPDX-License-Identifier: MIT
"""Writes what the runs of tests/cross/run found as one summary.

Each run writes build/cross/results/TARGET.tsv, one line a result: a kind, a tab, a text. The kinds
are "ok" and "not ok" (a check), "detail" (about the check before it), "not run" (with the reason)
and "end" (the seconds that the run took). Without "end" the run did not come to its end, which
counts as one failure.

Prints the summary, and writes it to build/cross/NAME.txt and, with what was found, to
build/cross/NAME.json. Exit code 1 if a check failed.
"""

import argparse
import json
import pathlib
import sys

FOLDER = pathlib.Path("build/cross")
KINDS = ("ok", "not ok", "detail", "not run", "end")


def read_results(path):
    """The results of one target as a dictionary."""
    out = {"target": path.stem, "passed": 0, "failed": 0, "seconds": None, "checks": [], "not_run": []}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        kind, tab, text = line.partition("\t")
        if kind not in KINDS or not tab:
            sys.exit(f"{path}:{number}: expected a line KIND<tab>TEXT, found {line!r}")
        if kind == "end":
            out["seconds"] = int(text)
        elif kind == "not run":
            out["not_run"].append(text)
        elif kind == "detail":
            if not out["checks"]:
                sys.exit(f"{path}:{number}: a detail without a check: {text!r}")
            out["checks"][-1]["details"].append(text)
        else:
            out["checks"].append({"name": text, "passed": kind == "ok", "details": []})
            out["passed" if kind == "ok" else "failed"] += 1
    if out["seconds"] is None:
        missing = "the run did not come to its end" if path.exists() else "was not run"
        out["checks"].append({"name": missing, "passed": False, "details": []})
        out["failed"] += 1
    return out


def text_of(target):
    """The lines of the summary about one target."""
    seconds = target["seconds"]
    took = "" if seconds is None else f"  [{seconds // 60}:{seconds % 60:02}]"
    yield f"{target['target']}: {target['passed']} passed, {target['failed']} failed{took}"
    for check in target["checks"]:
        if not check["passed"]:
            yield f"  not ok: {check['name']}"
        elif check["details"]:
            yield f"  {check['name']}: {'; '.join(check['details'])}"
    for text in target["not_run"]:
        yield f"  not run: {text}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the summary's files")
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    args = parser.parse_args()
    targets = [read_results(FOLDER / "results" / f"{name}.tsv") for name in args.targets]
    passed = sum(target["passed"] for target in targets)
    failed = sum(target["failed"] for target in targets)
    lines = [line for target in targets for line in text_of(target)]
    text = "\n".join([*lines, f"{args.name}: {passed} passed, {failed} failed", ""])
    (FOLDER / f"{args.name}.txt").write_text(text, encoding="utf-8")
    summary = {"passed": passed, "failed": failed, "targets": targets}
    (FOLDER / f"{args.name}.json").write_text(
        json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(text, end="")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
