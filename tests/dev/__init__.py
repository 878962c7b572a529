# SPDX-License-Identifier: MIT
"""`./dev`: sets up, builds, shows and tests Tenon. Python 3.9 and its standard library are enough.

cli.py has the commands, builds.py the build folders, all_tests.py what `./dev test` does; the others are one command
or one concern each. rest/ has what CI leaves out, in slices; cross/ the builds for other platforms.
"""
