# SPDX-License-Identifier: MIT
"""Binaries of the day of a freeze, which are never rebuilt.

Each file is packed by xz in VERSION/MACHINE here; manifest.json has the SHA-256 of what is in it, and how it was made.
"""

import hashlib
import json
import lzma
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
NAME = re.compile(r"[0-9]+\.[0-9]+/(?:x86_64|aarch64|data)/[\w.+-]+")
LARGEST = 6 << 20  # Bytes of all packed files of one version.


class Refused(Exception):
    """What would make a kept binary worthless."""


def sha256(data):
    """As the manifest has it."""
    return hashlib.sha256(data).hexdigest()


class Store:
    """The folder and its manifest."""

    def __init__(self, folder=HERE):
        self.folder = pathlib.Path(folder)
        self.manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))

    def names(self, machine="", version=""):
        """Of files, VERSION/MACHINE/NAME, in order."""
        return [name for name in sorted(self.manifest["files"])
                if machine in ("", name.split("/")[1]) and version in ("", name.split("/")[0])]

    def packed(self, name):
        """Its path here."""
        return self.folder / f"{name}.xz"

    def add(self, name, data):
        """Adds a file, once and for all. A file that is there already with the same bytes is left as it is."""
        if not NAME.fullmatch(name):
            raise Refused(f"{name}: expected VERSION/MACHINE/NAME, for the machines x86_64, aarch64 or data")
        if name in self.manifest["files"]:
            if self.manifest["files"][name]["sha256"] == sha256(data):
                return
            raise Refused(f"{name}: kept already with the hash {self.manifest['files'][name]['sha256']}, found {sha256(data)}: "
                          "a kept binary is never rebuilt")
        self.packed(name).parent.mkdir(parents=True, exist_ok=True)
        self.packed(name).write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
        self.manifest["files"][name] = {"sha256": sha256(data), "nbytes": len(data)}
        self.write()

    def made(self, version, machine, facts):
        """How the files of one machine were made."""
        self.manifest["made"][f"{version}/{machine}"] = facts
        self.write()

    def write(self):
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest, indent=1, sort_keys=True) + "\n",
                                                   encoding="utf-8")

    def read(self, name):
        """The bytes of a file, compared with its hash."""
        if name not in self.manifest["files"]:
            raise Refused(f"{name}: not in the manifest")
        try:
            data = lzma.decompress(self.packed(name).read_bytes())
        except (OSError, lzma.LZMAError, EOFError) as error:
            raise Refused(f"{name}.xz: {error}") from None
        expected = self.manifest["files"][name]["sha256"]
        if sha256(data) != expected:
            raise Refused(f"{name}: expected the hash {expected}, found {sha256(data)}")
        return data

    def unpack(self, version, machine, folder):
        """Files of one machine, which can be run, and data. The paths by name."""
        out = {}
        for name in self.names(machine, version) + self.names("data", version):
            path = pathlib.Path(folder, pathlib.PurePath(name).name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))
            path.chmod(0o755)
            out[path.name] = path
        return out

    def problems(self):
        """What differs between the folder and the manifest."""
        found = []
        for name in self.names():
            try:
                self.read(name)
            except Refused as error:
                found.append(str(error))
        there = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.xz")}
        for path in sorted(there - {f"{name}.xz" for name in self.names()}):
            found.append(f"{path}: not in the manifest")
        for version in sorted({name.split("/")[0] for name in self.names()}):
            size = sum(self.packed(name).stat().st_size for name in self.names(version=version)
                       if self.packed(name).exists())
            if size > LARGEST:
                found.append(f"{version}: {size} bytes, expected at most {LARGEST}")
        return found
