# SPDX-License-Identifier: MIT
"""Plants words and phrases in sources and pages, and looks whether words_test.py finds each, where it is, and nothing else.

usage: planted_words_test.py
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

import words_test  # noqa: E402  pylint: disable=wrong-import-position

# Path, text, expected (pattern, line). No pattern: nothing is found.
PLANTED = [
    ("include/a.hpp", "int a;\n/// The host has a name. It is that\n/// of the file.\n", "that of, those of (comment)", 3),
    ("include/a.hpp", "/// Writes a list. Reads the same of a file.\n", "the same of (comment)", 1),
    ("include/a.hpp", 'f("the name is that of the host");\n', "that of, those of (string)", 1),
    ("examples/a.cpp", "int a;  ///< Streams of others.\n", "of others (comment)", 1),
    ("tests/unit/a.cpp", "/* A device\n * that is none. */\n", "is none (comment)", 2),
    ("tests/unit/a.cpp", 'TEST_CASE("a device that is none") {}\n', "is none (string of tests)", 1),
    ("tests/conformance/kit/a.cpp", 'fail("a device that is none");\n', "is none (string)", 1),
    ("tests/dev/a.py", '"""What is there."""\n\n\ndef f():\n    """Those that compute."""\n',
     "a sentence that opens with Those, One that (comment)", 5),
    ("tests/dev/a.py", "a = 1  # The operators of one's own.\n", "one's own (comment)", 1),
    ("tests/dev/a.py", 'a = f"{b} of the streams of others"\n', "of others (string of tests)", 1),
    ("tests/meson.build", "# The same for the host.\n", "a comment that opens with The same (comment)", 1),
    ("README.md", "The name is\nthat of the host.\n", "that of, those of (page)", 2),
    ("reference_backends/a.hpp", "int a;\n/// One that throws is kept.\n",
     "a sentence that opens with Those, One that (comment)", 2),
    ("include/a.hpp", "/// A backend. One that throws is kept.\n", "a sentence that opens with Those, One that (comment)", 1),
    ("include/a.hpp", "/// Holds what somebody gave.\n", "nobody, somebody, whoever", 1),
    # Good English.
    ("include/a.hpp", "/// So that of three the first is taken. There is none. The same inputs give the same bytes.\n", None, 0),
    ("include/a.hpp", "/// The one that was added last. Returns none of them.\n", None, 0),
    # Tokens that are neither comments nor their beginning.
    ("include/a.hpp", "auto a = R\"x(// that)x\";\nchar b = '\"';  // A quote.\nauto c = \"// of\";\n", None, 0),
]


class Planted(unittest.TestCase):
    def test_each_is_found_in_its_line(self):
        for path, text, expected, line in PLANTED:
            with self.subTest(path=path, text=text):
                found = {name: hits for name, _, hits in words_test.found({pathlib.Path(path): text}) if hits}
                if expected is None:
                    self.assertEqual(found, {})
                else:
                    self.assertEqual({name: [(str(where), at) for where, at, _ in hits] for name, hits in found.items()},
                                     {expected: [(path, line)]})

    def test_each_pattern_is_planted(self):
        names = {name.split(" (")[0] for name, *_ in words_test.PHRASES + words_test.OPENINGS}
        planted = {expected.rsplit(" (", 1)[0] for _, _, expected, _ in PLANTED if expected}
        self.assertEqual(names - planted, set())

    def test_words_are_not_counted_in_tests(self):
        texts = {pathlib.Path("tests/unit/a.cpp"): "// Nobody reads it.\n"}
        self.assertEqual([name for name, _, hits in words_test.found(texts) if hits], [])


if __name__ == "__main__":
    unittest.main()
