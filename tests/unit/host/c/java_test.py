# SPDX-License-Identifier: MIT
"""Compiles the Java wrapper, examples/applications/java_host, and runs its tests and its example.

    java_test.py PACKAGE OUT LIBRARY_FOLDER PLUGIN MODEL

Exits with 77 where there is no JDK of version 22 or later, by JAVA_HOME or on PATH.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

package, out, libraries, plugin, model = (pathlib.Path(path).resolve() for path in sys.argv[1:])
OLDEST = 22  # The first with the foreign function interface.


def found(name):
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name, path=f"{home}/bin" if home else None)


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}, expected {status}:\n{done.stdout}")
    return done.stdout


java, javac = found("java"), found("javac")
version = re.search(r"javac (\d+)", run(javac, "-version")) if java and javac else None
if not version or int(version[1]) < OLDEST:
    print(f"skipped: there is no JDK of version {OLDEST} or later: {version[0] if version else 'none'}")
    sys.exit(77)
shutil.rmtree(out, ignore_errors=True)
run(javac, "-Xlint:all,-restricted", "-Werror", "-d", out, *sorted(package.rglob("*.java")))
start = (java, "-Xcheck:jni", "-ea", "--enable-native-access=ALL-UNNAMED", "-cp", out,
         f"-Dtenon.library={libraries / 'libtenon.so.1'}")
print(run(*start, "TenonTest", plugin, model), end="")
sines = [float(line) for line in run(*start, "Sines", plugin, model).split()]
assert all(abs(sine - right) < 1e-6 for sine, right in zip(sines, (0.0998334, 0.198669, 0.29552, 0.389418), strict=True)), sines
refused = run(*start, "Sines", plugin, "/nowhere/model.pte", status=1)
assert refused.startswith("Sines: AccessFailed: /nowhere/model.pte"), refused
run(*start, "Sines", status=2)
