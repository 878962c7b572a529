#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of corpus.py."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM = pathlib.Path(__file__).parent / "corpus.py"


class Corpus(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-corpus-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.archive = self.folder / "npy.zip"

    def run_corpus(self, *words, status=0):
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def input(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_the_order_in_which_inputs_are_added_does_not_change_the_archive(self):
        one, two = self.input("one", b"1"), self.input("two", b"22")
        self.run_corpus("add", self.archive, one, two)
        first = self.archive.read_bytes()
        self.archive.unlink()
        self.run_corpus("add", self.archive, two)
        self.run_corpus("add", self.archive, one)
        self.assertEqual(self.archive.read_bytes(), first)

    def test_an_input_that_is_there_already_is_left_out(self):
        self.run_corpus("add", self.archive, self.input("one", b"1"), self.input("again", b"1"))
        first = self.archive.read_bytes()
        self.run_corpus("add", self.archive, self.input("later", b"1"))
        self.assertEqual(self.archive.read_bytes(), first)
        self.assertEqual(len(zipfile.ZipFile(self.archive).namelist()), 1)

    def test_a_directory_that_is_unpacked_to_holds_the_inputs_and_nothing_else(self):
        self.run_corpus("add", self.archive, self.input("one", b"1"))
        seeds = self.folder / "seeds"
        seeds.mkdir()
        (seeds / "old").touch()
        self.run_corpus("unpack", self.archive, seeds)
        self.assertEqual([path.read_bytes() for path in seeds.iterdir()], [b"1"])

    def test_a_name_with_a_directory_is_refused_before_anything_is_written(self):
        with zipfile.ZipFile(self.archive, "w") as out:
            out.writestr("../outside", b"1")
        seeds = self.folder / "seeds"
        self.assertIn("npy.zip: expected names without a directory, found '../outside'",
                      self.run_corpus("unpack", self.archive, seeds, status=1))
        self.assertFalse(seeds.exists())

    def test_other_arguments_are_answered_by_the_usage(self):
        for words in ([], ["add", self.archive], ["unpack", self.archive]):
            self.assertIn("usage:", self.run_corpus(*words, status=2))


if __name__ == "__main__":
    unittest.main()
