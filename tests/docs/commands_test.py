#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command in a page is run and prints what the page shows, or is listed in commands.txt with the
reason why not. A command without shown output has to succeed.

The commands of a page run in their order, in a directory of their own with the files that the page
names, and with the programs of this build on PATH. Values that differ from run to run (times, sizes,
build ids, paths) are not compared.

usage: commands_test.py ROOT COMPILER PROGRAM...
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from pages import find_pages, read_page

root = pathlib.Path(sys.argv[1]).resolve()
compiler = shlex.split(sys.argv[2])
compiler[0] = shutil.which(compiler[0]) or compiler[0]
programs = [pathlib.Path(path).resolve() for path in sys.argv[3:]]

listed_commands = pathlib.Path(__file__).parent / "commands.txt"

# The directory of plugins in the pages.
EXAMPLE_FOLDER = "/opt/acme"

# First words of a line that make it a command, in a block without a language.
FIRST_WORD = re.compile(
    r"(?:[A-Z_]+=\S* +)*(?:\./dev|tenon-[a-z]+|c\+\+|cmake|make|meson|ninja|python3|pip|gdb|export|"
    r"install|git|cd)(?: |$)"
)

# Values that differ from run to run, in the order in which they are replaced.
UNSTABLE = [
    (re.compile(r"\b\d+(\.\d+)? (ns|us|ms|s)\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "BUILD-ID"),
    (re.compile(r"\b\d+ bytes, (not )?stripped"), "SIZE"),
    (re.compile(r"\b\d+ free: "), "FREE: "),
    (re.compile(r"installed /.*"), "INSTALLED"),
    (re.compile(r"(largest absolute difference) \S+"), r"\1 DIFFERENCE"),
]


class Command:
    def __init__(self, block, line, text, expected):
        self.page = block.page.relative_to(root) if root in block.page.parents else block.page
        self.line = line
        self.text = text
        self.expected = expected  # what is printed, or None when the page does not show it

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text}"


def without_remark(line):
    return re.sub(r"\s+# .*$", "", line).strip()


def commands_of(block):
    """The commands in a block, in their order."""
    lines = block.text.splitlines()
    if any(line.startswith("$ ") for line in lines):
        return shown_commands(block, lines)
    # A synopsis names what may be given and is no command.
    if not block.language and any(" [-" in line for line in lines):
        return []
    found, at = [], 0
    while at < len(lines):
        first, text = at, lines[at]
        while text.endswith("\\") and at + 1 < len(lines):
            at += 1
            text = text[:-1].rstrip() + " " + lines[at].strip()
        at += 1
        text = without_remark(text)
        is_command = text and not text.startswith("#")
        if block.language == "sh" and is_command or not block.language and FIRST_WORD.match(text):
            found.append(Command(block, block.line + first, text, None))
    return found


def shown_commands(block, lines):
    """The commands of a session: `$ command`, and below it what it prints."""
    found = []
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            found.append(Command(block, block.line + number, line[2:].strip(), ""))
        elif found:
            found[-1].expected += line + "\n"
    return found


def read_list():
    """commands.txt: pages, below each its commands, below each its reason."""
    entries, page, command = {}, None, None
    for number, line in enumerate(listed_commands.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            page, command = line.strip(), None
        elif depth == 4 and page:
            command = (page, line.strip())
            if command in entries:
                raise ValueError(f"commands.txt:{number}: {command} is there twice")
            entries[command] = ""
        elif depth == 8 and command:
            entries[command] = f"{entries[command]} {line.strip()}".strip()
        else:
            raise ValueError(f"commands.txt:{number}: {line!r} belongs to nothing")
    return entries


class Sandbox:
    """A folder in which the commands of one page run."""

    def __init__(self, folder):
        self.folder = folder
        self.exports = []
        (folder / "bin").mkdir()
        self.plugins = {}
        for path in programs:
            if path.suffix == ".so":
                self.plugins[path.stem] = path
            else:
                # A program that is built once more for tests has a name of its own.
                (folder / "bin" / path.name.removesuffix("-alone")).symlink_to(path)
        (folder / "bin/c++").write_text(f'#!/bin/sh\nexec {shlex.join(compiler)} -O0 -Werror "$@"\n')
        (folder / "bin/c++").chmod(0o755)
        # As an installed tenon.pc, for this tree (tests/install checks the real one).
        (folder / "pkgconfig").mkdir()
        (folder / "pkgconfig/tenon.pc").write_text(
            f"Name: tenon\nDescription: of this tree\nVersion: 0\nCflags: -I{root}/include\n"
            f"plugin_map={root}/include/tenon/abi/tenon-plugin.map\nplugindir=/plugins-1\n"
            "plugin_cflags_c=-fPIC -fvisibility=hidden\n"
            "plugin_cflags=${plugin_cflags_c} -fvisibility-inlines-hidden\n"
            "plugin_ldflags=-shared -Wl,-z,defs -Wl,--version-script=${plugin_map}\n"
        )

    def copy(self, *patterns, to="."):
        target = self.folder / to
        target.mkdir(parents=True, exist_ok=True)
        for pattern in patterns:
            found = sorted(root.glob(pattern))
            if not found:
                raise FileNotFoundError(pattern)
            for path in found:
                if path.is_dir():
                    shutil.copytree(path, target / path.name)
                else:
                    shutil.copy(path, target)

    def plugin(self, name, to):
        target = self.folder / to
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.plugins[name], target)
        target.chmod(0o644)

    def run(self, text):
        """Runs a command; variables that it exports hold for those after it."""
        text = text.replace(EXAMPLE_FOLDER, str(self.folder))
        if text.startswith("export "):
            self.exports.append(text)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TENON_")}
        environment |= {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": str(self.folder / "pkgconfig"),
            "DESTDIR": str(self.folder / "destination"),
        }
        done = subprocess.run(
            ["sh", "-c", "\n".join([*self.exports, text])], cwd=self.folder, env=environment,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )
        return done.returncode, done.stdout.replace(str(self.folder), EXAMPLE_FOLDER)


def stable(text):
    for pattern, name in UNSTABLE:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.strip().splitlines()]


def hello_case(box):
    box.copy("tests/conformance/cases/hello/add/*")


def quickstart(box):
    hello_case(box)
    box.copy("examples/backends/hello/hello.cpp")


def write_a_backend(box):
    box.copy("docs/snippets/*")


def in_c(box):
    box.copy("examples/backends/in_c/*.[ch]")
    box.copy("tests/conformance/cases/in_c/*", to="cases")


def conformance(box):
    box.copy("tests/conformance/cases/hello/*", to="cases")
    box.plugin("hello", "libacme.so")
    (box.folder / "acme.json").write_text('{"plugin": "libacme.so", "backends": {"Add": {"cases": ["cases"]}}}')


def inspecting(box):
    for name in ("hello", "demo_backend", "tagged_debug", "newer_major"):
        box.plugin(name, f"plugins/{name}.so")
    box.plugin("hello", "libacme.so")
    box.plugin("demo_backend", "demo/demo_backend.so")
    box.copy("tests/fixtures/demo_multi_seg")
    box.copy("tests/fixtures/demo_multi_seg/model.pte")


def run_a_program(box):
    box.copy("tests/fixtures/demo_sin_seg/model.pte")
    shutil.copy(root / "tests/fixtures/demo_sin_seg/c0_in0.npy", box.folder / "x.npy")
    shutil.copy(root / "tests/fixtures/demo_sin_seg/c0_out0.npy", box.folder / "y.npy")
    box.plugin("demo_backend", "demo_backend.so")


def pytorch_archive(box):
    box.copy("tests/fixtures/pt2/mlp_decomposed/model.pt2")


def graph_backend(box):
    box.copy("tests/fixtures/pt2/mlp/*")
    box.plugin("graph_backend", "graph_backend.so")


def compile_a_model(box):
    box.copy("tests/fixtures/pt2/vision")
    box.copy("tests/fixtures/aoti_package/*")
    box.plugin("graph_backend", "plugins/graph_backend.so")
    box.plugin("cpu_aoti", "plugins/cpu_aoti.so")
    box.exports.append("export TENON_PLUGIN_PATH=$PWD/plugins")


def pack(box):
    (box.folder / "model.onnx").write_bytes(bytes(7281))


def discovery(box):
    box.copy("tests/conformance/cases/hello/add/model.pte")
    box.plugin("hello", "libacme.so")
    box.exports.append("export TENON_PLUGIN_FILES=$PWD/libacme.so")
    (box.folder / "destination/plugins-1").mkdir(parents=True)


# Functions that prepare the directory of a page, for the pages whose commands are run.
RUN = {
    "docs/hosts/discovery.md": discovery,
    "docs/hosts/limits.md": run_a_program,
    "docs/aot/graph-backend.md": graph_backend,
    "docs/aot/pt2.md": pytorch_archive,
    "docs/getting-started/quickstart.md": quickstart,
    "docs/aot/tenon-compile.md": compile_a_model,
    "docs/tools/tenon-conformance.md": conformance,
    "docs/tools/inspecting.md": inspecting,
    "docs/tools/tenon-pack.md": pack,
    "docs/tools/tenon-run.md": run_a_program,
    "docs/backends/c-and-rust.md": in_c,
    "docs/backends/write-a-backend.md": write_a_backend,
    "docs/executorch/port-as-a-diff.md": write_a_backend,
}
# Programs that are not built everywhere, and the pages that are skipped without them.
OPTIONAL = {"cpu_aoti.so", "read-pt2", "tenon-compile"}
NEEDED = {
    "docs/aot/graph-backend.md": "tenon-compile",
    "docs/aot/pt2.md": "read-pt2",
    "docs/aot/tenon-compile.md": "cpu_aoti.so",  # Given together with tenon-compile.
}
built = {path.name for path in programs}
# Its output depends on this machine's compiler.
NOT_COMPARED = {("docs/tools/inspecting.md", "tenon-inspect")}


def all_commands():
    pages = [path for path in find_pages(root) if root / "templates" not in path.parents]
    blocks = [block for path in pages for block in read_page(path).blocks]
    return [command for block in blocks for command in commands_of(block)]


class Commands(unittest.TestCase):
    def test_each_command_is_run_or_listed(self):
        listed = read_list()
        found = {(str(c.page), c.text) for c in all_commands()}
        forgotten = {c for c in found - set(listed) if c[0] not in RUN}
        self.assertEqual(sorted(forgotten), [], "neither run nor listed in commands.txt")
        self.assertEqual(sorted(set(listed) - found), [], "listed, but in no page")
        self.assertGreater(len(found), 40)
        for command, reason in listed.items():
            with self.subTest(command):
                self.assertGreater(len(reason.split()), 2, "a reason is missing")
                for path in re.findall(r"\btests/\S+\.(?:py|cpp)\b", reason):
                    self.assertTrue((root / path).is_file(), path)

    def test_pages_show_what_commands_print(self):
        listed = read_list()
        by_page = {}
        for command in all_commands():
            if (str(command.page), command.text) not in listed:
                by_page.setdefault(str(command.page), []).append(command)
        for page, prepare in RUN.items():
            if page in NEEDED and NEEDED[page] not in built:
                continue
            with self.subTest(page), tempfile.TemporaryDirectory(prefix="tenon-docs-") as folder:
                box = Sandbox(pathlib.Path(folder).resolve())
                prepare(box)
                self.assertTrue(by_page.get(page), "there is no command to run")
                for command in by_page[page]:
                    with self.subTest(str(command)):
                        self.check(box, command)

    def check(self, box, command):
        # For readers of JSON; nothing else here needs it.
        if "| jq " in command.text and not shutil.which("jq"):
            return
        if command.text.split()[0] in OPTIONAL - built:
            return
        code, output = box.run(command.text)
        if not command.expected:
            self.assertEqual(code, 0, output)
        elif (str(command.page), command.text.split()[0]) not in NOT_COMPARED:
            self.assertEqual(stable(output), stable(command.expected))


class Reading(unittest.TestCase):
    """Commands are recognised in pages."""

    def texts(self, page):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(page)
            return [(c.text, c.expected) for b in read_page(path).blocks for c in commands_of(b)]

    def test_sessions_have_outputs(self):
        self.assertEqual(self.texts("```console\n$ a b\nc\nd\n$ e\n```\n"), [("a b", "c\nd\n"), ("e", "")])

    def test_scripts_have_none(self):
        page = "```sh\n# remark\na b   # why\n\nc \\\n   d\n```\n"
        self.assertEqual(self.texts(page), [("a b", None), ("c d", None)])

    def test_blocks_without_a_language_are_judged_by_the_first_word(self):
        page = "text\n\n    ./dev test  # all\n    X=1 tenon-run m.pte\n    tenon-run: failed\n    output 0: 1\n"
        self.assertEqual(self.texts(page), [("./dev test", None), ("X=1 tenon-run m.pte", None)])

    def test_a_synopsis_has_none(self):
        self.assertEqual(self.texts("```\ntenon-new NAME [--dir D]\ntenon-new --list\n```\n"), [])

    def test_other_languages_have_no_commands(self):
        self.assertEqual(self.texts("```text\ntenon-run [--help]\n```\n```cpp\nmake (x);\n```\n"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
