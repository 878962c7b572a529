#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the API reference of the public headers, as pages for MkDocs in a folder of the build, of the XML
that Doxygen writes without a warning. Ends with 77, which Meson counts as skipped, where there is no Doxygen.

usage: reference_test.py ROOT OUTPUT VERSION
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(root / "docs/site"), str(root / "docs/site/pictures")]

import api_pages  # noqa: E402
import architecture  # noqa: E402

SKIPPED = 77

# Entries that a reader looks up first.
EXPECTED = {
    "index.md": "[`tenon::Backend`](backend/backend.hpp.md#Backend)",
    "backend/backend.hpp.md": "runs_embedded_code",
    "abi/tensor.h.md": '<dt id="tenon_value-as-tensor"><code><a href="#tenon_tensor">tenon_tensor</a>* <b>as.tensor</b></code></dt>',
    "abi/backend.h.md": '<a href="../../reference/rules.html#tn-exe-1">TN-EXE-1</a>: ',
    "host/loader/method/method.hpp.md": "### `create_session` { #Method-create_session }",
    "core/result.hpp.md": "moved out",
    "host-layers.md": "[`BackendRegistry`](host/backend_registry.hpp.md#BackendRegistry)",
    "host-loader.md": "[`Program`](host/loader/program/program.hpp.md#Program)",
}

# A wrong comment, which has to be found.
WRONG = """
/// Adds. @param gone is no parameter.
int add(int a);
"""


def doxygen(root, output, version, settings=""):
    """The text of a failure, or None."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    done = subprocess.run(
        ["doxygen", "-"],
        input=(root / "docs/site/Doxyfile").read_text() + settings,
        env=dict(os.environ, TENON_SOURCE=str(root), TENON_OUTPUT=str(output), TENON_VERSION=version),
        text=True, capture_output=True, check=False,
    )
    return f"doxygen:\n{done.stdout}{done.stderr}" if done.returncode != 0 else None


def parts():
    """The parts of include/tenon as the picture of the architecture has them, in the order of the site's navigation."""
    found = {name: (part.text, part.header) for name, part in architecture.PARTS.items() if name != "kit"}
    found[architecture.SHARED_BY_BRIDGES] = ("what the bridges share", "")
    order = ["abi", "core", "backend", "host", "aot", "aoti", "executorch", "onnxruntime", "conformance"]
    return {name: found[name] for name in sorted(found, key=lambda each: (order.index(each.split("/")[0]), each))}


def problem(output, version):
    if failure := doxygen(root, output, version):
        return failure
    first = (root / "docs/site/api.md").read_text(encoding="utf-8")
    reference = api_pages.Reference(output / "xml", root / "include", parts(), architecture.DRAWN_IN)
    pages = reference.write(output / "api", first)
    for name, text in EXPECTED.items():
        if text not in pages.get(name, ""):
            return f"the page {name} does not say {text!r}"
    shown = set(re.findall(r": api/(\S+\.md)$", (root / "docs/site/mkdocs.yml").read_text(encoding="utf-8"), re.M))
    if wrong := shown ^ {f"{part.replace('/', '-')}.md" for part in parts()}:
        return f"the site's navigation and the parts of include/tenon differ by {sorted(wrong)}"
    if broken := list(api_pages.broken_links(pages)):
        return f"links of the reference that lead nowhere: {broken[:5]}"
    if not list(api_pages.broken_links({"index.md": "[a](b.md)", "c.md": '<a href="#d">'})):
        return "a link to nothing was not noticed"
    if hidden := [name for name, text in pages.items() if "detail::" in text.split("## ", 1)[-1].split("<pre", 1)[0]]:
        return f"namespaces `detail` are shown: {hidden[:3]}"
    print(f"{len(pages)} pages in {output / 'api'}")
    return None


def main():
    output, version = pathlib.Path(sys.argv[2]), sys.argv[3]
    if not shutil.which("doxygen"):
        print("skipped: there is no doxygen (Debian: apt-get install doxygen)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="tenon-reference-") as folder:
        header = pathlib.Path(folder) / "wrong.hpp"
        header.write_text(WRONG)
        failure = doxygen(root, pathlib.Path(folder) / "out", version, f"INPUT = {header}\n")
        if not failure or "gone" not in failure:
            sys.exit(f"a wrong comment was not noticed: {failure}")
    if failure := problem(output, version):
        sys.exit(failure)


if __name__ == "__main__":
    main()
