# SPDX-License-Identifier: MIT
"""What is made of the sources and not compiled: the site of the pages, the wheel for Python."""

import filecmp
import os
import shutil

from dev import builds, packages

SKIPPED = 77


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


WHEEL_HELP = """Makes a wheel in build/wheel/dist for each version of Python, one for 3.12 and later; tests one of them in fresh
environments with a package of a vendor, and each in an environment of each interpreter, with a table and the sizes."""


def wheel_arguments(parser):
    parser.add_argument("--python", action="append", default=[], metavar="PATH",
                        help="an interpreter that a wheel is for, several times; default: one of each version that is at hand")


def wheel(part, python):
    """Makes the wheels, and installs them in fresh environments."""
    packages.setup(part)
    chosen = [f"--python={path}" for path in python]
    part.run(["python3", "examples/python/packaging/build_wheel.py", *chosen, ".", "build/wheel"])
    tests = [part.call(["python3", f"tests/package/{name}", *words])
             for name, words in (("wheel_test.py", [".", builds.GCC.folder]), ("wheel_pythons.py", [*chosen, "."]))]
    return max(tests, key=lambda status: (status not in (0, SKIPPED), status))
