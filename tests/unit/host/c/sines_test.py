# SPDX-License-Identifier: MIT
"""Runs the example in C, examples/applications/c_host/sines.c, also under valgrind where it is.

    sines_test.py PROGRAM PLUGIN MODEL [VALGRIND]
"""

import subprocess
import sys

program, plugin, model, *valgrind = sys.argv[1:]
EXPECTED = ["0.0998334", "0.198669", "0.29552", "0.389418"]

found = subprocess.run([program, plugin, model], check=True, capture_output=True, text=True).stdout
assert found.split() == EXPECTED, found

failed = subprocess.run([program, plugin, "/nowhere"], capture_output=True, text=True)
assert failed.returncode == 1, failed
assert failed.stderr == "sines: AccessFailed: /nowhere: No such file or directory\n", failed.stderr

if valgrind:
    # Both runs once more, with no error and nothing that was not freed.
    check = [*valgrind, "--quiet", "--leak-check=full", "--show-leak-kinds=all",
             "--errors-for-leak-kinds=all", "--error-exitcode=9"]
    for arguments, code in ((model, 0), ("/nowhere", 1)):
        done = subprocess.run([*check, program, plugin, arguments], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
