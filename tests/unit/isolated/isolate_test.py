#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tenon-isolate makes plugins that run where they are moved, and refuses by the exit codes of all programs; what it
prints with --json is what its schema describes.

usage: isolate_test.py SUPPORT_FOLDER TENON_ISOLATE TENON_RUN HELLO KERNELS PROGRAM SCHEMA
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
from schema_case import SchemaCase, environment  # noqa: E402

tenon_isolate, tenon_run, hello, kernels, program, schema_file = sys.argv[2:8]
inputs = pathlib.Path(program).parent


class Isolate(SchemaCase, unittest.TestCase):
    def setUp(self):
        self.use_schema(schema_file)
        self.make_folder()

    def run_program(self, program, *arguments, code=0, **variables):
        done = subprocess.run([program, *map(str, arguments)], env=environment(**variables), capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_model(self, plugin, *more, code=0, **variables):
        return self.run_program(tenon_run, program, "--plugin", plugin, "--input", inputs / "a0.npy", "--input", inputs / "b0.npy",
                                "--expect", inputs / "expected0.npy", *more, code=code, **variables)

    def test_a_pair_of_plugins_may_be_moved(self):
        plugin = self.folder / "acme.so"
        shutil.copy(hello, plugin)
        made = json.loads(self.run_program(tenon_isolate, plugin, "--json").stdout)
        self.check_valid(made, "the report")
        self.check_strict(made)
        self.assertEqual(made["output"], str(self.folder / "acme-isolated.so"))
        self.assertEqual(made["plugin"], "acme.so")
        self.assertEqual(made["sha256"], hashlib.sha256(plugin.read_bytes()).hexdigest())
        self.assertEqual((made["backends"], made["without_kernels"]), (["Add"], []))
        moved = self.folder / "moved"
        moved.mkdir()
        for name in ("acme.so", "acme-isolated.so"):
            shutil.move(self.folder / name, moved / name)
        self.run_model(moved / "acme-isolated.so")

    def test_a_plugin_elsewhere_is_found_by_its_path(self):
        out = self.folder / "hello-isolated.so"
        made = json.loads(self.run_program(tenon_isolate, hello, "-o", out, "--json").stdout)
        self.assertEqual(made["plugin"], str(pathlib.Path(hello).resolve()))
        self.run_model(out)

    def test_a_worker_that_is_none_is_a_failure_of_the_load(self):
        out = self.folder / "hello-isolated.so"
        self.run_program(tenon_isolate, hello, "-o", out)
        done = self.run_model(out, code=4, TENON_WORKER="/bin/true")
        self.assertIn("the worker died in open of backend Add", done.stdout + done.stderr)
        done = self.run_model(out, code=4, TENON_WORKER=str(self.folder / "none"))
        self.assertIn("NotFound", done.stdout + done.stderr)

    def test_tenon_run_runs_a_plugin_in_a_worker_by_an_argument_or_by_the_variable(self):
        # A failure that names the worker shows that there was to be one.
        none = {"TENON_WORKER": "/bin/true"}
        done = self.run_model(hello, code=0, **none)
        done = self.run_model(hello, "--isolate", "none", code=4, **none)
        self.assertIn("tenon-isolated.so next to it, is not at /bin/true", done.stdout + done.stderr)
        done = self.run_model(hello, code=4, TENON_ISOLATE="hello*=none", **none)
        self.assertIn("tenon-isolated.so next to it, is not at /bin/true", done.stdout + done.stderr)
        self.run_model(hello, "--isolate", "none")
        self.run_model(hello, TENON_ISOLATE="other=strict, Add")
        plugin = self.folder / "a[1]*.so"  # A file's name is no pattern.
        shutil.copy(hello, plugin)
        self.run_model(plugin, "--isolate", "none", code=4, **none)
        self.run_model(plugin, "--isolate", "none")
        done = self.run_model(hello, "--isolate", "tight", code=2)
        self.assertIn("--isolate", done.stderr)
        done = self.run_model(self.folder / "none.so", "--isolate", "none", code=3)
        self.assertIn("none.so", done.stderr)
        done = self.run_model(hello, code=4, TENON_ISOLATE="hello*=tight")
        self.assertIn("expected none, open, driver or strict", done.stdout + done.stderr)

    def test_kernels_cross(self):
        out = self.folder / "kernels-isolated.so"
        done = self.run_program(tenon_isolate, kernels, "-o", out, "--json")
        self.assertEqual(json.loads(done.stdout)["without_kernels"], [])
        self.assertEqual(done.stderr, "")

    def test_refusals_have_the_exit_codes_of_all_programs(self):
        out = self.folder / "out.so"
        out.write_text("there")
        self.assertIn("--force", self.run_program(tenon_isolate, hello, "-o", out, code=2).stderr)
        self.run_program(tenon_isolate, hello, "-o", out, "--force")
        self.run_program(tenon_isolate, out, "-o", self.folder / "twice.so", code=3)
        self.run_program(tenon_isolate, self.folder / "none.so", code=2)
        self.run_program(tenon_isolate, hello, "-o", self.folder / "x.so", "--worker", "/none", code=2)
        self.run_program(tenon_isolate, code=2)
        self.assertIn("Exit codes:", self.run_program(tenon_isolate, "--help").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
