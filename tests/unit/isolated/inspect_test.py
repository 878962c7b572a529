#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tenon-inspect --isolated says what a plugin uses, and the narrowest profile in which it runs.

usage: inspect_test.py SUPPORT_FOLDER TENON_INSPECT SCHEMA HELLO PROGRAM PLUGIN_FOLDER
"""

import json
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase  # noqa: E402

tenon_inspect, schema_file, hello, program, folder = sys.argv[2:7]


def run(*arguments, code=0):
    done = subprocess.run([tenon_inspect, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done


class Inspect(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)

    def use_of(self, plugin, *arguments, code=0):
        document = json.loads(run(plugin, "--isolated", "--json", *arguments, code=code).stdout)
        self.check_valid(document, plugin)
        use = document["isolated"]
        if use["error"] and "calls cannot be reported" in use["error"]["text"]:
            self.skipTest(use["error"]["text"])
        for each in use["profiles"]:
            if each["reason"] and "no Landlock" in each["reason"]:
                self.skipTest(each["reason"])
        return use

    def test_a_plugin_that_computes_runs_in_strict(self):
        use = self.use_of(hello, "--run", program)
        self.assertIsNone(use["error"])
        self.assertEqual(use["narrowest_profile"], "strict")
        self.assertEqual([(each["profile"], each["runs"], each["refusals"]) for each in use["profiles"]],
                         [("strict", True, []), ("driver", True, []), ("open", True, [])])
        self.assertIn("mmap", [each["name"] for each in use["calls"]])
        self.assertEqual(use["devices"], [])

    def test_what_a_plugin_reads_decides_on_its_profile_and_is_named(self):
        for name, path, narrowest in (("passwd", "/etc/passwd", "open"), ("share", "/usr/share", "driver"),
                                      ("null", "/dev/null", "strict")):
            with self.subTest(name):
                use = self.use_of(f"{folder}/reaches_{name}.so")
                self.assertEqual(use["narrowest_profile"], narrowest)
                self.assertIn({"path": path, "written": False}, use["devices" if name == "null" else "files"])
                for each in use["profiles"]:
                    if not each["runs"]:
                        self.assertIn(f"cannot open {path}", each["reason"])
                        self.assertTrue(any(path in line for line in each["refusals"]), each)
        text = run(f"{folder}/reaches_share.so", "--isolated").stdout
        self.assertIn("narrowest profile: driver", text)
        self.assertIn("profile strict: fails: Reaches: ", text)
        self.assertRegex(text, r"refused openat of /usr/share")

    def test_one_that_ends_its_process_does_not_end_the_program(self):
        done = run(f"{folder}/reaches_nothing.so", "--isolated", code=4)
        self.assertIn("it was ended by SIGABRT", done.stderr)
        use = self.use_of(f"{folder}/reaches_nothing.so", code=4)
        self.assertEqual(use["error"]["text"], "it was ended by SIGABRT")

    def test_arguments_that_do_not_fit_are_refused(self):
        run(hello, "--run", program, code=2)
        self.assertIn("--isolated: ", run(program, "--isolated", code=2).stderr)
        self.assertIn("missing.pte", run(hello, "--isolated", "--run", "missing.pte", code=3).stderr)
        self.assertIsNone(json.loads(run(hello, "--json").stdout)["isolated"])

    def test_a_member_that_is_missing_or_unknown_is_not_valid(self):
        self.use_of(f"{folder}/reaches_share.so")
        self.check_strict(json.loads(run(f"{folder}/reaches_share.so", "--isolated", "--json").stdout))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
