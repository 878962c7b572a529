# SPDX-License-Identifier: MIT
"""Stands in for tenon-conformance in pytest_test.py: lists a test for each outcome, and reports that outcome.

Each call adds its arguments to the file that KIT_CALLS names. KIT_OUTCOMES chooses tests; KIT_REFUSES is "list" or
"run", which is then refused, or "declaration", with which a run without bad tests ends as a failed one.
"""

import fnmatch
import json
import os
import sys

OUTCOMES = ["passed", "failed", "expected_failure", "unexpected_pass", "unsupported", "not_applicable", "blocked",
            "kit_error"]
CASE = "a [case]*"


def path_of(outcome):
    return f"suite/{outcome.replace('_', '-')}/Acme/{CASE}"


def result(outcome):
    return {
        "id": f"suite/{outcome.replace('_', '-')}", "name": f"it is {outcome}", "suite": "suite", "level": 1,
        "backend": "Acme", "case": CASE, "repeat": 0, "rules": ["TN-EXE-2"], "outcome": outcome,
        "reason": "" if outcome in ("passed", "failed") else f"the reason of {outcome}", "executed": True,
        "findings": [{"rule": "TN-EXE-2", "text": "it wrote to input 0"}] if outcome == "failed" else [],
        "measurements": [], "crashes": [{"signal": "SIGSEGV", "stack": []}] if outcome == "failed" else [],
        "output": "printed by the plugin\n" if outcome == "failed" else "", "seconds": 1.5,
    }


def main():
    with open(os.environ["KIT_CALLS"], "a", encoding="utf-8") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    refusal = os.environ.get("KIT_REFUSES")
    if refusal == ("list" if "--list" in sys.argv else "run"):
        print(f"tenon-conformance: InvalidProgram (0x23): refused the {refusal}", file=sys.stderr)
        return 3
    values = {name: [word.partition("=")[2] for word in sys.argv if word.startswith(f"--{name}=")]
              for name in ("only", "test", "json")}
    chosen = os.environ.get("KIT_OUTCOMES", ",".join(OUTCOMES)).split(",")
    if "--list" in sys.argv:
        for outcome in chosen:
            loads = "; 0.5 s of loads" if outcome == "passed" else ""
            print(f"{path_of(outcome)}  (level 1; TN-EXE-2{loads}) it is {outcome}")
        print("expected: 0.5 s of loads in all (init_ms)")
        return 0
    # fnmatch of Python has no backslashes.
    globs = [glob.replace("\\[", "[[]").replace("\\*", "[*]").replace("\\?", "[?]") for glob in values["only"]]
    chosen = [outcome for outcome in chosen
              if (not globs or any(fnmatch.fnmatchcase(path_of(outcome), glob) for glob in globs))
              and (not values["test"] or path_of(outcome) in values["test"])]
    good = all(outcome in ("passed", "expected_failure", "unsupported", "not_applicable") for outcome in chosen)
    [file] = values["json"]
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"good": good, "verdict": f"{'PASS' if good else 'FAIL'}: {len(chosen)} tests",
                   "subjects": [{"tests": list(map(result, chosen))}]}, out)
    if "--progress" in sys.argv:
        for number, outcome in enumerate(chosen, 1):
            print(f"[{number}/{len(chosen)}] {path_of(outcome)} ... {outcome}", file=sys.stderr)
    if good and refusal == "declaration":
        print("tenon-conformance: InvalidArgument (0x12): acme.json: nothing needs a declaration", file=sys.stderr)
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
