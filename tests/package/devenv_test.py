#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is installed: in the shell of `meson devenv` programs, plugins, templates and pkg-config
files of the build folder are found, and the templates are built where they lie, under the name that
tenon-new replaces.

usage: devenv_test.py BUILD SOURCE COMPILER...
"""

import os
import pathlib
import sys
import tempfile

from prefix import run

build, source, *compiler = sys.argv[1:]
templates = pathlib.Path(source) / "templates"


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-devenv-") as name:
        folder = pathlib.Path(name).resolve()
        env = dict(os.environ, CXX=" ".join(compiler))

        def devenv(*command):
            return run("meson", "devenv", "-C", build, *command, env=env).stdout

        shown = devenv("tenon-list", "--json")
        for backend in ("Add", "BackendWithCompilerDemo"):
            assert f'"{backend}"' in shown, shown
        assert "minimal" in devenv("tenon-new", "--list")
        devenv("make", "-C", templates / "minimal", f"BUILD={folder / 'make'}", "check")
        devenv("make", "-C", templates / "wrapper", f"BUILD={folder / 'wrapper'}", "all")
        devenv("make", "-C", templates / "full", f"BUILD={folder / 'full'}", "all")
        devenv("tenon-conformance", folder / "full/my_npu.so",
               "--subject", templates / "full/test/subject.json", "--level", "10")
        left = run("git", "status", "--porcelain", "--ignored", "templates", env=env, cwd=source,
                   expect=None)
        assert left.returncode != 0 or "!!" not in left.stdout, left.stdout


if __name__ == "__main__":
    main()
