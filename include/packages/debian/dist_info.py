#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the metadata of the Python package where Debian installs it: dist_info.py SOURCE VERSION FOLDER

By its entry points pytest finds `--tenon-plugin`, and torch.compile the backends. pip writes this file for a wheel; a
package of Debian has no pip.
"""

import pathlib
import sys
import tomllib


def write(source, version, folder):
    """FOLDER/tenon_ml-VERSION.dist-info, from pyproject.toml."""
    project = tomllib.loads((source / "examples/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}\n",
        encoding="utf-8")
    (info / "INSTALLER").write_text("debian\n", encoding="utf-8")
    # Without the script tenon-config, which is for environments that are prefixes: Debian has pkg-config.
    (info / "entry_points.txt").write_text(
        "\n".join(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
                  for group, points in project["entry-points"].items()), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: dist_info.py SOURCE VERSION FOLDER")
    write(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
