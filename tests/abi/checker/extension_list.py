# SPDX-License-Identifier: MIT
"""Compares the list of extensions that a backend may have (tenon/core/extensions.hpp) with the headers of the boundary.

The headers say which there are: a macro TENON_EXTENSION_..., whose id "tenon.name/1" names the struct `tenon_name_v1`,
a table with functions of which at least one takes a `tenon_backend*`. The other tables belong to hosts.
"""

import dataclasses
import re

LIST = "tenon/core/extensions.hpp"
PAGE = "docs/reference/contract.md"

BEGIN = "template <> struct BackendExtension<"
ENTRY = re.compile(
    re.escape(BEGIN) + r"(\w+)> \{ using Table = \1; static constexpr const char\* id = (\w+); "
    r"static constexpr ExtensionStage stage = ExtensionStage::(\w+); using Functions = TypeList<([^;]*)>; \};")
FUNCTION = re.compile(r'(?:Required|Optional)<&Table::(\w+), "(\w+)">')
TABLES = re.compile(r"using BackendExtensions = TypeList<([\w, ]*)>;")
POINTER = re.compile(r"\(TENON_CALL ?\* ?(\w+)\)\((.*)\)$")


class Unreadable(Exception):
    """The list is not written as this file reads it."""


@dataclasses.dataclass(frozen=True)
class Extension:
    """One extension, as the list or the headers have it."""

    macro: str
    stage: str
    functions: tuple


def read(text):
    """The extensions that are described, by table, and the tables of `BackendExtensions`."""
    text = " ".join(re.sub(r"//[^\n]*", "", text).split())
    entries, out = ENTRY.findall(text), {}
    if len(entries) != text.count(BEGIN):
        wrong = text.count(BEGIN) - len(entries)
        raise Unreadable(f"{LIST}: has {text.count(BEGIN)} specialisations of BackendExtension, of which {wrong} "
                         f"{'is' if wrong == 1 else 'are'} not written like the others")
    for table, macro, stage, functions in entries:
        pairs = FUNCTION.findall(functions)
        if re.sub(r"[ ,]", "", FUNCTION.sub("", functions)):
            raise Unreadable(f"{LIST}: {table}: cannot read its functions, found `{functions}`")
        for member, name in pairs:
            if member != name:
                raise Unreadable(f"{LIST}: {table}: expected the name \"{member}\", found \"{name}\"")
        if table in out:
            raise Unreadable(f"{LIST}: describes {table} twice")
        out[table] = Extension(macro, stage, tuple(member for member, _ in pairs))
    if not (listed := TABLES.search(text)):
        raise Unreadable(f"{LIST}: expected `using BackendExtensions = TypeList<...>;`")
    return out, listed[1].replace(" ", "").split(",")


def of_headers(everything):
    """The extensions of backends that the headers declare, by table; private ones are left out."""
    out = {}
    for macro, name in everything.extensions.items():
        header = everything.headers[macro]
        if "/private/" in header:
            continue
        parts = re.fullmatch(r"tenon\.(\w+)/([0-9]+)", name)
        table = parts and f"tenon_{parts[1]}_v{parts[2]}"
        if table not in everything.structs:
            raise Unreadable(f"{header}: {macro} is \"{name}\": expected \"tenon.name/1\" with a struct tenon_name_v1")
        functions = [found for member in everything.structs[table].members
                     if (found := POINTER.search(member.declaration))]
        if any("tenon_backend*" in arguments for _, arguments in map(re.Match.groups, functions)):
            out[table] = Extension(macro, "draft" if "/draft/" in header else "frozen",
                                   tuple(found[1] for found in functions))
    return out


def compare(text, everything):
    """Findings, none when the list is complete and right."""
    try:
        described, listed = read(text)
        expected = of_headers(everything)
    except Unreadable as error:
        return [str(error)]
    found = []
    for table, there in expected.items():
        header = everything.headers[table]
        here = described.get(table)
        if here is None:
            found.append(f"{header}: {LIST} does not describe {table}: add a specialisation of BackendExtension")
            continue
        for what in ("macro", "stage", "functions"):
            wanted, got = getattr(there, what), getattr(here, what)
            if wanted != got:
                found.append(f"{LIST}: {table}: expected the {what} {_shown(wanted)} of {header}, found {_shown(got)}")
    found += [f"{LIST}: describes {table}, which no header declares as the table of a backend"
              for table in described if table not in expected]
    found += [f"{LIST}: {table}: expected once in BackendExtensions, found {listed.count(table)} times"
              for table in described if listed.count(table) != 1]
    return found


def _shown(value):
    return ", ".join(value) if isinstance(value, tuple) else value


def compare_page(text, everything):
    """Findings, none when the contract has a row for each extension of a backend."""
    ids = everything.extensions
    return [f"{PAGE}: expected a row for `{ids[one.macro]}`" for one in of_headers(everything).values()
            if f"\n| `{ids[one.macro]}` |" not in text]
