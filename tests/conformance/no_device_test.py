#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance kit finds nothing wrong in a plugin, and says that it executed no delegate where the
plugin's device is not there; where it is, the verdict is PASS.

usage: no_device_test.py TENON_CONFORMANCE ARGUMENT...
"""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=False)
print(done.stdout)
verdict = done.stdout.rstrip().rpartition("\n")[2]
expected = ("PASS: ", "") if done.returncode == 0 else ("INCOMPLETE: ", "; no delegate was executed")
if done.returncode not in (0, 1) or not (verdict.startswith(expected[0]) and verdict.endswith(expected[1])):
    sys.exit(f"exit code {done.returncode}: {verdict}")
