#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `./dev cross` found, as text, as JSON and as rows of a table.

usage: summary.py NAME: prints what build/cross/NAME.json has as rows of a table
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path("build/cross")


def clear(name):
    """A run that does not come to its summary leaves no older one."""
    for suffix in ("json", "txt"):
        (FOLDER / f"{name}.{suffix}").unlink(missing_ok=True)


def of_target(name, checks, seconds):
    """What was found of one target: its checks, and the seconds that it took."""
    made = [{"name": check.name, "passed": check.outcome == "passed", "details": check.details}
            for check in checks if check.outcome != "skipped"]
    passed = sum(check["passed"] for check in made)
    return {"target": name, "passed": passed, "failed": len(made) - passed, "seconds": seconds, "checks": made,
            "not_run": [check.name for check in checks if check.outcome == "skipped"]}


def text_of(target):
    """The lines of the summary about one target."""
    seconds = target["seconds"]
    yield (f"{target['target']}: {target['passed']} passed, {target['failed']} failed  "
           f"[{seconds // 60}:{seconds % 60:02}]")
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
    totals = f"**{target['passed']} passed, {target['failed']} failed** ({seconds // 60}:{seconds % 60:02} min)"
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


def write(name, targets):
    """Writes build/cross/NAME.json and .txt, and returns the text, whose last line is the totals of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    passed, failed = (sum(target[key] for target in targets) for key in ("passed", "failed"))
    lines = [line for target in targets for line in text_of(target)]
    text = "\n".join([*lines, f"{name}: {passed} passed, {failed} failed", ""])
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    summary = {"passed": passed, "failed": failed, "targets": targets}
    (FOLDER / f"{name}.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return text


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.rsplit("\n", 2)[1])
    summary = json.loads((FOLDER / f"{sys.argv[1]}.json").read_text(encoding="utf-8"))
    print("\n".join(row for target in summary["targets"] for row in rows_of(target)))


if __name__ == "__main__":
    main()
