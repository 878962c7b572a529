# SPDX-License-Identifier: MIT
"""What is made of the sources and not compiled: the rules, the site of the pages, the wheel for Python."""

import filecmp
import os
import shutil

from dev import builds, packages


def rules(part):
    """The kit's table of rules, the list of the ids of its tests, and the pictures that count rules."""
    packages.setup(part)
    if not builds.is_configured(builds.GCC.folder):
        builds.configure(part, builds.GCC)
    program = "tests/conformance/rules/tenon-rules"
    builds.compile_in(part, builds.GCC.folder, [program])
    part.run([f"{builds.GCC.folder}/{program}", ".", "write"])
    return part.call(["python3", "docs/site/pictures/draw.py", ".", "write"])


def docs(part):
    """The pictures; the site of the pages, by MkDocs from PyPI, with the API reference, by Doxygen."""
    packages.setup(part)
    venv, wanted = "build/docs-venv", "docs/site/requirements.txt"
    complete = f"{venv}/requirements.txt"
    if not os.path.exists(complete) or not filecmp.cmp(wanted, complete, shallow=False):
        part.say(f"installing MkDocs into {venv}")
        part.run(["python3", "-m", "venv", venv])
        part.run([f"{venv}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted])
        shutil.copy(wanted, complete)
    part.run(["python3", "docs/site/pictures/draw.py", ".", "write"])
    return part.call([f"{venv}/bin/python", "docs/site/build.py", ".", "build/docs"])


def wheel(part):
    """Makes it, and installs it in fresh environments."""
    packages.setup(part)
    part.run(["python3", "examples/python/packaging/build_wheel.py", ".", "build/wheel"])
    return part.call(["python3", "tests/package/wheel_test.py", ".", builds.GCC.folder])
