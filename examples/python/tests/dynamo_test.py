# SPDX-License-Identifier: MIT
"""Backends of torch.compile, as far as torch is not needed: dynamo_test.py BUILD SOURCE.

tests/live/checks/torch_compile.py compiles models.
"""

import configparser
import pathlib
import sys
import unittest

import tenon.dynamo
from tenon._error import Error
from tenon.dynamo import _options

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
GROUP = "project.entry-points.torch_dynamo_backends"


def entry_points(path):
    """The names and objects of the group in a pyproject.toml, whose lines a parser of INI files reads."""
    text = path.read_text()
    section = text[text.index(f"[{GROUP}]"):].split("\n\n")[0]
    parser = configparser.ConfigParser()
    parser.optionxform = str
    parser.read_string("\n".join(line.removeprefix("# ") for line in section.splitlines()))
    return {name: value.strip('"') for name, value in parser[GROUP].items()}


class EntryPoints(unittest.TestCase):
    def test_each_backend_of_the_wheel_is_a_function_that_needs_no_torch_to_be_found(self):
        found = entry_points(SOURCE / "examples/python/pyproject.toml")
        self.assertEqual(list(found), ["tenon", "GraphBackend"])
        for name, value in found.items():
            module, _, attribute = value.partition(":")
            self.assertEqual((module, attribute), ("tenon.dynamo", name))
            self.assertTrue(callable(getattr(tenon.dynamo, attribute)))
        self.assertNotIn("torch", sys.modules)

    def test_the_template_has_the_lines_for_a_plugin_that_compiles(self):
        found = entry_points(SOURCE / "templates/python/pyproject.toml")
        self.assertEqual(found, {"MyNpuBackend": "tenon.dynamo:MyNpuBackend"})

    def test_an_id_is_one_function(self):
        self.assertIs(tenon.dynamo.AcmeBackend, tenon.dynamo.AcmeBackend)
        self.assertEqual(tenon.dynamo.AcmeBackend.__name__, "AcmeBackend")
        with self.assertRaises(AttributeError):
            tenon.dynamo._acme


class Options(unittest.TestCase):
    def refusal(self, *arguments, **keywords):
        with self.assertRaises(Error) as caught:
            _options.parse(*arguments, **keywords)
        self.assertEqual(caught.exception.name, "InvalidArgument")
        return caught.exception.text

    def test_defaults(self):
        found = _options.parse(None, backend="AcmeBackend")
        self.assertEqual(found, _options.Options(backend="AcmeBackend"))
        self.assertEqual((found.rest, found.strict, found.freeze, found.store), ("eager", False, False, None))

    def test_all_of_them(self):
        found = _options.parse({"backend": "AcmeBackend", "compile_specs": {"level": 2, "fast": True, "raw": b"\0"},
                                "plugins": ["acme.so"], "delegate": {"threads": 2}, "rest": "inductor", "strict": True,
                                "freeze": True, "store": True, "largest_size": 64, "weights_limit": 1},
                               "max-autotune")
        self.assertEqual(found.compile_specs, (("level", b"2"), ("fast", b"1"), ("raw", b"\0")))
        self.assertTrue(pathlib.Path(found.plugins[0]).is_absolute())
        self.assertEqual(_options.parse({"backend": "A", "plugins": "acme.so"}).plugins, found.plugins)
        self.assertEqual(found.delegate, (("threads", 2),))
        self.assertEqual((found.freeze, found.store, found.largest_size, found.mode), (True, "", 64, "max-autotune"))
        self.assertEqual(_options.parse({"backend": "A", "store": "/tmp/x"}).store, "/tmp/x")
        self.assertIsNone(_options.parse({"backend": "A", "store": False}).store)
        hash(found)

    def test_names_and_values_that_are_unknown(self):
        self.assertIn("expected backend, compile_specs,", self.refusal({"threads": 2}))
        self.assertIn("found 'threads'", self.refusal({"threads": 2}))
        self.assertIn("expected eager or inductor, found 'ts'", self.refusal({"backend": "A", "rest": "ts"}))
        self.assertIn("found 'fast'", self.refusal({"backend": "A"}, "fast"))
        self.assertEqual(_options.parse({"backend": "A", "mode": "explain"}), _options.parse({"backend": "A"}, "explain"))
        self.assertIn("found 0", self.refusal({"backend": "A", "largest_size": 0}))
        self.assertIn("expected 'A' as in torch.compile(backend='A'), found 'B'",
                      self.refusal({"backend": "B"}, backend="A"))

    def test_no_backend(self):
        self.assertIn("expected the id of a backend, as in options={'backend': 'GraphBackend'}", self.refusal(None))

    def test_values_of_a_wrong_type(self):
        for name, value in (("backend", 1), ("strict", 1), ("plugins", b"acme.so"), ("plugins", [1]), ("compile_specs", [1]),
                            ("largest_size", True), ("compile_specs", {"level": object()})):
            with self.assertRaises(TypeError, msg=name):
                _options.parse({"backend": "A", name: value})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
