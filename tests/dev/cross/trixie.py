# SPDX-License-Identifier: MIT
"""Debian 13 (trixie) of this machine's architecture: its compilers, libraries and C library, in a root of its own. Two
kinds of roots, made once in ~/.cache/tenon/cross. The one of `trixie` is installed by debootstrap, and by `./dev setup`
in it; the one of `quick` has packages that are only unpacked, as `sysroot` does."""

import json
import os
import pathlib
import re
import shutil

from dev import builds, packages
from dev.cross.roots import made_once, sysroot
from dev.cross.target import cache
from dev.part import Failed, alone
from dev.suites import OUTCOMES
from dev.totals import PASSED, SKIPPED

# As for gcc here, and not optimised for what runs once.
OPTIONS = ("--werror", "-Dbuildtype=release", "-Dbenchmarks=disabled", *builds.TOGETHER)
SUITES = [word for suite in ("unit", "abi", "headers", "docs", "lint") for word in ("--suite", suite)]
SUITES += ["--no-suite", "slow"]
VERSIONS = """g++ --version | sed -n 1p; clang++ --version | sed -n 1p; ldd --version | sed -n 1p
python3 --version; ls -l /usr/lib/*/libdnnl.so.* | sed 's/.*libdnnl/libdnnl/'"""


def installed(part, release="trixie"):
    """Makes the root, as README expects a machine with a clone to be: of Debian 13, or of another release by its name."""
    packages.need(part, {"debootstrap": "debootstrap"})

    def make(work):
        if os.geteuid() != 0:
            raise Failed(f"debootstrap makes a root of {release} as root alone")
        part.say(f"making a root of {release}: 2.4 GB on disk, some minutes, once")
        root = f"{work}/root"
        part.run(["debootstrap", "--variant=minbase", "--include=ca-certificates,git", release, root])
        os.chmod(root, 0o755)
        return root

    with alone(f"{release}-root"):
        return str(made_once(cache(f"cross/{release}-installed"), make))


def copy_tree(part, folder):
    """The files that git knows, as they are here, in a repository of its own. Builds in it are kept."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            if each.name != "build":
                shutil.rmtree(each)
        else:
            each.unlink()
    for name in part.output(["git", "ls-files", "-z"]).rstrip("\0").split("\0"):
        if os.path.lexists(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, folder / name, follow_symlinks=False)
    (folder / "build").mkdir(exist_ok=True)
    git = ["git", "-C", folder, "-c", "user.name=cross", "-c", "user.email=cross@localhost"]
    part.run([*git, "init", "--quiet"])
    part.run([*git, "add", "--all"])
    part.call([*git, "commit", "--quiet", "--message", "Add a copy"])


class Root:
    """A root, and a copy of this tree in which it builds."""

    def __init__(self, target, root, tree):
        self.target, self.root, self.tree = target, root, tree

    def words(self, *command):
        """Of a command in it."""
        return ["tests/cross/in_root", self.root, self.tree, cache(""), *command]

    def check(self, name, *command):
        """A command in it, as a check; what it printed."""
        return self.target.check(name, self.words(*command))

    def configure(self, name, cxx, *options):
        """Configures build/NAME by the compiler of that name. What Meson deprecates fails."""
        def configured():
            again = ["--reconfigure", "--clearcache"] if builds.is_configured(f"{self.tree}/build/{name}") else []
            done = self.target.part.captured(self.words(
                "env", f"CC={name}", f"CXX={cxx}", "CC_LD=lld", "CXX_LD=lld", "meson", "setup", f"build/{name}", *again,
                *OPTIONS, *options))
            deprecated = "\n".join(line for line in done.stdout.splitlines() if "DEPRECATION" in line)
            if done.returncode != 0 or deprecated:
                raise Failed(deprecated or done.stdout)

        self.target.check(f"configured with {name}", configured)

    def compile(self, title, name, *words):
        """Compiles what tests need, selected as .ci/targets-of-tests does."""
        script = 'ninja -C "build/$1" --quiet -k0 $(.ci/targets-of-tests "build/$1" "${@:2}")'
        self.check(title, "bash", "-c", script, "bash", name, *words)

    def tests(self, name, *words):
        """Runs tests, as `meson test` selects them; each is a check."""
        log = pathlib.Path(self.tree, "build", name, "meson-logs/trixie.json")
        log.unlink(missing_ok=True)
        done = self.target.part.captured(self.words(
            "meson", "test", "-C", f"build/{name}", "--no-rebuild", "--logbase", "trixie", "--timeout-multiplier", 5,
            *words))
        if not log.exists():
            self.target.result(f"the tests of {name}: exit {done.returncode}", False, done.stdout)
            return
        for test in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
            outcome = OUTCOMES.get(test["result"])
            if outcome == SKIPPED:
                self.target.not_run(f"{test['name']}: skipped")
            else:
                good = outcome == PASSED
                self.target.result(test["name"] if good else f"{test['name']}: {test['result']}", good)


def _open(target):
    """The root, and a copy of this tree in which it builds."""
    root = Root(target, installed(target.part), "build/cross/trixie/tree")
    copy_tree(target.part, root.tree)
    return root


def trixie(target):
    """What of the tests is about this system: warnings of its compilers, its libraries."""
    root = _open(target)
    text = root.check("./dev setup", "./dev", "setup")
    target.result("no command was missing before it was installed", "command not found" not in text, text)
    root.check("./dev demo", "./dev", "demo")
    target.detail("; ".join(target.part.output(root.words("bash", "-c", VERSIONS)).splitlines()))
    target.part.say("gcc")
    root.configure("gcc", "g++", "-Doptimization=g", "-Dprecompiled_tests=true")
    root.compile("compiled by gcc, warnings are errors", "gcc", *SUITES)
    root.tests("gcc", *SUITES)
    target.part.say("clang")
    root.configure("clang", "clang++", "-Doptimization=0")
    root.check("all headers, compiled by clang with warnings as errors", "ninja", "-C", "build/clang", "--quiet",
               "tests/headers/everything")
    root.compile("compiled by clang, warnings are errors", "clang", "--test", "core", "--test", "backend", "--test",
                 "host")
    root.tests("clang", "core", "backend", "host")
    target.not_run("the sanitizers, the conformance kit's judgements, live models, the wheel"
                   " (./dev cross trixie --whole: ./dev test)")


def whole(target):
    """README's second command, which takes half an hour."""
    root = _open(target)
    root.check("./dev demo", "./dev", "demo")
    text = root.check("./dev test", "./dev", "test")
    totals = re.findall(r"(?m)^\d+ passed, .*", text)
    target.detail(totals[-1] if totals else "no totals")


def quick(target):
    """Headers and a part of the tests, in less than two minutes of one processor."""
    root = Root(target, sysroot(target.part, "trixie"), "build/cross/trixie-quick")
    if target.part.captured(["tests/cross/in_root", root.root, ".", cache(""), "true"]).returncode != 0:
        target.not_run("Debian 13: this system lets no process have a root of its own")
        return
    copy_tree(target.part, root.tree)
    without = [f"-D{name}=disabled" for name in ("python", "pt2", "cpu_aoti", "cuda")] + ["-Doptimization=0"]
    for name, cxx in (("gcc", "g++"), ("clang", "clang++")):
        root.configure(name, cxx, *without)
        root.check(f"all headers, compiled by {name} with warnings as errors", "ninja", "-C", f"build/{name}", "--quiet",
                   "tests/headers/everything")
    root.compile("compiled by gcc, warnings are errors", "gcc", "--test", "core")
    root.tests("gcc", "core")
