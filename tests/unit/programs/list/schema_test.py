#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-list prints with --json is what its schema describes.

usage: schema_test.py SUPPORT_FOLDER TENON_LIST SCHEMA ZOO_FOLDER
"""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase, environment  # noqa: E402

tenon_list, schema_file, zoo = sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])

MANIFEST = {
    "manifest_version": 1,
    "library": "libs/variant_base.so",
    "backends": [{"id": "VariantBackend", "tags": ["npu"], "priority": -5}],
    "sigstore": "https://acme.example/variant_base.sigstore.json",
    "facts": {"compiler": "gcc 12.2"},
}
PUBLISHERS = {
    "publishers_version": 1,
    "required": False,
    "publishers": [{
        "name": "Acme",
        # The key of tests/fixtures/signatures.
        "keys": [{"minisign": "RWQGP6kLMggyJZTJyWKamK2tRKUk4bPM+8f6w1pN0Ki1ck+2kjBzLkPm",
                  "not_before": "2026-01-01", "not_after": "2099-12-31"}],
    }],
}


def run(*arguments, **variables):
    done = subprocess.run([tenon_list, "--json", *arguments], env=environment(**variables), check=True,
                          capture_output=True)
    return json.loads(done.stdout.decode("ascii"))


class Schema(SchemaCase, unittest.TestCase):
    free = ("facts",)

    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()
        (self.folder / "libs").mkdir(mode=0o755)
        names = ["embedded_code", "newer_major", "tagged_debug", "two_backends", "variant_preferred"]
        for name in names:
            self.add(name, self.folder)
        self.add("variant_base", self.folder / "libs")
        self.write("acme.json", json.dumps(MANIFEST))
        self.write("broken.json", "{")
        self.write("text.so", "text\n")
        self.write("two_backends.so.minisig", "text\n")

    def add(self, name, folder):
        shutil.copy(zoo / f"{name}.so", folder)
        (folder / f"{name}.so").chmod(0o644)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o644)

    def publishers(self):
        path = self.folder / "libs" / "publishers"
        path.write_text(json.dumps(PUBLISHERS))
        path.chmod(0o644)
        return str(path)

    def everything(self):
        return run(TENON_PLUGIN_PATH=f"{self.folder}:relative", TENON_DISABLE="LockedBackend",
                   TENON_PUBLISHERS=self.publishers())

    def test_signatures_are_listed_where_there_are_publishers(self):
        signatures = {each["id"]: each["signature"] for each in self.everything()["backends"]}
        self.assertEqual(signatures["WorksBackend"]["status"], "malformed")
        self.assertEqual(signatures["DebugBackend"]["status"], "missing")
        self.assertIsNone(signatures["DebugBackend"]["publisher"])
        without = run(TENON_PLUGIN_PATH=str(self.folder))["backends"]
        self.assertEqual({each["signature"] for each in without}, {None})

    def test_publishers_are_what_their_schema_describes(self):
        self.use_schema(pathlib.Path(schema_file).with_name("tenon-publishers.schema.json"))
        self.check_valid(PUBLISHERS, 0)
        for wrong in ({}, PUBLISHERS | {"publishers_version": 2}, PUBLISHERS | {"requird": True}):
            self.assertFalse(self.validator.is_valid(wrong))

    def test_what_is_printed_is_valid(self):
        for number, document in enumerate((
            run(),
            self.everything(),
            run("--tag", "debug", TENON_PLUGIN_PATH=str(self.folder)),
            run("--all", "--places", TENON_PLUGIN_FILES="relative.so:/no/such/plugin.so"),
        )):
            self.check_valid(document, number)

    def test_every_part_of_the_schema_was_seen(self):
        document = self.everything()
        states = {each["state"] for each in document["backends"]}
        self.assertEqual(states, {"known", "disabled", "shadowed", "unsupported"})
        for part in ("reason", "hidden_as", "manifest", "plugin", "path"):
            found = [each[part] for each in document["backends"]]
            self.assertTrue(any(found), part)
        flagged = [each["id"] for each in document["backends"] if each["runs_embedded_code"]]
        self.assertEqual(flagged, ["AsksBackend", "ForgetsBackend", "IgnoresBackend"])
        self.assertEqual(len(document["refused"]), 2)
        by_manifest = [each for each in document["backends"] if each["manifest"]]
        self.assertEqual([each["tags"] for each in by_manifest], [["npu"]])
        self.assertEqual([each["priority"] for each in by_manifest], [-5])
        self.assertEqual(by_manifest[0]["manifest"]["facts"], MANIFEST["facts"])

    def test_places_are_indices(self):
        document = self.everything()
        kinds = {document["places"][each["place"]]["kind"] for each in document["backends"]}
        self.assertEqual(kinds, {"TENON_PLUGIN_PATH"})

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        self.assertGreater(self.check_strict(self.everything()), 50)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
