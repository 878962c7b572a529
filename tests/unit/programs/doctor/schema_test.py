#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon-doctor prints with --json is what its schema describes.

usage: schema_test.py SUPPORT_FOLDER TENON_DOCTOR SCHEMA FIXTURES ZOO_FOLDER TENON_COMPILE PLUGIN...

TENON_COMPILE joins the variants of a program; it may be empty.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import DocumentsCase, run_json  # noqa: E402

doctor, schema_file = sys.argv[2], sys.argv[3]
fixtures, zoo = pathlib.Path(sys.argv[4]), pathlib.Path(sys.argv[5])
ZOO = ["embedded_code", "newer_major", "two_backends", "undefined_symbol", "variant_base"]
compiler = sys.argv[6]
plugins = [zoo / f"{name}.so" for name in ZOO] + [pathlib.Path(each) for each in sys.argv[7:]]


def run(*arguments, **variables):
    return run_json(doctor, *arguments, **variables)


class Schema(DocumentsCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()
        (self.folder / "plugins").mkdir(mode=0o755)
        for plugin in plugins:
            os.chmod(shutil.copy(plugin, self.folder / "plugins"), 0o644)

    def program_of(self, backend):
        """A program whose only delegate is one of `backend`: a string of a flatbuffer is its
        length, its characters and a NUL, and may become shorter in place."""
        old = b"BackendWithCompilerDemo"
        found = len(old).to_bytes(4, "little") + old + b"\0"
        wanted = len(backend).to_bytes(4, "little") + backend.encode() + b"\0"
        data = (fixtures / "demo_sin_seg/model.pte").read_bytes()
        self.assertEqual(data.count(found), 1)
        path = self.folder / f"{backend}.pte"
        path.write_bytes(data.replace(found, wanted.ljust(len(found), b"\0")))
        return path

    def variants(self):
        """A program whose method has three variants."""
        path = self.folder / "variants.pte"
        words = [compiler, self.program_of("BackendWithCompilerDemo")]
        for backend in ("Nobody", "JudgeBackend"):
            words += ["--variant", self.program_of(backend)]
        subprocess.run([*words, "-o", path], check=True, capture_output=True)
        return path

    def documents(self):
        place = f"{self.folder / 'plugins'}:relative"
        for backend in ("BackendWithCompilerDemo", "JudgeBackend", "WorksBackend", "LockedBackend",
                        "ZooBackend", "VariantBackend", "AsksBackend", "Nobody"):
            yield backend, run(self.program_of(backend), TENON_PLUGIN_PATH=place)
        if compiler:
            yield "variants", run(self.variants(), TENON_PLUGIN_PATH=place)
        for program in ("demo_multi_seg", "mlp_portable", "cuda_mlp", "demo_named_data"):
            yield program, run(fixtures / program / "model.pte")
        yield "kernels of a plugin", run(fixtures / "add_dynamic_portable/model.pte",
                                         TENON_PLUGIN_PATH=place)
        yield "a proof", run(fixtures / "add_dynamic_portable/model.pte", "--prove", TENON_PLUGIN_PATH=place)
        yield "a disabled backend", run(self.program_of("JudgeBackend"), TENON_PLUGIN_PATH=place,
                                        TENON_DISABLE="Judge*")
        broken = self.folder / "broken.pte"
        broken.write_bytes(b"\x80 no program")
        yield "a broken file", run(broken)
        yield "no such file", run("/no/such/file.pte")
        yield "no such method", run(self.program_of("JudgeBackend"), "--method", "none")

    def test_every_part_of_the_schema_was_seen(self):
        documents = [document for _, document in self.documents()]
        methods = [method for document in documents for method in document["methods"]]
        delegates = [delegate for method in methods for delegate in method["delegates"]]
        # No fixture has external tensors, and none of the backends fails to judge.
        unseen = ["missing_tensors", "check_blob_error"] + ([] if compiler else ["variants"])
        for objects, definition in ((documents, self.schema),
                                    (methods, self.schema["$defs"]["method"]),
                                    (delegates, self.schema["$defs"]["delegate"])):
            for name in definition["properties"]:
                if name in unseen:
                    continue
                self.assertTrue(any(each[name] for each in objects), name)
        variants = [variant for method in methods for variant in method["variants"]]
        if compiler:
            self.assertEqual([bool(each["refused"]) for each in variants], [True, False, False])
            self.assertEqual([each["chosen"] for each in variants], [False, True, False])
        self.assertEqual({document["exit_code"] for document in documents}, {0, 1, 2, 3})
        flags = {delegate["served_by"]["runs_embedded_code"] for delegate in delegates
                 if delegate["served_by"]}
        self.assertEqual(flags, {False, True})
        states = {refused["state"] for delegate in delegates if delegate["not_found"]
                  for refused in delegate["not_found"]["refused"]}
        self.assertLessEqual({"unsupported", "disabled"}, states)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
