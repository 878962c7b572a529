# SPDX-License-Identifier: MIT
"""What each test of a JSON schema does in the same way."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def objects_of(node, where=()):
    """All objects in a JSON value, with the way to each."""
    if isinstance(node, dict):
        yield where, node
    items = node.items() if isinstance(node, dict) else enumerate(
        node) if isinstance(node, list) else ()
    for key, value in items:
        yield from objects_of(value, (*where, key))


def at(document, where):
    for key in where:
        document = document[key]
    return document


def environment(**variables):
    """This process's environment with `variables` and without Tenon's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    return kept | variables


def run_json(program, *arguments, **variables):
    """What a program prints with --json, as an object with its exit code."""
    done = subprocess.run([program, "--json", *map(str, arguments)], capture_output=True,
                          env=environment(**variables), check=False)
    document = json.loads(done.stdout.decode("ascii"))
    assert document["exit_code"] == done.returncode, done
    return document


class SchemaCase:
    """Mixed into a unittest.TestCase. `free` names members that may hold objects with any names."""

    free = ()

    def use_schema(self, path):
        self.schema = json.loads(pathlib.Path(path).read_text())
        self.validator = jsonschema.Draft202012Validator(self.schema)

    def make_folder(self):
        """A folder that is removed after the test, as `self.folder`."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()

    def test_the_schema_itself_is_valid(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def check_valid(self, document, what):
        problems = [f"{list(each.absolute_path)}: {each.message}"
                    for each in self.validator.iter_errors(document)]
        self.assertEqual(problems, [], what)

    def check_strict(self, document):
        """No member of any object may be missing, and none may be added. Returns how many were
        tried."""
        tried = 0
        for where, found in objects_of(document):
            if where[-1:] and where[-1] in self.free:
                continue
            added = copy.deepcopy(document)
            at(added, where)["surprise"] = 1
            self.assertFalse(self.validator.is_valid(added), where)
            for key in found:
                changed = copy.deepcopy(document)
                del at(changed, where)[key]
                self.assertFalse(self.validator.is_valid(changed), (*where, key))
                tried += 1
        return tried


class DocumentsCase(SchemaCase):
    """For programs with many documents: `documents` yields each with what it is of."""

    def test_what_is_printed_is_valid_and_nothing_is_left_open(self):
        for what, document in self.documents():
            with self.subTest(what):
                self.check_valid(document, what)
                self.assertGreater(self.check_strict(document), 5)
