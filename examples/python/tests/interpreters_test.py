# SPDX-License-Identifier: MIT
"""Ends of the interpreter, and other interpreters: interpreters_test.py BUILD SOURCE. Needs NumPy, not PyTorch."""

import os
import pathlib
import subprocess
import sys
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DEMO = BUILD / "examples/backends/demo_backend.so"
ADD = SOURCE / "tests/fixtures/bench/demo_add.pte"

HEAD = """
import sys, threading, time
import numpy as np
import tenon
def load():
    return tenon.load(sys.argv[2], plugins=[sys.argv[1]])["forward"]
inputs = [np.ones((2, 2), np.float32)] * 3
"""

RUNS_FOR_EVER = HEAD + """
def run():
    method = load()
    started.set()
    while True:
        method(*inputs)
started = threading.Event()
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
started.wait()
time.sleep(0.05)
"""

LOADS_FOR_EVER = RUNS_FOR_EVER.replace("method(*inputs)", "load()(*inputs)")

EXPORTS_FOR_EVER = RUNS_FOR_EVER.replace("method(*inputs)", "np.from_dlpack(method(*inputs))")

IN_SUBINTERPRETER = HEAD + """
method = load()
before = method(*inputs).tolist()
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)
PATH = sys.path
code = "import sys; sys.path[:] = " + repr(PATH) + '''
for name in ("tenon._tenon", "tenon._aot", "tenon"):
    try:
        __import__(name)
    except ImportError as refused:
        assert "cannot be imported in a subinterpreter" in str(refused), refused
    else:
        raise AssertionError(name)
'''
failure = interpreters.run_string(made, code) if hasattr(interpreters, "run_string") else interpreters.exec(made, code)
assert failure is None, failure
interpreters.destroy(made)
assert method(*inputs).tolist() == before
print("refused")
"""


def run(code):
    """The end of a program of its own, in the mode of users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDEVMODE"}
    return subprocess.run([sys.executable, "-c", code, DEMO, ADD], capture_output=True, text=True, timeout=120, check=False,
                          env=environment)


class Interpreters(unittest.TestCase):
    def test_the_process_ends_while_daemon_threads_run_methods(self):
        for name, code in (("run", RUNS_FOR_EVER), ("load", LOADS_FOR_EVER), ("export", EXPORTS_FOR_EVER)):
            for attempt in range(4):
                with self.subTest(name, attempt=attempt):
                    done = run(code)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_subinterpreter_refuses_the_package_and_leaves_the_main_one_as_it_was(self):
        done = run(IN_SUBINTERPRETER)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "refused\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
