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
    shown: str
    folder: str
    macros: tuple  # Of its version.
    drafts: tuple = ()


INTERFACES = {
    "abi": Interface("abi", "ABI", "tenon/abi", ("TENON_ABI_MAJOR", "TENON_ABI_MINOR"), ("draft", "private")),
    "c": Interface("c", "C interface", "tenon/host/c", ("TENON_C_MAJOR", "TENON_C_MINOR")),
}
# What each release, or each minor, changes by design.
CHANGING = {"TENON_ABI_MINOR", "TENON_C_MINOR", "TENON_VERSION_STRING", "TENON_RELEASE"}
DECLARED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9a-f]{40}")
TABLES = ("constants", "macros", "types", "functions", "rules")


def read(interface, include):
    """The Boundary of an interface, without its drafts."""
    folder = include / interface.folder
    return headers.read(include, [path for path in sorted(folder.rglob("*.h"))
                                  if path.relative_to(folder).parts[0] not in interface.drafts])


def read_all(include):
    """The Boundary of all headers, drafts and private ones too."""
    return headers.read(include, [path for interface in INTERFACES.values()
                                  for path in sorted((include / interface.folder).rglob("*.h"))])


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
        return f"{self.interface.shown} {self.version[0]}.{self.version[1]}"

    @property
    def file(self):
        """The name of the file."""
        return f"{self.interface.name}-{self.version[0]}.{self.version[1]}.json"


def of_headers(interface, include):
    """What would be written today."""
    boundary = read(interface, include)
    try:
        version = tuple(int(boundary.macros[name]) for name in interface.macros)
    except KeyError as error:
        raise headers.Unreadable(f"{interface.folder}: no macro {error.args[0]}") from None
    for name in CHANGING:
        boundary.macros.pop(name, None)
    return Frozen(interface, version, None, boundary)


def text_of(frozen):
    """The text of the file."""
    boundary, extensions = frozen.boundary, frozen.boundary.extensions
    tables = {
        "extensions": extensions,
        "structs": {name: [member.declaration for member in struct.members] for name, struct in boundary.structs.items()},
        "types": boundary.types,
        "functions": boundary.functions,
        "constants": boundary.constants,
        "macros": {name: value for name, value in boundary.macros.items() if name not in extensions},
        "rules": boundary.rules,
    }
    return json.dumps({
        "interface": frozen.interface.name,
        "version": f"{frozen.version[0]}.{frozen.version[1]}",
        "frozen": frozen.declared,
        **{name: dict(sorted(table.items())) for name, table in tables.items()},
    }, indent=1, ensure_ascii=False) + "\n"


def load(path):
    """A file as a Frozen."""
    data = json.loads(path.read_text(encoding="utf-8"))
    boundary = headers.Boundary()
    for name, members in data["structs"].items():
        boundary.structs[name] = headers.Aggregate(False, tuple(map(headers.read_member, members)))
    for name in TABLES:
        getattr(boundary, name).update(data[name])
    boundary.macros.update({name: json.dumps(value) for name, value in data["extensions"].items()})
    stored = Frozen(INTERFACES[data["interface"]], tuple(map(int, data["version"].split("."))), data["frozen"], boundary)
    if path.name != stored.file:
        raise headers.Unreadable(f"{path.name}: expected the name {stored.file}")
    if stored.declared is not None and not DECLARED.fullmatch(stored.declared):
        raise headers.Unreadable(f"{path.name}: \"frozen\": expected null or \"DATE COMMIT\", found {stored.declared!r}")
    return stored
