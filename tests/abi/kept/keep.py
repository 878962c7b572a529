# SPDX-License-Identifier: MIT
"""Binaries of the day of a freeze, which are never rebuilt.

    keep.py make VERSION MACHINE           builds them and adds them (x86_64, aarch64); on the day of the freeze alone
    keep.py add VERSION/MACHINE/NAME FILE  adds one file
    keep.py unpack VERSION/MACHINE FOLDER  unpacks those of one machine, each compared with its hash
    keep.py check                          fails when files and hashes differ

Each file is packed by xz in VERSION/MACHINE here; manifest.json has the SHA-256 of what is in it, and how it was made.
"""

import hashlib
import json
import lzma
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NAME = re.compile(r"[0-9]+\.[0-9]+/(?:x86_64|aarch64|data)/[\w.+-]+")
LARGEST = 4 << 20  # Bytes of all packed files of one version.


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
        path = self.packed(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
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


def declared(version, frozen=HERE.parent / "frozen"):
    """The "DATE COMMIT" of the freeze of the ABI; kept binaries are of that day."""
    path = frozen / f"abi-{version}.json"
    text = json.loads(path.read_text(encoding="utf-8"))["frozen"] if path.exists() else None
    if not text:
        raise Refused(f"ABI {version}: the freeze is not declared (tests/abi/boundary.py declare)")
    return text


def commit(root=ROOT):
    """The commit that is checked out, without changes but those of this folder."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], check=True, text=True, capture_output=True).stdout

    changed = [line[3:] for line in git("status", "--porcelain").splitlines()
               if not line[3:].startswith("tests/abi/kept/")]
    if changed:
        raise Refused(f"expected the sources of a commit, found changes in {', '.join(changed)}")
    return git("rev-parse", "HEAD").strip()


def main():
    action, *rest = sys.argv[1:] or ["help"]
    store = Store()
    try:
        if action == "make" and len(rest) == 2:
            sys.path.insert(0, str(HERE))
            import make  # pylint: disable=import-outside-toplevel
            if store.names(rest[1], rest[0]):
                raise Refused(f"{rest[0]}/{rest[1]}: kept already: a kept binary is never rebuilt")
            facts = {"frozen": declared(rest[0]), "commit": commit()}
            make.make(store, rest[0], rest[1], facts)
        elif action == "add" and len(rest) == 2:
            store.add(rest[0], pathlib.Path(rest[1]).read_bytes())
        elif action == "unpack" and len(rest) == 2:
            version, _, machine = rest[0].partition("/")
            print("\n".join(map(str, store.unpack(version, machine, rest[1]).values())))
        elif action == "check":
            found = store.problems()
            print("\n".join([*(f"not ok: {one}" for one in found), f"{len(store.names())} files, {len(found)} problems"]))
            sys.exit(1 if found else 0)
        else:
            sys.exit(__doc__.strip())
    except Refused as error:
        sys.exit(f"not ok: {error}")


if __name__ == "__main__":
    main()
