# SPDX-License-Identifier: MIT
"""The interfaces, their headers, and their frozen texts: tests/abi/frozen/INTERFACE-VERSION.json."""

import dataclasses
import json
import re

from checker import headers


@dataclasses.dataclass(frozen=True)
class Interface:
    """Headers that are frozen together. Folders in `drafts` are in none, and may change."""

    name: str
    folder: str
    version_macros: str  # What the names of the macros of its version begin with.
    drafts: tuple = ()

    @property
    def macros(self):
        """The macros of its version."""
        return f"{self.version_macros}_MAJOR", f"{self.version_macros}_MINOR"


INTERFACES = {
    "abi": Interface("abi", "tenon/abi", "TENON_ABI", ("draft", "private")),
    "c": Interface("c", "tenon/host/c", "TENON_C"),
}
# What each release, or each minor, changes by design.
CHANGING = {"TENON_ABI_MINOR", "TENON_C_MINOR", "TENON_VERSION_STRING", "TENON_RELEASE"}
DECLARED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9a-f]{40}")
TABLES = ("constants", "macros", "types", "functions", "rules")


def paths_of(interface, include):
    """Its headers, without drafts."""
    folder = include / interface.folder
    return [path for path in sorted(folder.rglob("*.h"))
            if path.relative_to(folder).parts[0] not in interface.drafts]


def read(interface, include):
    """The Boundary of an interface."""
    return headers.read(include, paths_of(interface, include))


def read_all(include):
    """The Boundary of all headers, drafts and private ones too."""
    return headers.read(include, [path for interface in INTERFACES.values()
                                  for path in sorted((include / interface.folder).rglob("*.h"))])


def version_of(interface, boundary):
    """(major, minor)."""
    try:
        return tuple(int(boundary.macros[name]) for name in interface.macros)
    except KeyError as error:
        raise headers.Unreadable(f"{interface.folder}: no macro {error.args[0]}") from None


@dataclasses.dataclass
class Frozen:
    """One file. `declared` is "DATE COMMIT", or None as long as the file may be written again."""

    interface: Interface
    version: tuple
    declared: str
    boundary: headers.Boundary

    @property
    def shown(self):
        """The version, as people read it."""
        return f"{'ABI' if self.interface.name == 'abi' else 'C interface'} {self.version[0]}.{self.version[1]}"


def of_headers(interface, include):
    """What would be written today."""
    boundary = read(interface, include)
    version = version_of(interface, boundary)
    for name in CHANGING:
        boundary.macros.pop(name, None)
    return Frozen(interface, version, None, boundary)


def text_of(frozen):
    """The text of the file."""
    boundary, extensions = frozen.boundary, frozen.boundary.extensions
    out = {
        "interface": frozen.interface.name,
        "version": f"{frozen.version[0]}.{frozen.version[1]}",
        "frozen": frozen.declared,
        "extensions": extensions,
        "structs": {name: [member.declaration for member in struct.members] for name, struct in boundary.structs.items()},
        "types": boundary.types,
        "functions": boundary.functions,
        "constants": boundary.constants,
        "macros": {name: value for name, value in boundary.macros.items() if name not in extensions},
        "rules": boundary.rules,
    }
    for name in ("structs", "extensions", *TABLES):
        out[name] = dict(sorted(out[name].items()))
    return json.dumps(out, indent=1, ensure_ascii=False) + "\n"


def load(path):
    """A file as a Frozen."""
    data = json.loads(path.read_text(encoding="utf-8"))
    interface = INTERFACES[data["interface"]]
    expected = f"{interface.name}-{data['version']}.json"
    if path.name != expected:
        raise headers.Unreadable(f"{path.name}: expected the name {expected}")
    if data["frozen"] is not None and not DECLARED.fullmatch(data["frozen"]):
        raise headers.Unreadable(f"{path.name}: \"frozen\": expected null or \"DATE COMMIT\", found {data['frozen']!r}")
    boundary = headers.Boundary()
    for name, members in data["structs"].items():
        boundary.structs[name] = headers.Aggregate(False, tuple(map(headers.read_member, members)))
    for name in TABLES:
        getattr(boundary, name).update(data[name])
    boundary.macros.update({name: json.dumps(value) for name, value in data["extensions"].items()})
    return Frozen(interface, tuple(map(int, data["version"].split("."))), data["frozen"], boundary)
