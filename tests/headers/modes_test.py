# SPDX-License-Identifier: MIT
"""Runs each application with each plugin: modes_test.py MODEL APPLICATION... -- PLUGIN...

The model adds 1, 2, 3, 4 to the four numbers that examples/embed gives it (0.1, 0.2, 0.3, 0.4). It
was made as docs/snippets/write_program.cpp makes one.
"""

import subprocess
import sys

EXPECTED = "1.1\n2.2\n3.3\n4.4\n"


def main():
    model, *rest = sys.argv[1:]
    split = rest.index("--")
    applications, plugins = rest[:split], rest[split + 1 :]
    failed = 0
    for application in applications:
        for plugin in plugins:
            done = subprocess.run(
                [application, plugin, model], capture_output=True, text=True, check=False
            )
            if done.returncode != 0 or done.stdout != EXPECTED:
                failed += 1
                print(f"not ok: {application} {plugin}\n{done.stdout}{done.stderr}")
    print(f"{len(applications)} applications with {len(plugins)} plugins, {failed} failed")
    sys.exit(1 if failed or not applications or not plugins else 0)


if __name__ == "__main__":
    main()
