# SPDX-License-Identifier: MIT
"""Lists what changed in ExecuTorch and PyTorch against the facts that Tenon relies on. Fetches nothing.

EXECUTORCH is a checkout of ExecuTorch, or the folder `executorch` of an installed wheel. TORCH is the folder `torch` of
an installed wheel (or the folder that holds it), or a wheel's file; without it only ExecuTorch is compared. The facts are
in drift_facts.json beside this program: virtual functions in their order, numbers of errors, fields of the schemas, magic
texts, limits of the runtime, the functions of PyTorch's C shim and of compiled models with their parameters, and lists
of fallback kernels. Each says in `why` what of Tenon depends on it.

Prints one line for each difference, or JSON with --json. Exits with 0 when there is none, 1 when there is one, 2 when the
folders are not what they should be. With --record the facts are written anew from the two, after a person has seen
what the differences mean; a fact whose file is not there stays as it is.
"""

import argparse
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, Callable, Iterable

HERE = Path(__file__).resolve().parent
FACTS = HERE / "drift_facts.json"
# Where the functions are that Tenon's backends provide to compiled models.
TABLES = ("include/tenon/aoti", "reference_backends")


class Tree:
    """A folder or a wheel's file: texts by their path."""

    def __init__(self, place: Path, inside: str, prefixes: tuple[str, ...]) -> None:
        self.prefixes = prefixes
        self.archive = zipfile.ZipFile(place) if place.is_file() else None
        self.folder = place / inside if (place / inside).is_dir() else place
        if self.archive:
            self.prefixes = tuple(f"{inside}/{prefix}" for prefix in prefixes)
            self.members = set(self.archive.namelist())

    def text(self, path: str) -> str | None:
        """A file's text; None when it is not there."""
        for prefix in self.prefixes:
            if self.archive and prefix + path in self.members:
                return self.archive.read(prefix + path).decode(errors="replace")
            if not self.archive and (self.folder / (prefix + path)).is_file():
                return (self.folder / (prefix + path)).read_text(errors="replace")
        return None


def without_comments(text: str) -> str:
    """C, C++ or a schema without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def block(text: str, opening: str) -> str:
    """What is between the braces that follow the first match of a pattern."""
    found = re.search(opening + r"[^;{]*\{", text)
    if not found:
        return ""
    depth = 1
    for at in range(found.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[found.end():at]
    return ""


def num_parameters(text: str) -> int:
    """The number of parameters in a list, given from its opening parenthesis on."""
    depth, count, has_any = 0, 1, False
    for character in text:
        if character in "(<[{":
            depth += 1
        elif character in ")>]}":
            depth -= 1
            if depth == 0:
                break
        elif character == "," and depth == 1:
            count += 1
        has_any = has_any or (depth >= 1 and not character.isspace() and character != "(")
    return count if has_any else 0


def virtuals(text: str, fact: dict[str, Any]) -> list[str]:
    """The virtual functions of a class in their order: NAME/PARAMETERS."""
    body = block(without_comments(text), rf"\bclass\s+(?:\w+\s+)*{fact['class']}\b")
    return [f"{found[1]}/{num_parameters(body[found.end() - 1:])}"
            for found in re.finditer(r"\bvirtual\b[^;{}]*?(~?\w+)\s*\(", body)]


def numbers(text: str, fact: dict[str, Any]) -> list[str]:
    """The values of an enumeration: NAME=VALUE."""
    body = block(without_comments(text), rf"\benum\s+class\s+{fact['enum']}\b")
    return [f"{name}={int(value, 0)}" for name, value in re.findall(r"(\w+)\s*=\s*(0[xX]?[0-9a-fA-F]*|\d+)", body)]


def schema(text: str, _: dict[str, Any]) -> list[str]:
    """The fields of a FlatBuffers schema in their order."""
    text = without_comments(text)
    out = re.findall(r"\b(file_identifier\s+\"[^\"]*\"|root_type\s+\w+)", text)
    for kind, name in re.findall(r"\b(table|struct|enum|union)\s+(\w+)", text):
        body = block(text, rf"\b{kind}\s+{name}\b")
        parts = re.split(r"[;]" if kind in ("table", "struct") else r"[,]", body)
        out += [f"{name}." + "".join(part.split()) for part in parts if part.strip()]
    return [" ".join(each.split()) for each in out]


def matches(text: str, fact: dict[str, Any]) -> list[str]:
    """What a pattern finds, each once, in alphabetical order."""
    return sorted({found[1] for found in re.finditer(fact["pattern"], text)})


def functions(text: str, fact: dict[str, Any]) -> list[str]:
    """Functions of a C header: NAME and a digest of the whole declaration."""
    text = re.sub(r"^\s*#.*$", "", without_comments(text), flags=re.MULTILINE)
    out = set()
    for found in re.finditer(rf"([\w*]+)\s+\**({fact['prefix']}\w+)\s*\(([^;{{]*)\)\s*[;{{]", text):
        declared = re.sub(r"\s+", "", "|".join(found.groups()))
        out.add(f"{found[2]} {hashlib.sha256(declared.encode()).hexdigest()[:8]}")
    return sorted(out)


KINDS: dict[str, Callable[[str, dict[str, Any]], list[str]]] = {
    "virtuals": virtuals, "numbers": numbers, "schema": schema, "matches": matches, "functions": functions}


def names_here() -> set[str]:
    """The functions that sources of Tenon name, and so provide or refuse."""
    out: set[str] = set()
    for folder in TABLES:
        for path in (HERE.parents[2] / folder).rglob("*.[hc]pp"):
            out.update(re.findall(r"\baoti_torch_\w+", path.read_text(errors="replace")))
    return out


def compare(fact: dict[str, Any], found: list[str], ours: set[str]) -> Iterable[str]:
    """Says how what was found is different from the fact."""
    known = fact["value"]
    if fact["kind"] == "functions":
        before, now = (dict(each.split(" ") for each in side) for side in (known, found))
        yield from (f"new: {name}{' (provided here)' if name in ours else ''}" for name in now if name not in before)
        yield from (f"gone: {name}{' (provided here)' if name in ours else ''}" for name in before if name not in now)
        yield from (f"other parameters: {name}{' (provided here)' if name in ours else ''}"
                    for name in now if name in before and now[name] != before[name])
        return
    yield from (f"new: {each}{place(each, found)}" for each in found if each not in known)
    if not fact.get("may_lack"):
        yield from (f"gone: {each}" for each in known if each not in found)
    common, others = [[each for each in one if each in two] for one, two in ((known, found), (found, known))]
    if common != others:
        yield f"another order: {', '.join(others)}"


def place(each: str, found: list[str]) -> str:
    """Where a new one is, for what has an order."""
    at = found.index(each)
    return " (last)" if at + 1 == len(found) else f" (before {found[at + 1]})"


def read(fact: dict[str, Any], trees: dict[str, Tree]) -> list[str] | None:
    """What the first of the fact's files that is there says; None when none is."""
    for path in fact["files"]:
        text = trees[fact["in"]].text(path)
        if text is not None:
            return KINDS[fact["kind"]](text, fact)
    return None


def differences(facts: list[dict[str, Any]], trees: dict[str, Tree]) -> list[dict[str, str]]:
    """All of them, each with its fact."""
    ours = names_here()
    out: list[dict[str, str]] = []
    for fact in facts:
        if fact["in"] not in trees:
            continue
        found = read(fact, trees)
        if found is None:
            texts: Iterable[str] = [] if fact.get("may_lack") else [f"no file: {' or '.join(fact['files'])}"]
        elif not found and fact["value"] and not fact.get("may_lack"):
            texts = [f"nothing found in {fact['files'][0]}: it is written in another way"]
        else:
            texts = compare(fact, found, ours)
        out += [{"fact": fact["id"], "difference": text, "why": fact["why"]} for text in texts]
    return out


def record(facts: list[dict[str, Any]], trees: dict[str, Tree]) -> None:
    """Takes the values from the trees. What is known and may be lacking stays."""
    for fact in facts:
        found = read(fact, trees) if fact["in"] in trees else None
        if found is not None:
            fact["value"] = sorted(set(fact["value"]) | set(found)) if fact.get("may_lack") else found


def write(facts: list[dict[str, Any]], path: Path) -> None:
    """One fact a paragraph, as many values a line as fit."""
    out = []
    for fact in facts:
        lines, line = [], ""
        for value in map(json.dumps, fact["value"]):
            if line and len(line) + len(value) > 112:
                lines, line = lines + [line], ""
            line += (", " if line else "") + value
        head = json.dumps({key: value for key, value in fact.items() if key != "value"}, indent=1)[:-2]
        values = ",\n  ".join(lines + [line] if line else [])
        out.append(f'{head},\n "value": [\n  {values}]}}')
    path.write_text("[" + ",\n".join(out) + "]\n")


def main() -> int:
    """Compares, or records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executorch", type=Path, metavar="EXECUTORCH")
    parser.add_argument("torch", type=Path, metavar="TORCH", nargs="?")
    parser.add_argument("--facts", type=Path, default=FACTS, metavar="FILE", help="instead of drift_facts.json")
    parser.add_argument("--json", action="store_true", help="print a list of objects: fact, difference, why")
    parser.add_argument("--record", action="store_true", help="write the facts anew")
    options = parser.parse_args()
    trees = {"executorch": Tree(options.executorch, "executorch", ("", "include/executorch/"))}
    if options.torch:
        trees["torch"] = Tree(options.torch, "torch", ("", "../"))
    for name, marker in (("executorch", "runtime/core/error.h"),
                         ("torch", "include/torch/csrc/inductor/aoti_torch/c/shim.h")):
        if name in trees and trees[name].text(marker) is None:
            print(f"drift: {vars(options)[name]}: expected {name}, found no {marker}", file=sys.stderr)
            return 2
    facts = json.loads(options.facts.read_text())
    if options.record:
        record(facts, trees)
        write(facts, options.facts)
        return 0
    found = differences(facts, trees)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for each in found:
            print(f"{each['fact']}: {each['difference']}  [{each['why']}]")
        print(f"{sum(fact['in'] in trees for fact in facts)} facts, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
