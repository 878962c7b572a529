#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tenon-cache lists what `tenon-run --prepared` keeps, verifies it and removes it; what it prints with --json is
what its schema describes.

usage: cache_test.py SUPPORT_FOLDER TENON_CACHE TENON_PACK TENON_RUN PREPARES_PLUGIN SCHEMA
"""

import concurrent.futures
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase, environment  # noqa: E402

tenon_cache, tenon_pack, tenon_run, plugin, schema_file = sys.argv[2:7]


class Cache(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()
        self.kept = self.folder / "kept"
        self.plugin = shutil.copy(plugin, self.folder)

    def run_program(self, program, *arguments, code=0, before=None, **variables):
        done = subprocess.run([program, *map(str, arguments)], env=environment(**variables), capture_output=True, text=True,
                              check=False, preexec_fn=before)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def cache(self, *arguments, code=0):
        return self.run_program(tenon_cache, *arguments, code=code, TENON_PREPARED_DIR=str(self.kept))

    def document(self, *arguments, code=0):
        document = json.loads(self.cache("--json", *arguments, code=code).stdout)
        self.check_valid(document, arguments)
        return document

    def keep(self, blob):
        """Runs a program of one blob, of which the backend keeps what it prepared."""
        (self.folder / "blob").write_text(blob)
        model = self.folder / "model.pte"
        model.unlink(missing_ok=True)
        self.run_program(tenon_pack, self.folder / "blob", "--backend", "Prepares", "--input", "Float:1",
                         "--output", "Float:1", "-o", model)
        return self.load(model, blob)

    def load(self, model, blob, **options):
        """Runs it on 1; the output is 1 and the sum of the blob's bytes."""
        return self.run_program(tenon_run, model, "--plugin", self.plugin, "--prepared",
                                "--input", self.array(1), "--expect", self.array(1 + sum(blob.encode())),
                                TENON_PREPARED_DIR=str(self.kept), **options)

    def array(self, value):
        path = self.folder / f"{value}.npy"
        if path.exists():
            return path
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        head += b" " * (-(len(head) + 11) % 64) + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
                         + struct.pack("<f", value))
        return path

    def test_a_directory_that_does_not_exist_is_an_empty_list_and_is_not_made(self):
        self.assertEqual(self.cache().stdout, f"Nothing is kept in {self.kept}.\n")
        self.assertEqual(self.document()["files"], [])
        self.assertFalse(self.kept.exists())

    def test_what_is_kept_is_listed_the_latest_used_first(self):
        self.keep("first")
        self.keep("second")
        document = self.document()
        self.assertEqual([each["nbytes"] for each in document["files"]], [4100, 4100])
        self.assertEqual({(each["backend"], each["plugin"]) for each in document["files"]},
                         {("Prepares", self.plugin)})
        self.assertEqual(document["nbytes"], 8200)
        self.assertIsNone(document["files"][0]["valid"])
        self.keep("first")
        self.assertEqual([each["name"] for each in self.document()["files"]],
                         [each["name"] for each in reversed(document["files"])])
        lines = self.cache().stdout.splitlines()
        self.assertEqual(lines[0].split(), ["BYTES", "LAST", "USED", "BACKEND", "PLUGIN"])
        self.assertEqual(lines[3], f"2 files, 8200 bytes in {self.kept}")

    def test_a_damaged_file_is_named_and_the_exit_code_says_so(self):
        self.keep("first")
        self.assertTrue(self.document("--verify")["files"][0]["valid"])
        file = self.kept / self.document()["files"][0]["name"]
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        document = self.document("--verify", code=1)
        self.assertFalse(document["files"][0]["valid"])
        self.assertEqual(document["files"][0]["error"]["name"], "InvalidExternalData")
        shown = self.cache("--verify", code=1).stdout
        self.assertIn(f"    InvalidExternalData (0x24): {file}: its bytes are not those that were stored", shown)

    def test_files_are_removed_until_the_rest_fits(self):
        self.keep("first")
        self.keep("second")
        latest = self.document()["files"][0]["name"]
        document = self.document("--prune", "5KB")
        self.assertEqual(document["num_removed"], 1)
        self.assertEqual([each["name"] for each in document["files"]], [latest])
        self.assertEqual(self.cache("--prune", "0").stdout, f"Removed 1 file.\nNothing is kept in {self.kept}.\n")

    def test_several_processes_at_once_keep_one_whole_file(self):
        self.keep("first")
        self.cache("--prune", "0")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for each in [pool.submit(self.load, self.folder / "model.pte", "first") for _ in range(24)]:
                each.result()
        self.assertEqual([each["valid"] for each in self.document("--verify")["files"]], [True])
        self.assertEqual(os.listdir(self.kept), [self.document()["files"][0]["name"]])

    def test_a_full_disk_costs_only_the_file(self):
        self.keep("first")
        self.cache("--prune", "0")
        self.load(self.folder / "model.pte", "first",
                  before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual(os.listdir(self.kept), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_a_file_of_another_user_is_not_used(self):
        self.keep("first")
        file = self.kept / self.document()["files"][0]["name"]
        os.chown(file, 12345, -1)
        self.assertEqual(self.document("--verify", code=1)["files"][0]["error"]["name"], "AccessFailed")
        self.keep("first")
        self.assertEqual(file.stat().st_uid, 0)

    def test_another_directory_is_named(self):
        self.keep("first")
        self.kept.rename(self.folder / "elsewhere")
        self.assertEqual(len(self.document("--directory", self.folder / "elsewhere")["files"]), 1)
        (self.folder / "elsewhere").chmod(0o777)
        done = self.cache("--directory", self.folder / "elsewhere", code=2)
        self.assertRegex(done.stderr, r"^tenon-cache: AccessFailed \(0x22\): .*elsewhere")

    def test_wrong_arguments_are_one_line(self):
        for arguments in (["--prune"], ["--prune", "much"], ["--unknown"], ["file"]):
            done = self.cache(*arguments, code=2)
            self.assertRegex(done.stderr, r"^tenon-cache: InvalidArgument \(0x12\): .*\n$")

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        self.keep("first")
        file = self.kept / self.document()["files"][0]["name"]
        file.write_bytes(b"damage")
        self.assertGreater(self.check_strict(self.document("--verify", code=1)), 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
