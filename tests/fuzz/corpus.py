#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The corpus of a fuzz target, an archive tests/fuzz/corpus/PROGRAM/TARGET.zip, as OSS-Fuzz takes it.

usage: corpus.py unpack ARCHIVE FOLDER     FOLDER then holds the inputs of ARCHIVE, and nothing else
       corpus.py add ARCHIVE FILE...       adds inputs, each named by its content; makes ARCHIVE when it is not there

Equal inputs give equal bytes of the archive, in whatever order they were added.
"""

import hashlib
import pathlib
import shutil
import sys
import zipfile


def unpack(archive, folder):
    """Names with a directory are refused: an input is a file of FOLDER."""
    folder = pathlib.Path(folder)
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if pathlib.PurePath(name).name != name:
                raise SystemExit(f"{archive}: expected names without a directory, found {name!r}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        opened.extractall(folder)


def add(archive, paths):
    """An input that the archive has already, under any name, is left out."""
    inputs = {}
    if pathlib.Path(archive).exists():
        with zipfile.ZipFile(archive) as opened:
            inputs = {name: opened.read(name) for name in opened.namelist()}
    known = set(inputs.values())
    for path in paths:
        content = pathlib.Path(path).read_bytes()
        if content not in known:
            known.add(content)
            inputs[hashlib.sha256(content).hexdigest()[:12]] = content
    pathlib.Path(archive).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as out:
        for name, content in sorted(inputs.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content, compresslevel=9)


def main(words):
    if len(words) == 3 and words[0] == "unpack":
        unpack(*words[1:])
    elif len(words) >= 3 and words[0] == "add":
        add(words[1], words[2:])
    else:
        print(__doc__, file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
