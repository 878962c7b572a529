#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what goes with the files of a release, and that two builds give the same bytes.

usage: papers_test.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from dev.in_folder import InFolder  # noqa: E402  pylint: disable=wrong-import-position
from dev.part import Failed  # noqa: E402  pylint: disable=wrong-import-position
from dev.release import artifacts, papers  # noqa: E402  pylint: disable=wrong-import-position
from dev.totals import FAILED, PASSED  # noqa: E402  pylint: disable=wrong-import-position

CHANGELOG = ("# Changelog\n\n## 1.2.3 (2027-01-02)\n\n- It [runs](docs/faq.md#a), [there](https://x.y).\n\n"
             "## 1.2.2 (2026-01-02)\n- Old\n")


class Papers(InFolder):
    def setUp(self):
        super().setUp()
        self.made = artifacts.Made(self.part, "1.2.3", self.folder / "release", self.folder / "work")
        self.made.folder.mkdir()
        self.made.archive.write_bytes(b"archive")

    def add(self, name):
        path = self.made.folder / name
        path.write_bytes(name.encode())
        self.made.of_debian.setdefault("bookworm", []).append(path)

    def test_notes_are_the_section_of_the_changelog_with_links_to_the_tag(self):
        self.assertEqual(papers.section_of(CHANGELOG, "1.2.2"), "- Old")
        papers.write_notes(self.made, CHANGELOG, "https://h.example/tenon")
        notes = (self.made.folder / "tenon-1.2.3.notes.md").read_text(encoding="utf-8")
        self.assertIn("- It [runs](https://h.example/tenon/blob/v1.2.3/docs/faq.md#a), [there](https://x.y).\n", notes)
        self.assertIn("| `tenon-1.2.3.tar.gz` | 0.00 MB |", notes)
        self.assertNotIn("Old", notes)
        for text in ("# Changelog\n", "## 1.2.3 (2027-01-02)\n\n## 1.2.2 (2026-01-02)\n- Old\n"):
            with self.assertRaisesRegex(Failed, "says nothing about 1.2.3"):
                papers.section_of(text, "1.2.3")

    def test_the_statement_names_each_file_by_its_digest_and_the_commit(self):
        self.add("tenon_ml-1.2.3.whl")
        papers.write_provenance(self.made, "58c1", "https://h.example/tenon", ("2027-01-02T03:04:05Z", "2027-01-02T04:04:05Z"))
        found = json.loads((self.made.folder / "tenon-1.2.3.intoto.json").read_text(encoding="utf-8"))
        self.assertEqual((found["_type"], found["predicateType"]),
                         ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"))
        self.assertEqual({each["name"]: each["digest"]["sha256"] for each in found["subject"]},
                         {path.name: artifacts.digest(path) for path in self.made.files()})
        self.assertEqual(found["predicate"]["buildDefinition"]["resolvedDependencies"],
                         [{"uri": "git+https://h.example/tenon@refs/tags/v1.2.3", "digest": {"gitCommit": "58c1"}}])
        self.assertEqual(found["predicate"]["buildDefinition"]["externalParameters"],
                         {"version": "1.2.3", "roots": ["bookworm"]})

    def test_the_recipe_has_the_address_and_the_sum(self):
        recipe = pathlib.Path("recipe.yaml")
        recipe.write_text('context:\n  version: "0"\n  repository: https://none\n  sha256: "0"\nbuild:\n', encoding="utf-8")
        papers.write_recipe(self.made, "https://h.example/tenon", recipe)
        self.assertEqual((self.made.folder / "recipe.yaml").read_text(encoding="utf-8"),
                         'context:\n  version: "1.2.3"\n  repository: https://h.example/tenon\n'
                         f'  sha256: "{artifacts.digest(self.made.archive)}"\nbuild:\n')
        recipe.write_text("context:\n", encoding="utf-8")
        with self.assertRaisesRegex(Failed, "has no line of version"):
            papers.write_recipe(self.made, "", recipe)

    def test_what_is_left_is_a_list_of_commands(self):
        lines = papers.by_hand(self.made)
        self.assertFalse([line for line in lines if line.startswith(("uv ", "dput "))])
        self.add("tenon_ml-1.2.3.whl")
        self.add("libtenon1_1.2.3-1_amd64.deb")
        more = papers.by_hand(self.made)
        self.assertEqual([line.split()[0] for line in more if line not in lines], ["uv", "dput"])
        self.assertLess(more.index(lines[0]), more.index(lines[3]))

    def test_other_bytes_of_a_second_build_are_named(self):
        others = self.folder / "others"
        others.mkdir()
        for name in ("one.deb", "two.deb"):
            self.add(name)
            (others / name).write_bytes(name.encode())
        files = self.made.of_debian["bookworm"]
        artifacts.check_equal(self.part, files, list(others.iterdir()))
        (others / "two.deb").write_text("other")
        self.program("diffoscope", 'echo "differs: $*"; exit 1')
        with self.assertRaisesRegex(Failed, "other bytes: two.deb$"):
            artifacts.check_equal(self.part, files, list(others.iterdir()))
        self.assertIn("differs: --max-report-size", self.printed())
        (others / "one.deb").unlink()
        with self.assertRaisesRegex(Failed, "expected .'one.deb', 'two.deb'. again, found .'two.deb'."):
            artifacts.check_equal(self.part, files, list(others.iterdir()))


class Archive(InFolder):
    def setUp(self):
        super().setUp()
        self.patch(mock.patch.dict(os.environ, {f"GIT_{who}_{what}": "tenon@example.com" for who in ("AUTHOR", "COMMITTER")
                                                for what in ("NAME", "EMAIL")}))
        for name in [name for name in os.environ if name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")]:
            del os.environ[name]
        pathlib.Path("repository/docs").mkdir(parents=True)
        os.chdir("repository")
        pathlib.Path("docs/faq.md").write_text("text", encoding="utf-8")
        pathlib.Path("dev").write_text("#!/bin/sh\n", encoding="utf-8")
        os.chmod("dev", 0o755)
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Add"]):
            subprocess.run(["git", *words], check=True)
        self.made = artifacts.Made(self.part, "1.2.3", self.folder / "release", self.folder / "work")
        self.made.folder.mkdir()

    def test_the_bytes_follow_from_the_commit_alone(self):
        pathlib.Path("not-in-the-commit").touch()
        artifacts.archive(self.made)
        self.assertEqual(self.names(FAILED), [])
        self.assertEqual(len(self.names(PASSED)), 2)
        first, mask = self.made.archive.read_bytes(), os.umask(0o077)
        try:
            with mock.patch.dict(os.environ, artifacts.ELSEWHERE):
                pathlib.Path("dev").touch()
                artifacts.archive(self.made)
        finally:
            os.umask(mask)
        self.assertEqual(self.made.archive.read_bytes(), first)
        with tarfile.open(self.made.archive) as tar:
            modes = {member.name: (oct(member.mode), member.uid) for member in tar if member.isfile()}
        self.assertEqual(modes, {"tenon-1.2.3/dev": ("0o755", 0), "tenon-1.2.3/docs/faq.md": ("0o644", 0)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
