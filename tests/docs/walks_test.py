#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Six readers find the answer to each of their first questions within two clicks from README.md, and the first page also
from the site's home page. The index of all pages is no way: a reader who opens it is already lost.

usage: walks_test.py ROOT
"""

import pathlib
import re
import sys
import tempfile
import unittest

from pages import HEADING, read_page

root = pathlib.Path(sys.argv[1]).resolve()

START, HOME, INDEX = "README.md", "docs/site/home.md", "docs/README.md"

WRITE, WHICH, CMAKE = "docs/backends/write-a-backend.md", "docs/getting-started/which-interface.md", "docs/getting-started/cmake.md"
PYTHON, CUDA, HELP, SAFE = "docs/python/programs.md", "docs/aoti/cuda.md", "docs/CONTRIBUTING.md", "docs/SECURITY.md"

# Reader: (question, pages to click on, the last page's heading with the answer or "" for its beginning, words of the answer).
WALKS = {
    "a vendor": (
        ("When do I take PJRT, IREE or PrivateUse1 instead?", [WHICH], "Take something else", ("PJRT", "IREE", "PrivateUse1")),
        ("How does it compare with ONNX Runtime's plugins?", [WHICH], "Compared", ("ONNX Runtime", "boundary")),
        ("What is not supported?", [WHICH], "Not supported", ("Training", "Workers on Windows")),
        ("What do I write, build and run first?", ["docs/getting-started/quickstart.md"], "2. Build", ("hello.so", "pkg-config")),
        ("Which functions can a backend have?", [WRITE], "All functions", ("WithSessions", "WithCancel", "sample")),
        ("How does a quantised network arrive?", [WRITE], "Quantised networks", ("zero points", "quantized_decomposed")),
        ("Which device type does my NPU claim?", [WRITE], "10. A device", ("kDLHexagon", "TENON_DL_VENDOR_FIRST")),
        ("How do I build the tests' programs?", [WRITE], "12. The conformance kit", ("-o smooth-case", "smooth-case cases")),
        ("How do I compile for a board?", [WRITE, "docs/backends/ship-a-plugin.md"], "For a board: cross-compile",
         ("aarch64-linux-gnu-g++", "./dev cross arm64")),
        ("I have a runtime: what do I write?", [WRITE, "docs/backends/wrap-a-runtime.md"], "The way", ("runtime/model.hpp",)),
        ("I have a delegate: what changes?", [WHICH, "docs/executorch/porting.md"], "What changes in the code",
         ("BackendInterface", "tenon::Backend")),
        ("Who compiles the graph into my blobs?", [WRITE, "docs/aot/ahead-of-time.md"], "", ("partition", "preprocess")),
        ("How long does a built plugin run?", ["docs/reference/abi-policy.md"], "How long", ("every host of ABI 1",)),
        ("What does my customer's error look like?", [WRITE, "docs/reference/errors.md"], "", ("expected 3, found 2",)),
    ),
    "a C++ application": (
        ("Which lines run a program?", [CMAKE], "", ("Program::open", "Method::load", "execute")),
        ("How do I get the sources into CMake?", [CMAKE], "FetchContent and add_subdirectory",
         ("FetchContent_Declare", "FETCHCONTENT_SOURCE_DIR_TENON", "0.0998334")),
        ("Is there a folder to copy?", [CMAKE, "examples/applications/consumer/README.md"], "", ("Copy this folder", "7.5", "cmake -B build")),
        ("What must be installed?", [CMAKE], "FetchContent and add_subdirectory", ("nlohmann_json", "flatc")),
        ("Where do I put plugins?", [CMAKE], "Where plugins are installed", ("DiscoveryOptions::paths",)),
        ("Why is my plugin not found?", [CMAKE, "docs/hosts/discovery.md"], "\"Backend not found\", in one minute", ("tenon-doctor",)),
        ("May several threads run one method?", [CMAKE, "docs/reference/threads-and-ownership.md"], "In an application",
         ("one at a time", "load a method for each")),
        ("What do I do with a failure?", [CMAKE, "docs/reference/errors.md"], "In an application", ("text()", "throws nothing")),
        ("What does a call cost?", ["docs/project/performance.md"], "", ("3 ns", "0.25")),
        ("How large is it?", ["docs/project/performance.md", "docs/project/footprint.md"], "Sizes that are watched", ("embed",)),
        ("How do I survive a crashing driver?", [CMAKE, "docs/hosts/isolation.md"], "", ("worker",)),
        ("What may a file from a stranger cost?", [CMAKE, "docs/hosts/limits.md"], "Of a host", ("planned_bytes",)),
        ("Where does my model come from?", [CMAKE, "docs/getting-started/from-pytorch.md"], "On your backend", ("tenon-compile",)),
        ("May the C++ API change?", [START], "Status", ("C++ API may change",)),
    ),
    "a user of Python": (
        ("What do I install, and how long does it take?", [START], "Install", ("pip install", "torch.compile", "10 minutes")),
        ("Which lines run a program?", [PYTHON], "", ("tenon.load", "neither PyTorch nor NumPy")),
        ("Which plugin makes my model faster?", [PYTHON, "docs/python/torch-compile.md"], "Which plugin helps you",
         ("GraphBackend", "Inductor", "BERT")),
        ("How do I use it in torch.compile?", ["docs/python/torch-compile.md"], "", ('backend="tenon"', "TorchDynamo")),
        ("What happens when a graph does not fit?", ["docs/python/torch-compile.md"], "What was taken, and why not the rest",
         ("explain", "left")),
        ("How do I make a program?", [PYTHON, "docs/getting-started/from-pytorch.md"], "On the CPU", ("torch.export", "tenon-compile")),
        ("Which Python versions?", [PYTHON, "docs/python/packages.md"], "Versions of Python", ("3.12", "abi3")),
        ("How large is the wheel?", [PYTHON, "docs/python/packages.md"], "The wheel", ("38 MB", "oneDNN")),
        ("What are all arguments?", [PYTHON, "docs/python/reference.md"], "tenon.compile", ("dynamic",)),
        ("Does ExecuTorch's own runtime use it?", [PYTHON, "docs/executorch/bridges.md"], "", ("stock ExecuTorch",)),
        ("How fast is a call?", [PYTHON], "Measured", ("1295 ns", "5446 ns")),
    ),
    "a user of NVIDIA's GPUs": (
        ("What is it for, and is it ready?", [CUDA], "", ("CUDA exporter", "experimental", "ran on one H100")),
        ("Which GPU, driver and torch?", [CUDA], "Requirements", ("8.0 or later", "520.61", "torch 2.13 or 2.15")),
        ("How do I get the plugin?", [CUDA], "Get cuda_aoti.so", ("tenon-tools", "nvcc 11.8", "-Dcuda=enabled")),
        ("How do I export?", [CUDA, "docs/getting-started/from-pytorch.md"], "On an NVIDIA GPU", ("CudaPartitioner", "aoti_cuda_blob.ptd")),
        ("How do I run it?", [CUDA], "Export and run", ("tenon-run", "--plugin cuda_aoti.so")),
        ("How fast is it?", [CUDA], "Measured", ("124.8", "156.4")),
        ("What is not supported?", [CUDA], "Not supported", ("Without nvcc", "Several GPUs")),
        ("What does this error mean?", [CUDA], "Errors", ("no CUDA driver",)),
        ("What ran on which GPU?", [CUDA, "docs/measurements/h100.md"], "", ("driver 580.159", "pass")),
        ("How do I use my own stream and graph?", [CUDA], "Streams", ("set_stream", "capture")),
        ("How does it work inside?", [CUDA, "docs/aoti/cuda-design.md"], "Loading", ("check_blob",)),
    ),
    "a contributor": (
        ("How do I build and test?", [HELP], "Build and test", ("./dev quick", "80 minutes", "./dev test")),
        ("What does CI leave out?", [HELP], "What CI leaves out, in slices", ("gcc's warnings", "./dev rest")),
        ("A symptom: which file?", [HELP, "docs/project/where-to-look.md"], "", ("symptom", "interpret.hpp")),
        ("Where is its test?", [HELP, "tests/README.md"], "", ("mirrors", "zoo")),
        ("How do I add a rule?", [HELP], "Common changes", ("next free number", "not_observable.txt", "zoo")),
        ("How do I add an extension?", [HELP], "Common changes", ("abi/draft", "mixin")),
        ("How is the code to look?", [HELP, "docs/project/style.md"], "Code", ("snake_case",)),
        ("What are the parts?", [HELP, "docs/project/architecture.md"], "The parts of the SDK", ("host/loader", "host/layers")),
        ("Why is it so?", [HELP, "docs/project/decisions.md"], "", ()),
        ("In which order do I read the loader?", [HELP, "docs/project/reading-the-loader.md"], "", ("hour",)),
        ("What is planned?", [HELP, "docs/project/roadmap.md"], "", ("Nothing here is a promise",)),
        ("How do I write a commit?", [HELP], "Commits", ("Speed up", "clang-format 19")),
    ),
    "a reviewer of security": (
        ("What runs unless I deny it?", [SAFE], "", ("runs unless you deny it", "EmbeddedCodePolicy::deny()")),
        ("Where are the boundaries of trust?", [SAFE], "", ("trust.svg",)),
        ("What does the host promise, with which test?", [SAFE], "What a host promises", ("the checked file is the loaded file", "tests")),
        ("What can a plugin do?", [SAFE], "What a plugin can do", ("strict", "connect to the network")),
        ("What is not promised?", [SAFE], "What a host does not promise", ("SIGBUS",)),
        ("Which code in a file runs?", [SAFE, "docs/hosts/embedded-code.md"], "", ("deny", "allow")),
        ("What was fuzzed, when, at which commit?", [SAFE, "docs/measurements/fuzzing.md"], "",
         ("2026-11-30", "21a59f8b", "operator_calls", "executions")),
        ("How do I fuzz it?", [SAFE, "tests/fuzz/README.md"], "", ("./dev fuzz",)),
        ("Who attacked it?", [SAFE, "docs/measurements/attack.md"], "", ("finding", "test")),
        ("Which libraries, in which versions?", [SAFE, "docs/getting-started/packages.md"], "What the build needs", ("24.3.25", "12.0.0")),
        ("Under which licences are they?", [SAFE, "NOTICE"], "", ("Apache-2.0", "oneDNN")),
        ("Are plugins signed?", [SAFE, "docs/hosts/signatures.md"], "", ("Ed25519",)),
        ("How do I report a weakness?", [SAFE], "Reporting", ("Report a vulnerability", "within a week")),
    ),
}


def section(text, heading):
    """The text below a heading, with its subsections; or a page's beginning, up to its first heading of level 2."""
    lines, level, found, fence = [], 1 if heading else 2, not heading, False
    for line in text.splitlines():
        fence ^= line.lstrip().startswith("```")
        match = None if fence else HEADING.match(line)
        if match:
            depth = len(line) - len(line.lstrip("#"))
            if found and (depth <= level if heading else depth >= level):
                break
            if heading and match[1].replace("`", "") == heading.replace("`", ""):
                found, level = True, depth
                continue
        if found:
            lines.append(line)
    return "\n".join(lines)


def linked(base, place):
    """The files that links of a page lead to."""
    page = base / place
    targets = (target.split("#")[0] for _, target in read_page(page).links)
    return {(page.parent / target).resolve() for target in targets if target and ":" not in target}


def problems(base, walks, start=START):
    """Where a walk ends before its answer."""
    for reader, questions in walks.items():
        for question, clicks, heading, words in questions:
            at, name = start, f"{reader}: {question}"
            if len(clicks) > 2 or INDEX in clicks:
                yield f"{name} {len(clicks)} clicks: {clicks}"
                continue
            for page in clicks:
                if page != at and (base / page).resolve() not in linked(base, at):
                    yield f"{name} {at} has no link to {page}"
                    break
                at = page
            else:
                text = (base / at).read_text(encoding="utf-8")
                answer = " ".join(section(text, heading).split()) if at.endswith(".md") else text
                if not answer:
                    yield f"{name} {at} has no heading {heading!r}"
                if missing := [word for word in words if word not in answer]:
                    yield f"{name} {at}, {heading or 'beginning'}: not there: {', '.join(missing)}"


class Walks(unittest.TestCase):
    maxDiff = None

    def test_six_readers_find_answers_in_two_clicks(self):
        self.assertEqual(list(problems(root, WALKS)), [])
        self.assertEqual(len(WALKS), 6)
        for reader, questions in WALKS.items():
            self.assertGreater(len(questions), 9, reader)

    def test_the_home_page_leads_to_the_same_pages(self):
        firsts = {(root / clicks[0]).resolve() for questions in WALKS.values() for _, clicks, _, _ in questions}
        firsts -= {root / START}
        missing = firsts - linked(root, HOME)
        self.assertEqual({str(path.relative_to(root)) for path in missing}, set())

    def test_a_walk_that_does_not_end_at_its_answer_is_found(self):
        with tempfile.TemporaryDirectory(prefix="tenon-walks-") as folder:
            base = pathlib.Path(folder).resolve()
            (base / "README.md").write_text("[a](a.md)\n")
            (base / "a.md").write_text("# A\n\nbegin\n\n## One\n\nyes\n\n### Deep\n\nfar\n\n```sh\n# Two\n```\n\n## Two\n\nno [b](b.md)\n")
            (base / "b.md").write_text("# B\n\nend\n")

            def found(*walk):
                return [text.partition("? ")[2] for text in problems(base, {"r": [("q?", *walk)]})]

            self.assertEqual(found(["a.md"], "One", ("yes", "far", "# Two")), [])
            self.assertEqual(found(["a.md", "b.md"], "", ("end",)), [])
            self.assertEqual(found(["a.md"], "", ("begin", "yes")), ["a.md, beginning: not there: yes"])
            self.assertEqual(found(["a.md"], "One", ("no",)), ["a.md, One: not there: no"])
            self.assertEqual(found(["a.md"], "Three", ()), ["a.md has no heading 'Three'"])
            self.assertEqual(found(["b.md"], "", ()), ["README.md has no link to b.md"])
            self.assertEqual(found(["a.md", "b.md", "a.md"], "", ()), ["3 clicks: ['a.md', 'b.md', 'a.md']"])
            self.assertEqual(found([INDEX], "", ()), ["1 clicks: ['docs/README.md']"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
