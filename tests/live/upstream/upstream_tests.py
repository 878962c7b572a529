# SPDX-License-Identifier: MIT
"""ExecuTorch's own tests of `to_backend` and the partitioner on plugins: upstream_tests.py BUILD [NAME]...

The tests come from the wheel, exir/backend/test. Each demo backend that they import is replaced by the class that
tenon.executorch.backend makes of the plugin upstream_demos.so, which also runs the programs of BackendWithCompilerDemo.
Every test runs twice, in processes of its own: with upstream's backends, and with plugins. What upstream's backends do
not pass here is not the plugins' failure.

Prints one line a test, and fails when a test passes with upstream's backends and not with plugins, unless
EXPECTED says why.
"""

import collections
import gc
import importlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve()
PACKAGE = "executorch.exir.backend.test"
# The backends of the tests, by the module that has them.
BACKENDS = {
    "backend_with_compiler_demo": ["BackendWithCompilerDemo"],
    "demo_backend": ["DemoBackend"],
    "backend_with_preprocess_all_demo": ["FirstBackendWithPreprocessAll",
                                         "SecondBackendWithPreprocessAll"],
    "backend_with_named_data_map": ["BackendWithNamedDataMap"],
    "demos.rpc.executor_backend_preprocess": ["ExecutorBackend"],
}
# Modules with tests that lower to a backend by its name or its class.
MODULES = ["test_backend_with_named_data_map", "test_backends_lifted", "test_compatibility",
           "test_debug_handle_map", "test_lowered_backend_module", "test_partitioner",
           "test_to_backend_multi_method", "test_utils"]
# Tests that pass with upstream's backends and not with plugins, and why.
EXPECTED = {
    "test_debug_handle_map.TestBackendDebugHandle.test_lowered_the_whole_model":
        "it counts the nodes for getitem, which are outputs of other nodes in a description",
    "test_lowered_backend_module.TestBackendAPI.test_emit_nested_lowered_backend_module":
        "it compiles a program with another delegate inside, which a description cannot have",
}


def replace_backends(build):
    """Puts the classes of plugins in the place of upstream's."""
    from executorch.exir.backend.backend_details import BackendDetails
    import tenon.executorch
    plugin = build / "tests/live/upstream/upstream_demos.so"
    ours = []
    for name, classes in BACKENDS.items():
        module = importlib.import_module(f"{PACKAGE}.{name}")
        for each in classes:
            delattr(module, each)
            gc.collect()
            left = [c for c in BackendDetails.__subclasses__() if c.__name__ == each]
            assert not left, left
            ours.append(tenon.executorch.backend(each, plugins=[plugin]))
            setattr(module, each, ours[-1])
    tenon.executorch.register_plugins(plugin)
    return ours


class Results(unittest.TestResult):
    """The outcome of each test, by its name."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def _add(self, test, outcome):
        self.outcomes[test.id().removeprefix(f"{PACKAGE}.")] = outcome

    def addSuccess(self, test):
        self._add(test, "passes")

    def addSkip(self, test, reason):
        self._add(test, f"skipped: {reason}")

    def addFailure(self, test, err):
        self._add(test, f"fails: {err[0].__name__}: {' '.join(str(err[1]).split())[:400]}")

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)


def run(build, name, with_plugins):
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if with_plugins:
        sys.path.insert(0, str(build / "examples/python"))
        kept = replace_backends(build)
    results = Results()
    unittest.defaultTestLoader.loadTestsFromName(f"{PACKAGE}.{name}").run(results)
    if with_plugins:
        assert kept
    print("\n" + json.dumps(results.outcomes))


def outcomes_of(build, name, with_plugins):
    environment = {n: v for n, v in os.environ.items() if not n.startswith("TENON_")}
    done = subprocess.run([sys.executable, HERE, build, "--run", name, str(int(with_plugins))],
                          capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: exited with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    build, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if names[:1] == ["--run"]:
        run(build, names[1], names[2] == "1")
        return 0
    total, wrong = collections.Counter(), []
    for name in names or MODULES:
        stock, ours = (outcomes_of(build, name, with_plugins) for with_plugins in (False, True))
        for test, outcome in stock.items():
            found = ours.get(test, "did not run")
            total["passes with upstream's"] += outcome == "passes"
            total["passes with plugins"] += found == "passes"
            print(f"{test}: {outcome} | {found}", flush=True)
            if outcome == "passes" and found != "passes" and test not in EXPECTED:
                wrong.append(test)
    print(dict(total), "wrong:", wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
