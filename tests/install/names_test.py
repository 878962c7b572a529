#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the names that other projects use with the list in names.txt: installed files, targets and
functions of CMake, dependencies of Meson. A name that is renamed keeps the old one as an alias for a
release (docs/reference/abi-policy.md).

usage: names_test.py BUILD SOURCE
"""

import json
import pathlib
import re
import sys
import unittest

build, source = map(pathlib.Path, sys.argv[1:3])
LIST = pathlib.Path(__file__).with_name("names.txt")


def read_list(text):
    """Names that must exist, names that an option may leave out, and aliases: old name -> (new name,
    version that may drop it)."""
    needed, optional, aliases = set(), set(), {}
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) == 6 and words[2] == "alias" and words[4] == "until":
            aliases[f"{words[0]} {words[1]}"] = (f"{words[0]} {words[3]}", words[5])
        elif len(words) == 2:
            needed.add(" ".join(words))
        elif len(words) == 3 and words[2] == "optional":
            optional.add(" ".join(words[:2]))
        else:
            raise ValueError(f"{line!r}: expected KIND NAME, KIND NAME optional, or "
                             "KIND OLD alias NEW until VERSION")
    return needed, optional, aliases


def installed_names():
    """Programs, libraries, files of pkg-config and CMake, and plugins, without where the build puts them. Headers are
    compared with the tree by install_test.py; docs/python/reference.md has the names in the Python package."""
    kinds = {"bin": "program", "pkgconfig": "pkg-config", "Tenon": "cmake-file", "tenon": "file",
             "plugins": "plugin"}
    out = set()
    for path in json.loads((build / "meson-info/intro-installed.json").read_text()).values():
        path = pathlib.PurePath(path)
        parts = path.parts
        in_python = {"site-packages", "dist-packages"} & set(parts)
        if "include" in parts or "doc" in parts or in_python:
            continue
        folder = re.sub(r"-[0-9.]+$", "", path.parent.name)
        kind = kinds.get(folder, "library" if path.suffix == ".a" else "file")
        out.add(f"{kind} {path.name}")
    return out


def named_in_sources():
    out = set()
    for path in (source / "include/packages").glob("*.cmake*"):
        text = path.read_text()
        out |= {f"cmake-target {name}" for name in re.findall(r"\bTenon::[a-z-]*[a-z]\b(?!-)", text)}
        out |= {f"cmake-function {name}" for name in re.findall(r"^function\((\w+)", text, re.M)}
    for path in (path for part in ("include", "examples", "reference_backends", "tests")
                 for path in (source / part).glob("**/meson.build")):
        calls = re.findall(r"override_(dependency|find_program)\(\s*'([^']+)'", path.read_text())
        out |= {f"meson-{kind.replace('find_', '')} {name}" for kind, name in calls}
    return out


def problems(found, listed, version):
    """Phrases about what differs."""
    needed, optional, aliases = listed
    known = needed | optional | set(aliases)
    out = [f"{name}: is not in names.txt; a new name is a promise" for name in sorted(found - known)]
    out += [f"{name}: is missing; keep it as an alias for a release" for name in sorted(needed - found)]
    number = [int(part) for part in version.split(".")]
    for old, (new, until) in sorted(aliases.items()):
        if new not in needed | optional:
            out.append(f"{old}: is an alias of {new}, which is not in names.txt")
        if number >= [int(part) for part in until.split(".")]:
            if old in found:
                out.append(f"{old}: may go since {until}")
        elif old not in found:
            out.append(f"{old}: must stay until {until}")
    return out


class Names(unittest.TestCase):
    def test_names_are_those_of_the_list(self):
        header = (source / "include/tenon/abi/version.h").read_text()
        version = re.search(r'TENON_VERSION_STRING "([0-9.]+)"', header)[1]
        found = installed_names() | named_in_sources()
        self.assertGreater(len(found), 20)
        self.assertEqual(problems(found, read_list(LIST.read_text()), version), [])

    def test_what_differs_is_found(self):
        listed = read_list("program a\nplugin b optional  # needs CUDA\n"
                           "program old alias a until 0.3.0\n")
        self.assertEqual(problems({"program a", "program old"}, listed, "0.2.0"), [])
        self.assertEqual(problems({"program a", "plugin b"}, listed, "0.2.0"),
                         ["program old: must stay until 0.3.0"])
        self.assertEqual(problems({"program a", "program old"}, listed, "0.3.0"),
                         ["program old: may go since 0.3.0"])
        self.assertEqual(problems({"program a"}, listed, "0.3.0"), [])
        self.assertEqual(problems({"program c"}, read_list("program a"), "0.2.0"),
                         ["program c: is not in names.txt; a new name is a promise",
                          "program a: is missing; keep it as an alias for a release"])
        self.assertEqual(problems({"program old"}, read_list("program old alias a until 9.0"), "0.2"),
                         ["program old: is an alias of program a, which is not in names.txt"])
        with self.assertRaises(ValueError):
            read_list("program a b")


if __name__ == "__main__":
    if sys.argv[3:] == ["--print"]:
        print("\n".join(sorted(installed_names() | named_in_sources())))
    else:
        unittest.main(argv=sys.argv[:1])
