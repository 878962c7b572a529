#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ran where is in the tables of docs/platforms.md. Other pages repeat a row only in the words that its section "In
other pages" has, and these words agree with the row.

usage: ran_where_test.py ROOT
"""

import pathlib
import re
import sys
import unittest

from pages import find_pages

root = pathlib.Path(sys.argv[1]).resolve()

SOURCE = "docs/platforms.md"
# A subject of the words, as other pages name it.
NAMES = {
    "Linux x86-64": r"linux x86-64",
    "Linux arm64": r"arm64|aarch64",
    "Windows": r"windows|wine",
    "macOS": r"macos",
    "Android, iOS": r"android|ios",
    "CudaBackend": r"cuda|cudabackend|h100",
    "OpenClBackend": r"opencl|openclbackend|pocl",
    "MetalBackend": r"metal|metalbackend|macs?|apple gpus?",
    "OpenVINO": r"openvino|tenonopenvino",
}
# Not the system of most tests: a page may say that it was tested there.
CLAIMED = [name for name in NAMES if name != "Linux x86-64"]
# A clause with a subject and one of these says where the subject ran.
RAN = re.compile(r"\b(ran|never|tried|tested|hardware|(?:has|have|was|were|not|never) run|emulat\w+|stand-ins?)\b")
# What the words of a row have, by the best cell of the row. A part is on hardware if its cell names it.
NOTHING = r"\b(?:nothing|never)\b"
LEVELS = {"hardware": rf"^(?!.*(?:{NOTHING}|emulat)).*\bon\b", "emulated": r"\bonly in emulators\b", "compiled": NOTHING, "no": NOTHING}
# Pages that must have the words of a row.
SAID = {
    "README.md": ("Linux x86-64", "Linux arm64", "Windows", "Android, iOS", "CudaBackend", "MetalBackend"),
    "docs/site/home.md": ("Linux x86-64", "CudaBackend", "MetalBackend"),
    "docs/project/roadmap.md": ("CudaBackend", "OpenClBackend", "MetalBackend"),
    "docs/aoti/cuda.md": ("CudaBackend",),
    "docs/aoti/metal.md": ("MetalBackend",),
    "docs/backends/device-memory.md": ("CudaBackend",),
    "docs/backends/opencl.md": ("OpenClBackend",),
    "docs/backends/openvino.md": ("OpenVINO",),
    "docs/backends/ship-a-plugin.md": ("Linux arm64",),
}
LINKED = (*SAID, "docs/README.md", "docs/faq.md")
# Records of a day, and pages that are made from sources.
LEFT_OUT = ("CHANGELOG.md", "docs/measurements/", "docs/project/decisions.md", "docs/reference/rules.md", "tests/", SOURCE)


def plain(text):
    """Markdown as the words that a reader sees, in small letters."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*`¹²³⁴]", "", text).lower()


def flat(text):
    return " ".join(text.split())


def says(text, words):
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def tables(text):
    """The rows of all tables, {first cell: the other cells}, without their heads."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in plain(text).splitlines() if line.startswith("|")]
    ends = [at for at, cells in enumerate(rows) if set("".join(cells)) <= set("-: ")]
    return {cells[0]: cells[1:] for at, cells in enumerate(rows) if at not in ends and at + 1 not in ends}


def words_of(source):
    """{subject: words} of the section "In other pages"."""
    section = re.split(r"(?m)^## ", source.split("\n## In other pages\n")[1])[0]
    return {subject: row[0] for subject in NAMES for name, row in tables(section).items() if name == subject.lower()}


def level_of(subject, rows):
    """The best level of a subject's row: the row whose name begins with the subject, or has it after a system."""
    found = [cells for name, cells in rows.items() if name.startswith(subject.lower())]
    if not found:
        return None
    cells = [cell for row in found for cell in row]
    known = [level for level in LEVELS if any(cell.split(",")[0] == level for cell in cells)]
    first = found[0][0]
    return known[0] if first in LEVELS else "no" if first.startswith("no") else "hardware"


def problems(source, texts):
    """Where the tables of `source` disagree with its words, and pages, {place: text}, with both."""
    words, rows = words_of(source), tables(source.split("\n## In other pages\n")[0])
    for subject in NAMES:
        if subject not in words:
            yield f"{SOURCE}: no words for {subject}"
            return
        level = level_of(subject, rows)
        if level is None:
            yield f"{SOURCE}: no row begins with {subject}"
        elif not re.search(LEVELS[level], words[subject]):
            yield f"{SOURCE}: the row {subject} says {level}, its words are: {words[subject]}"
    stand_ins = {subject for subject in NAMES for name, cells in rows.items()
                 if name.startswith(subject.lower()) and "stand-in" in " ".join(cells)}
    for place, text in texts.items():
        page = flat(plain(text))
        for subject in SAID.get(place, ()):
            if not says(page, words[subject]):
                yield f"{place}: {subject}: expected the words: {words[subject]}"
        if place in LINKED and "platforms.md" not in text:
            yield f"{place}: no link to {SOURCE}"
        if place.startswith(LEFT_OUT):
            continue
        for clause in re.split(r"[.,;:|()]|\n\s*\n|\n(?=[#*-])", plain(text)):
            clause = flat(clause)
            if not RAN.search(clause):
                continue
            for subject in (each for each in CLAIMED if re.search(rf"\b(?:{NAMES[each]})\b", clause)):
                if subject in stand_ins and re.search(r"\bstand-ins?\b", clause):
                    continue
                # The words of one subject may name another: PoCL and one H100.
                others = [words[each] for each in NAMES if re.search(rf"\b(?:{NAMES[subject]})\b", words[each])]
                if not any(says(clause, each) for each in (words[subject], *others)):
                    yield f"{place}: {subject}: expected {words[subject]!r}, found {clause!r}"


def read(base):
    return {path.relative_to(base).as_posix(): path.read_text(encoding="utf-8") for path in find_pages(base)}


class RanWhere(unittest.TestCase):
    def test_pages_repeat_the_tables_in_their_words(self):
        texts = read(root)
        self.assertEqual(set(LINKED) - set(texts), set())
        self.assertEqual(list(problems(texts[SOURCE], texts)), [])

    def test_each_changed_word_is_found(self):
        texts, num_changed = read(root), 0
        words = words_of(texts[SOURCE])
        for place, subjects in SAID.items():
            for subject in subjects:
                parts = words[subject].split()
                for at, part in enumerate(parts):
                    pattern = r"\s+".join(re.escape(each) for each in parts)
                    # Links and emphasis may be inside of the words of a page.
                    changed = " ".join([*parts[:at], f"un{part}", *parts[at + 1:]])
                    page = re.sub(pattern, changed, plain(texts[place]), flags=re.IGNORECASE)
                    link = " platforms.md"
                    with self.subTest(f"{place}: {subject}: {part}"):
                        self.assertNotEqual(page, plain(texts[place]))
                        self.assertNotEqual(list(problems(texts[SOURCE], {place: page + link})), [])
                        num_changed += 1
        self.assertGreater(num_changed, 50)

    def test_a_claim_that_the_tables_do_not_make_is_found(self):
        source = (root / SOURCE).read_text(encoding="utf-8")
        for claim, subject in (
            ("CUDA ran on two H100.", "CudaBackend"),
            ("Metal was tested on an M1.", "MetalBackend"),
            ("`MetalBackend` ran on one H100.", "MetalBackend"),
            ("| arm64 | tested on a board: arm64 ran there |", "Linux arm64"),
            ("No Windows machine has run them.", "Windows"),
            ("Nothing was tried on iOS 20", "Android, iOS"),
            ("OpenVINO was tested on an NPU", "OpenVINO"),
            ("OpenCL ran on a stand-in", "OpenClBackend"),
        ):
            with self.subTest(claim):
                found = list(problems(source, {"docs/faq.md": f"[a](platforms.md)\n\n{claim}\n"}))
                self.assertTrue(any(each.startswith(f"docs/faq.md: {subject}: expected") for each in found), found)

    def test_words_and_their_row_agree(self):
        source = (root / SOURCE).read_text(encoding="utf-8")
        for row, change in (
            ("`MetalBackend`: Macs | no |", "`MetalBackend`: Macs | an M1 |"),
            ("| Linux arm64, glibc | emulated |", "| Linux arm64, glibc | hardware |"),
            ("| Android, iOS, QNX, Yocto | no |", "| Android, iOS, QNX, Yocto | emulated |"),
            ("| Windows x86-64, mingw-w64 |", "| Other systems |"),
        ):
            with self.subTest(change):
                self.assertIn(row, source)
                [found] = problems(source.replace(row, change), {})
                self.assertTrue(found.startswith(SOURCE), found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
