# SPDX-License-Identifier: MIT
"""A target of `./dev cross`: its build folder, how its programs are run, and its checks; a check that fails ends
nothing."""

import contextlib
import os
import pathlib
import re
import traceback

from dev import builds, processes, targets
from dev.part import Failed, alone
from dev.totals import FAILED, PASSED, SKIPPED

CASES, FIXTURES = "tests/conformance/cases", "tests/fixtures"
# One translation unit a target, as other builds have it: sources share almost all that a compiler has to do.
OPTIONS = ("-Dbuildtype=release", "-Doptimization=1", "-Dbenchmarks=disabled", "-Dpython=disabled", *builds.TOGETHER,
           "--werror")
PLUGINS = [f"examples/backends/{name}.so" for name in ("hello", "demo_backend", "arithmetic_kernels", "mlp_kernels")]
TENON_RUN = "examples/programs/tenon-run/tenon-run"
PROGRAMS = [*PLUGINS, "examples/backends/graph_backend/graph_backend.so",
            *(f"examples/programs/tenon-{name}/tenon-{name}" for name in ("run", "list", "inspect", "doctor"))]
NATIVE = "build/cross/native"
CONFORMANCE = "tests/conformance/tenon-conformance"
# The unit tests of what asks the system for something, and of methods. Tests of programs cut and change each byte of
# many files, which takes an emulator more than a quarter of an hour.
UNIT_TESTS = ("core", "peek", "files that are written", "loader", "loader threads", "discovery", "discovery threads",
              "host", "host threads")


def cache(name):
    """A folder of what is made once for all clones."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "tenon", name)


def write_script(path, text):
    """A script of sh that can be run."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


class Target:
    """See above. `build` is another target's folder where they share one."""

    def __init__(self, part, name, kit_level=5, build=None):
        self.part, self.name, self.kit_level = part, name, kit_level
        self.build = build or f"build/cross/{name}"
        # How a program is run; nothing where this system can run it.
        self.emulate = []

    def result(self, name, good, found=""):
        """One check; `found` is shown where it failed."""
        name = " ".join(name.split())
        self.part.add(name, PASSED if good else FAILED)
        self.part.print(f"{'ok' if good else 'not ok':8}{name}" + ("" if good else f"\n{found}"))

    def check(self, name, what, **options):
        """One check: a program, by its words, or a function, which fails by Failed or another exception. What it printed or
        returned is shown where it failed, and returned."""
        if callable(what):
            try:
                text, status = what() or "", 0
            except processes.Ended:
                raise
            except Exception as error:  # pylint: disable=broad-exception-caught
                text, status = str(error) if isinstance(error, Failed) else traceback.format_exc(), 1
        else:
            done = self.part.captured(what, **options)
            text, status = done.stdout, done.returncode
        shown = "\n".join(text.splitlines()[-40:])
        self.result(name if status == 0 else f"{name}: exit {status}", status == 0, shown)
        return text

    def detail(self, text):
        """About the check before it."""
        text = " ".join(text.split())
        self.part.checks[-1].details.append(text)
        self.part.print(f"        {text}")

    def not_run(self, text):
        """What was left out, and why."""
        self.part.print(f"not run: {text}")
        self.part.add(" ".join(text.split()), SKIPPED)

    @contextlib.contextmanager
    def step(self, name):
        """Checks that an exception ends, which is a failure: those after them are made nevertheless."""
        try:
            yield
        except processes.Ended:
            raise
        except Failed as failure:
            self.result(f"{name}: {failure}", False)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.result(f"{name}: ended by {type(error).__name__}: {error}", False, traceback.format_exc())

    def configure(self, words, options=OPTIONS, folder=None, **variables):
        """Makes a build folder, or reads the current build definitions into an existing folder."""
        folder = folder or self.build
        if builds.is_configured(folder):
            builds.regenerate(self.part, folder)
        else:
            builds.set_up(self.part, folder, [*words, *options], **variables)

    def compile(self, *names):
        """Compiles targets in the build folder. A target that does not compile ends the run."""
        self.part.say(f"building for {self.name}")
        self.compile_in(self.build, *names)

    def compile_in(self, folder, *names):
        """Compiles targets in another folder, which is configured for this machine's compiler where it is not
        configured."""
        with alone(f"{os.path.basename(folder)}-build"):
            self.configure([], folder=folder)
            builds.compile_in(self.part, folder, names, jobs=os.cpu_count())

    def needs_of(self, unit_tests):
        """What tests and the plugins that they load are built from."""
        return targets.of_tests([self.build, *(word for name in unit_tests for word in ("--test", name))])

    def check_units(self, unit_tests=UNIT_TESTS):
        """Each unit test, with what it counted."""
        self.part.say("unit tests")
        for name in unit_tests:
            log = pathlib.Path(self.build, "meson-logs", f"tests-{self.name}.txt")
            log.unlink(missing_ok=True)  # The log of the test before.
            self.check(f"unit tests: {name}", lambda log=log, test=name: self._unit_test(log, test))
            # Without it Meson did not come to the test, and the check has failed.
            text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            for counted in re.findall(r"All tests passed \((.*)\)", text):
                self.detail(counted)

    def _unit_test(self, log, name):
        done = self.part.captured(["meson", "test", "-C", self.build, "--no-rebuild", "--logbase", log.stem,
                                   "--timeout-multiplier", 20, "--print-errorlogs", name])
        # Meson counts a name that no test has as passed.
        if done.returncode != 0 or not re.search(r"(?m)^Ok: *1 *$", done.stdout):
            raise Failed(done.stdout)

    def _runs(self, program, plugin, host, plugins, *words):
        pair = "" if host == plugins else f" of {os.path.basename(plugins)}, host of {os.path.basename(host)}"
        name = os.path.basename(os.path.dirname(program))
        self.check(f"tenon-run {name} with {os.path.basename(plugin)}{pair}",
                   [*self.emulate, f"{host}/{TENON_RUN}", program, "--plugin", f"{plugins}/examples/backends/{plugin}", *words])

    def check_layout(self, layout, *compilers):
        """The structs of the boundary, by the compilers of the target; `layout` is one of tests/abi/checker/layout.py."""
        self.check(f"layout of the boundary: {layout}", ["python3", "tests/abi/layout_test.py", "include",
                                                         *(f"{layout}:{compiler}" for compiler in compilers)])

    def check_programs(self, host=None, plugins=None, quick=False):
        """Programs with recorded numbers, by tenon-run of one build folder with the plugins of another."""
        host, plugins = host or self.build, plugins or self.build
        self.part.say("programs with recorded numbers")
        add = f"{CASES}/hello/add"
        self._runs(f"{add}/model.pte", "hello.so", host, plugins, "--input", f"{add}/a0.npy", "--input", f"{add}/b0.npy",
                   "--expect", f"{add}/expected0.npy")

        def runs(name, plugin, inputs, *words):
            folder = f"{FIXTURES}/{name}"
            given = [word for number in range(inputs) for word in ("--input", f"{folder}/c0_in{number}.npy")]
            self._runs(f"{folder}/model.pte", plugin, host, plugins, *given, "--expect", f"{folder}/c0_out0.npy", *words)

        for name in ("demo_sin_inline", "demo_sin_seg"):
            runs(name, "demo_backend.so", 1, "--rtol", "1e-6", "--atol", "1e-6")
        if not quick:
            runs("add_dynamic_portable", "arithmetic_kernels.so", 2)
            runs("mlp_portable", "mlp_kernels.so", 1, "--rtol", "1e-5", "--atol", "1e-6")
        if host != plugins or not os.path.isfile(f"{plugins}/examples/backends/graph_backend/graph_backend.so"):
            return
        for name in ("mlp", "vision"):
            self._runs(f"{CASES}/graph_backend/{name}/model.pte", "graph_backend/graph_backend.so", host, plugins,
                       "--input", f"{FIXTURES}/pt2/{name}/input_0.npy", "--expect", f"{FIXTURES}/pt2/{name}/expected_0.npy",
                       "--rtol", "1e-5", "--atol", "2e-6")

    def check_kit(self, *plugins):
        """Each plugin, judged by the conformance kit with its subject file."""
        if self.kit_level == 0:
            self.not_run("the conformance kit (--kit-level 0)")
            return
        self.compile(CONFORMANCE)
        for name in plugins:
            plugin = f"{self.build}/examples/backends/{'graph_backend/' if name == 'graph_backend' else ''}{name}.so"
            self.part.say(f"conformance kit, level {self.kit_level}: {name}")
            text = self.check(f"tenon-conformance {name} --level {self.kit_level}",
                              [*self.emulate, f"{self.build}/{CONFORMANCE}", plugin,
                               "--subject", f"tests/conformance/subjects/{name}.json", "--level", self.kit_level,
                               "--color", "never", "--jobs", 2])
            self.detail(judged(text))


def judged(text):
    """The counts in what the kit printed."""
    return "; ".join(re.findall(r"(?m)^\d+ (?:test|rule)s?: .*", text))
