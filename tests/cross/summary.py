# SPDX-License-Identifier: MIT
"""Writes what the runs of tests/cross/run found as one summary.

Each run writes build/cross/results/TARGET.tsv, one line a result: a kind, a tab, a text. The kinds
are "ok" and "not ok" (a check), "detail" (about the check before it), "not run" (with the reason)
and "end" (the seconds that the run took). Without "end" the run did not come to its end, which
counts as one failure, as does each line that is none of these.

Prints the summary, and writes it to build/cross/NAME.txt and, with what was found, to
build/cross/NAME.json. Exit code 1 if a check failed.

With --markdown and no targets: prints what build/cross/NAME.json has as rows of the table in
docs/platforms.md.
"""

import argparse
import json
import pathlib
import sys

FOLDER = pathlib.Path("build/cross")


def read_results(path):
    """The results of one target as a dictionary."""
    out = {"target": path.stem, "passed": 0, "failed": 0, "seconds": None, "checks": [], "not_run": []}

    def add(name, passed):
        out["checks"].append({"name": name, "passed": passed, "details": []})
        out["passed" if passed else "failed"] += 1

    # Texts may have bytes that a program printed, and what else Python takes for the end of a line.
    content = path.read_bytes().decode("utf-8", errors="replace") if path.exists() else ""
    for number, line in enumerate(content.removesuffix("\n").split("\n") if content else [], 1):
        kind, tab, text = line.partition("\t")
        if kind in ("ok", "not ok") and tab:
            add(text, kind == "ok")
        elif kind == "detail" and tab and out["checks"]:
            out["checks"][-1]["details"].append(text)
        elif kind == "not run" and tab:
            out["not_run"].append(text)
        elif kind == "end" and text.isdecimal():
            out["seconds"] = int(text)
        else:
            add(f"{path}:{number}: expected a result KIND<tab>TEXT, found {line!r}", False)
    if out["seconds"] is None:
        add("the run did not come to its end" if path.exists() else "was not run", False)
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


def rows_of(target):
    """The rows of a table about one target: its totals, each check that has details or failed, the rest."""
    def row(*cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    seconds = target["seconds"]
    took = "" if seconds is None else f" ({seconds // 60}:{seconds % 60:02} min)"
    totals = f"**{target['passed']} passed, {target['failed']} failed**{took}"
    name, _, part = target["target"].partition("-")
    yield row(target["target"], f"`./dev cross {'quick' if part else name}`", totals)
    rest = []
    for check in target["checks"]:
        if not check["passed"]:
            yield row("", check["name"], "failed")
        elif check["details"]:
            yield row("", check["name"], "; ".join(check["details"]))
        else:
            rest.append(check["name"])
    if rest:
        yield row("", f"{len(rest)} without a count of their own: " + "; ".join(rest), "passed")
    for text in target["not_run"]:
        yield row("", text, "not run")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the summary's files")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    if args.markdown == bool(args.targets):
        parser.error("expected targets, or --markdown and none")
    if args.markdown:
        summary = json.loads((FOLDER / f"{args.name}.json").read_text(encoding="utf-8"))
        print("\n".join(row for target in summary["targets"] for row in rows_of(target)))
        return
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
