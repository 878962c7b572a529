# SPDX-License-Identifier: MIT
"""An installed Tenon in a prefix that was moved, and commands in an environment that knows of
nothing but it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time


class Prefix:
    """Installs the build folder into a temporary place and moves it. Use as a context manager."""

    def __init__(self, build, compiler):
        self.build = build
        # A cache of the compiler's results would only make figures of time untrue.
        self.compiler = compiler[1:] if compiler[0].endswith("ccache") else compiler
        self._temporary = tempfile.TemporaryDirectory(prefix="tenon-package-")
        self.folder = pathlib.Path(self._temporary.name).resolve()

    def __enter__(self):
        staging = self.folder / "staging"
        # The environment is the test's own: this is not what a stranger does.
        subprocess.run(["meson", "install", "-C", self.build, "--no-rebuild", "--destdir", staging],
                       check=True, stdout=subprocess.DEVNULL)
        [header] = staging.rglob("include/tenon/tenon.hpp")
        installed = header.parents[2]
        self.path = self.folder / "moved"
        shutil.move(installed, self.path)
        shutil.rmtree(staging)
        [pc] = self.path.rglob("tenon.pc")
        self.pkgconfig = pc.parent
        return self

    def __exit__(self, *_):
        self._temporary.cleanup()

    def environment(self, **more):
        """What a shell has in which only the prefix was made known."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": f"{self.path / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "PKG_CONFIG_PATH": str(self.pkgconfig),
            "CMAKE_PREFIX_PATH": str(self.path),
            "CXX": " ".join(self.compiler),
        } | more

    def pkg_config(self, *arguments):
        return run("pkg-config", *arguments, env=self.environment()).stdout.strip()


def run(*command, env, cwd=None, expect=0):
    """Runs a command, or a line of shell, and wants it to end with `expect` (None: anything)."""
    line = command[0] if len(command) == 1 and " " in str(command[0]) else None
    done = subprocess.run(["sh", "-c", line] if line else [str(word) for word in command],
                          env=env, cwd=cwd, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}, "
                             f"expected {expect}\n{done.stdout[-6000:]}")
    return done


class Stopwatch:
    """Seconds that passed, and seconds of CPU that children took."""

    def __init__(self):
        self._start = (time.monotonic(), self._cpu())

    @staticmethod
    def _cpu():
        times = os.times()
        return times.children_user + times.children_system

    def read(self):
        return time.monotonic() - self._start[0], self._cpu() - self._start[1]
