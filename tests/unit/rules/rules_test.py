#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what reads the rules and the tests of the kit (rulebook.py), what checks them (check.py), and what lists the
plugins that break them (zoo_list.py).

usage: rules_test.py ROOT
"""

import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
CHECK = ROOT / "tests/conformance/rules/check.py"
RULEBOOK = ROOT / "tests/conformance/kit/verdict/rulebook.py"
ZOO_LIST = ROOT / "tests/conformance/zoo/zoo_list.py"
TEMPLATE = ROOT / "tests/conformance/kit/verdict/tables.cpp.in"
sys.dont_write_bytecode = True
sys.path[:0] = [str(CHECK.parent), str(RULEBOOK.parent)]

import check  # noqa: E402  pylint: disable=wrong-import-position
import rulebook  # noqa: E402  pylint: disable=wrong-import-position


def ids(text):
    """`text` with "TN-" for each "@": ids of rules that do not exist, which must not be in a source."""
    return text.replace("@", "TN-")


class Headers(unittest.TestCase):
    def read(self, text):
        return rulebook.HeaderReader("tenon/abi/x.h", ids(text)).read()

    def rules(self, text):
        """Of a text without problems."""
        read = self.read(text)
        self.assertEqual(read.problems, [])
        return read.rules

    def declaration_of(self, code):
        [rule] = self.rules(f"///   @TST-1  A plugin MUST.\n{code}")
        return rule.declaration

    def test_a_rule_is_its_id_its_sentences_its_line_and_its_declaration(self):
        [rule] = self.rules("\n/// Counts.\n///\n///   @TST-12  A plugin MUST count. What it counts is\n"
                            "///            of no concern.\n///\n/// threads:   any\n"
                            "typedef struct tenon_count {\n  int n;\n} tenon_count;\n")
        self.assertEqual(rule, rulebook.Rule(ids("@TST-12"), "A plugin MUST count. What it counts is of no concern.",
                                             "tenon/abi/x.h", 4, "tenon_count"))

    def test_a_rule_that_begins_with_must_gets_the_name_of_its_declaration(self):
        rules = self.rules("typedef struct tenon_api {\n  ///   @TST-1  MUST NOT fail.\n  ///   @TST-2  MUST\n"
                           "  ///           return.\n  ///   @TST-3  On failure it MUST return too.\n"
                           "  void (*run)(tenon_api* api,\n              int count);\n} tenon_api;\n"
                           "///   @TST-4  MUST be even.\ntypedef uint32_t tenon_number;\n")
        self.assertEqual([rule.text for rule in rules], [
            "`run` MUST NOT fail.", "`run` MUST return.", "On failure it MUST return too.", "`tenon_number` MUST be even."])
        self.assertEqual([rule.declaration for rule in rules], 3 * ["tenon_api.run"] + ["tenon_number"])

    def test_a_rule_belongs_to_the_declaration_below_its_comment(self):
        for code, name in {
            "typedef struct tenon_a tenon_a;": "tenon_a",
            "typedef struct tenon_a {  // Text; more {": "tenon_a",
            "typedef void (*tenon_sink)(void* context);": "tenon_sink",
            "tenon_status(TENON_CALL* run)(int n);": "run",
            "const struct tenon_very_long_name*\n    (*find)(int);": "find",
            "uint8_t magic[8];": "magic",
            "#define TENON_ABI_MAJOR 1": "TENON_ABI_MAJOR",
            "const int x = 3;": "x",
        }.items():
            with self.subTest(code):
                self.assertEqual(self.declaration_of(code), name)

    def test_a_struct_ends_at_its_closing_name(self):
        rules = self.rules("typedef struct tenon_a {\n  union {\n    int i;\n  } as;\n  ///   @TST-1  A host MUST set it.\n"
                           "  int n;\n} tenon_a;\n///   @TST-2  The host MUST be there.\nint alone;\n")
        self.assertEqual([rule.declaration for rule in rules], ["tenon_a.n", "alone"])

    def test_the_beginning_of_a_rule_says_whether_hosts_or_plugins_keep_it(self):
        for sentence, is_of_hosts in {
            "A host MUST free it.": True,
            "The host MUST free it.": True,
            "A host of another major MUST refuse it.": True,
            "A plugin MUST free it, and a host MUST not.": False,
            "The hosts' memory MUST stay.": False,
        }.items():
            self.assertEqual(rulebook.Rule("", sentence, "", 0).is_of_hosts, is_of_hosts, sentence)

    def test_a_rule_ends_with_its_indentation(self):
        rules = self.rules("///   @TST-1  A plugin MUST stop.\n/// Prose.\n///   @TST-2  A plugin MUST\n"
                           "///           go on.\n///   Less than that is prose.\nint n;\n")
        self.assertEqual([rule.text for rule in rules], ["A plugin MUST stop.", "A plugin MUST go on."])

    def test_an_id_in_the_middle_of_prose_does_not_begin_a_rule(self):
        self.assertEqual(self.rules("/// Gives back the stream, and with it\n/// @TST-1. Well.\nint n;\n"), [])

    def test_must_in_backticks_or_in_another_word_makes_no_rule(self):
        self.assertEqual(self.rules("// Sentences with `MUST` have ids.\n/// MUSTARD, NO_MUST.\nint n;\n"), [])

    def test_what_is_wrong_is_found_in_its_line(self):
        for text, problem in {
            # MUST needs an id in every comment.
            "/// It MUST run.\nint n;\n": "1: MUST without a rule id: It MUST run.",
            "int n;\n// It MUST run.\n": "2: MUST without a rule id: // It MUST run.",
            "int n;  ///< MUST be 0.\n": "1: MUST without a rule id: ///< MUST be 0.",
            "///   @TST-1  A plugin MUST run.\n///\n/// It MUST stop.\nint n;\n": "3: MUST without a rule id: It MUST stop.",
            "//   @TST-1  A plugin MUST run.\nint n;\n": "1: MUST without a rule id: //   @TST-1  A plugin MUST run.",
            # A rule has a MUST, a full stop and a declaration.
            "///   @TST-1  A plugin may run.\nint n;\n": "1: @TST-1 has no MUST: A plugin may run.",
            "///   @TST-1  A plugin MUST run\nint n;\n": "1: @TST-1 does not end with a full stop",
            "///   @TST-1  A plugin MUST run.\n\nint n;\n": "1: @TST-1 has no declaration below it",
            "///   @TST-1  A plugin MUST run.\nenum { A };\n": "1: @TST-1 has no declaration below it",
            "///   @TST-1  A plugin MUST run.": "1: @TST-1 has no declaration below it",
        }.items():
            with self.subTest(text):
                self.assertEqual([str(found) for found in self.read(text).problems], [f"tenon/abi/x.h:{ids(problem)}"])
        self.assertEqual(len(self.read("///   @TST-1\nint n;\n").problems), 2)

    def test_an_id_has_three_letters_and_a_number_that_does_not_begin_with_0(self):
        for name in ("@ABCD-1", "@AB-1", "@abc-1", "@ABC-", "@ABC-01", "@ABC-1a", "@ABC1", "@", "@A"):
            [problem] = self.read(f"///   {name}  A plugin MUST run.\nint n;\n").problems
            self.assertEqual(problem.text, ids(f"{name} is not of the form @AREA-N"))

    def test_rules_are_sorted_by_header_and_line(self):
        rules, problems = rulebook.read_headers({
            "tenon/abi/b.h": ids("///   @TST-1  A plugin MUST run.\nint n;\n"),
            "tenon/abi/a.h": ids("///   @TST-3  A plugin MUST run.\nint n;\n///   @TST-2  A plugin MUST run.\nint m;\n")})
        self.assertEqual(problems, [])
        self.assertEqual([rule.id for rule in rules], [ids("@TST-3"), ids("@TST-2"), ids("@TST-1")])

    def test_an_id_that_is_used_again_is_refused(self):
        text = ids("///   @TST-1  A plugin MUST run.\nint n;\n")
        self.assertEqual(rulebook.read_headers({"tenon/abi/a.h": text, "tenon/abi/b.h": text})[1],
                         [rulebook.Problem("tenon/abi/b.h", 1, ids("@TST-1 is defined in tenon/abi/a.h:1 already"))])
        self.assertEqual(len(rulebook.read_headers({"tenon/abi/a.h": text + text})[1]), 1)

    def test_one_header_may_have_no_rules_but_not_all_headers(self):
        self.assertEqual(self.rules("/// A number.\nint n;\n"), [])
        self.assertEqual(self.rules(""), [])
        self.assertEqual(rulebook.read_headers({"tenon/abi/a.h": "int n;\n"})[1],
                         [rulebook.Problem("include/tenon/abi", 0, "found no rule")])


class Suites(unittest.TestCase):
    def read(self, text):
        """The tests of a text without problems."""
        tests, problems = rulebook.read_suite("s.cpp", ids(text))
        self.assertEqual(problems, [])
        return tests

    def test_a_conformance_test_is_its_name_its_tags_and_its_line(self):
        [test] = self.read('\nTENON_CONFORMANCE_TEST("arguments/inputs", "inputs are \\"as they were\\"", '
                           '"[arguments][level-3][backend][@TST-1][@TST-22]") {\n}\n')
        self.assertEqual(test, rulebook.ConformanceTest(
            "arguments/inputs", 'inputs are "as they were"',
            ["arguments", "level-3", "backend", ids("@TST-1"), ids("@TST-22")], "s.cpp", 2))
        self.assertEqual(test.rules, [ids("@TST-1"), ids("@TST-22")])
        self.assertEqual((test.level, test.scope), (3, "backend"))

    def test_a_test_is_of_level_1_and_of_the_plugin_where_its_tags_do_not_say_it(self):
        for tags, expected in {"[a]": (1, "plugin"), "[a][case][level-10]": (10, "of_case"), "[a][plugin]": (1, "plugin")}.items():
            [test] = self.read(f'TENON_CONFORMANCE_TEST("a/a", "a", "{tags}") {{}}')
            self.assertEqual((test.level, test.scope), expected)

    def test_adjacent_texts_are_joined(self):
        [test] = self.read('TENON_CONFORMANCE_TEST("a/"\n"id", "one "\n  "name",  // Why.\n  "[a]" /* ] */ "[@TST-1]") {}\n')
        self.assertEqual((test.id, test.name, test.tags), ("a/id", "one name", ["a", ids("@TST-1")]))

    def test_tests_in_comments_and_texts_do_not_count(self):
        [test] = self.read(r'''
// TENON_CONFORMANCE_TEST("a/a", "a", "[a]")
/* TENON_CONFORMANCE_TEST("b/b", "b", "[b]")
   TENON_CONFORMANCE_TEST("c/c", "c", "[c]") */
const char* text = "TENON_CONFORMANCE_TEST(\"d/d\", \"d\", \"[d]\")" u8R"x(TENON_CONFORMANCE_TEST("e/e", "e", "[e]"))x";
const int quote = '"', many = 1'000'000, word = L'\'';
const char* same = "TENON_CONFORMANCE_TEST";
TENON_CONFORMANCE_TEST("f/real", "real", "[f]") {}
''')
        self.assertEqual((test.name, test.line), ("real", 8))

    def test_a_conformance_test_that_cannot_be_read_is_refused(self):
        for text in (
            'TENON_CONFORMANCE_TEST(id, "n", "[a]")', 'TENON_CONFORMANCE_TEST("a/i", name, "[a]")',
            'TENON_CONFORMANCE_TEST("a/i")', 'TENON_CONFORMANCE_TEST("a/i", "n")',
            'TENON_CONFORMANCE_TEST("a/i", "n", "a")', 'TENON_CONFORMANCE_TEST("a/i", "n", "[a] [b]")',
            'TENON_CONFORMANCE_TEST("a/i", "n", "[a")', 'TENON_CONFORMANCE_TEST("a/i", "", "[a]")',
            'TENON_CONFORMANCE_TEST("", "n", "[a]")', 'TENON_CONFORMANCE_TEST("n", "[a]")',
            'TENON_CONFORMANCE_TEST("a/i", "n", "[a]" TAGS)', "TENON_CONFORMANCE_TEST",
            'TENON_CONFORMANCE_TEST("a/i', 'TENON_CONFORMANCE_TEST("a/i\\', 'TENON_CONFORMANCE_TEST(R"(n',
        ):
            with self.subTest(text):
                tests, [problem] = rulebook.read_suite("s.cpp", f"\n{text}")
                self.assertEqual((tests, problem.file, problem.line), ([], "s.cpp", 2))

    def test_a_level_that_no_run_has_is_refused(self):
        for level in ("level-0", "level-11", "level-x", "level-", "level-1_0", "level-01", "level-\u0663"):
            tests, problems = rulebook.read_suite("s.cpp", f'TENON_CONFORMANCE_TEST("a/i", "n", "[a][{level}]") {{}}')
            self.assertEqual((tests, [str(problem) for problem in problems]),
                             ([], [f"s.cpp:1: expected a tag from [level-1] to [level-10], found [{level}]"]))

    def test_the_last_of_two_levels_or_scopes_counts_as_in_the_kit(self):
        [test] = self.read('TENON_CONFORMANCE_TEST("a/a", "a", "[a][level-3][case][level-10][backend]") {}')
        self.assertEqual((test.level, test.scope), (10, "backend"))

    def test_tags_of_rules_are_found_anywhere_in_a_file(self):
        self.assertEqual(rulebook.rule_tags(ids('TEST_CASE("a", "[x][@TST-1][@TST-2]") # [@TST-1]')),
                         {ids("@TST-1"), ids("@TST-2")})
        self.assertEqual(rulebook.rule_tags(ids("@TST-1 [@TST-2 ] [@TST-3\n] [@TST-4")), set())


class Checks(unittest.TestCase):
    """TST-1 for plugins, with a test of the kit; TST-2 for hosts, with a unit test."""

    def setUp(self):
        self.survey = check.Survey(
            rules=[rulebook.Rule(ids("@TST-1"), "A plugin MUST run.", "tenon/abi/a.h", 3, "a"),
                   rulebook.Rule(ids("@TST-2"), "A host MUST run.", "tenon/abi/a.h", 4, "a")],
            tests=[rulebook.ConformanceTest("a/runs", "it runs", ["a", ids("@TST-1")], "s.cpp", 7)],
            files={ids("@TST-2"): {"tests/unit/a_test.cpp"}},
            released=[("a/runs", 3)])

    def with_exception(self, **changes):
        """TST-1 cannot be observed, and has a unit test instead."""
        exception = dataclasses.replace(check.NotObservable(ids("@TST-1"), "It is internal.", 5), **changes)
        return dataclasses.replace(self.survey, tests=[], not_observable=[exception],
                                   files={**self.survey.files, ids("@TST-1"): {"tests/unit/a_test.cpp"}})

    def only(self, problems, expected):
        self.assertEqual([str(problem) for problem in problems], [ids(expected)])

    def add_test(self, name, text, *tags):
        self.survey.tests.append(rulebook.ConformanceTest(name, text, [ids(tag) for tag in tags], "t.cpp", 8))

    def test_there_is_no_problem_if_each_rule_has_a_test_and_each_test_a_rule(self):
        for survey in (self.survey, self.with_exception()):
            self.assertEqual(check.wrong_tests(survey) + check.wrong_exceptions(survey) + check.untested(survey), [])
        self.assertEqual(check.lost_ids(self.survey), [])

    def test_a_rule_for_plugins_without_a_conformance_test_is_found(self):
        self.survey.tests.clear()
        self.survey.files[ids("@TST-1")] = {"tests/unit/a_test.cpp"}  # Not a conformance test.
        self.only(check.untested(self.survey), "include/tenon/abi/a.h:3: @TST-1 has no conformance test")

    def test_a_rule_for_hosts_without_a_test_is_found(self):
        self.survey.files.clear()
        self.only(check.untested(self.survey), "include/tenon/abi/a.h:4: @TST-2 is in no test's tags")

    def test_a_conformance_test_without_a_rule_or_with_a_wrong_one_is_found(self):
        for tags, problem in {
            ("a", "level-1"): '"it jumps" names no rule in its tags',
            ("a", "@TST-3"): "@TST-3 is not a rule of the boundary",
            ("a", "@TST-2"): "@TST-2 is a rule for hosts; no plugin can break it",
        }.items():
            self.add_test("a/jumps", "it jumps", *tags)
            self.only(check.wrong_tests(self.survey), f"t.cpp:8: {problem}")
            self.survey.tests.pop()

    def test_two_conformance_tests_with_one_id_or_one_name_are_found(self):
        for name, text, problem in (("a/runs-too", "it runs", '"it runs" is the name'), ("a/runs", "it too", '"a/runs" is the id')):
            self.add_test(name, text, "a", "@TST-1")
            self.only(check.wrong_tests(self.survey), f"t.cpp:8: {problem} of a test in s.cpp:7 already")
            self.survey.tests.pop()

    def test_a_conformance_test_with_the_id_of_another_suite_is_found(self):
        self.survey.tests[0].id = "arguments/runs"
        self.only(check.wrong_tests(self.survey), 's.cpp:7: "arguments/runs" does not begin with its suite [a]')

    def test_an_exception_that_is_wrong_or_has_no_unit_test_is_found(self):
        place = f"{check.NOT_OBSERVABLE}:5: "
        for changes, problem in (
            ({"rule": ids("@TST-3")}, "@TST-3 is not a rule of the boundary"),
            ({"rule": ids("@TST-2")}, "@TST-2 is a rule for hosts, which the kit never judges"),
            ({"reason": ""}, "@TST-1 has no reason that ends with a full stop"),
        ):
            self.only(check.wrong_exceptions(self.with_exception(**changes)), place + problem)
        survey = self.with_exception()
        del survey.files[ids("@TST-1")]
        self.only(check.wrong_exceptions(survey), f"{place}@TST-1 is in no unit test's tags either")
        survey = dataclasses.replace(self.with_exception(), tests=self.survey.tests)
        self.only(check.wrong_exceptions(survey), f"{place}@TST-1 has a conformance test")

    def test_an_exception_is_an_id_and_its_reason_on_a_line(self):
        self.assertEqual(check.read_not_observable(ids("# Why.\n\n@TST-1  It is internal.\n@TST-2\n")),
                         [check.NotObservable(ids("@TST-1"), "It is internal.", 3), check.NotObservable(ids("@TST-2"), "", 4)])

    def test_a_released_id_that_no_test_has_is_found_and_a_new_one_is_not(self):
        self.add_test("a/jumps", "it jumps", "a", "@TST-1")
        self.assertEqual(check.lost_ids(self.survey), [])
        self.survey.tests[0].id = "a/walks"
        self.only(check.lost_ids(self.survey),
                  'tests/conformance/test_ids.txt:3: no test has the id "a/runs" any more: it was released')


def run_program(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


class Programs(unittest.TestCase):
    """A repository of one header with one rule for hosts, and its test."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon rules-")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.write("include/tenon/abi/a.h", "///   @TST-1  A host MUST run.\nint n;\n")
        self.write("tests/a_test.cpp", 'TEST_CASE("it runs", "[@TST-1]") {}\n')
        self.write("tests/conformance/kit/suites/extensions/none.cpp", "")
        self.write("tests/conformance/test_ids.txt", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ids(text), encoding="utf-8")

    def add_test(self):
        self.write("include/tenon/abi/c.h", '///   @TST-2  A plugin MUST say "yes" or \\.\nint m;\n')
        self.write("tests/conformance/kit/suites/s.cpp", 'TENON_CONFORMANCE_TEST("x/a", "a", "[x][@TST-2]") {}\n')

    def check(self, *words, expect=0):
        done = run_program(CHECK, self.root, *words)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def make_tables(self, expect=0):
        done = run_program(RULEBOOK, TEMPLATE, self.root / "include/tenon/abi", self.root / rulebook.SUITES,
                                self.root / "tables.cpp", self.root / "tables.d")
        self.assertEqual(done.returncode, expect, done.stderr)
        return (self.root / "tables.cpp").read_text(encoding="utf-8") if expect == 0 else done.stderr

    def test_the_check_finds_problems_in_all_files_of_the_repository(self):
        self.assertIn("1 rules, 0 conformance tests, 0 problems\n", self.check())
        self.write("include/tenon/abi/b.h", "/// It MUST run.\nint n;\n")
        self.write("include/tenon/abi/c.h", "///   @TST-2  A plugin MUST run.\nint n;\n")
        self.write("tests/conformance/kit/suites/s.cpp",
                   'TENON_CONFORMANCE_TEST("x/a", "a", "[x]") {}\nTENON_CONFORMANCE_TEST(b) {}\n')
        self.write("tests/conformance/rules/not_observable.txt", "@TST-9  It is internal.\n")
        self.write("tests/conformance/test_ids.txt", "# Why\nx/b\n")
        self.write("tests/a_test.cpp", "")
        out = self.check(expect=1)
        for text in (
            "include/tenon/abi/b.h:1: MUST without a rule id: It MUST run.\n",
            'tests/conformance/kit/suites/s.cpp:1: "a" names no rule in its tags\n',
            "tests/conformance/kit/suites/s.cpp:2: expected TENON_CONFORMANCE_TEST(",
            'tests/conformance/test_ids.txt:2: no test has the id "x/b" any more',
            "tests/conformance/rules/not_observable.txt:1: @TST-9 is not a rule of the boundary\n",
            "include/tenon/abi/a.h:1: @TST-1 is in no test's tags\n",
            "include/tenon/abi/c.h:1: @TST-2 has no conformance test\n",
        ):
            self.assertIn(f"not ok: {ids(text)}", out)

    def test_a_file_that_is_not_utf_8_is_named_with_its_line(self):
        header = self.root / "include/tenon/abi/b.h"
        header.write_bytes(b"// First\n/// Gr\xf6\xdfe\nint n;\n")
        expected = f"{header}:2: byte 0xf6 is not UTF-8\n"
        self.assertEqual(self.make_tables(expect=1), expected)
        self.assertEqual(run_program(CHECK, self.root).stderr, expected)

    def test_a_list_of_released_ids_that_is_missing_is_found(self):
        (self.root / "tests/conformance/test_ids.txt").unlink()
        self.assertIn("not ok: tests/conformance/test_ids.txt:0: is missing", self.check(expect=1))

    def test_a_release_adds_the_ids_of_new_tests_unless_there_is_a_problem(self):
        released = self.root / "tests/conformance/test_ids.txt"
        self.add_test()
        self.check("release")
        self.assertTrue(released.read_text(encoding="utf-8").endswith("release.\nx/a\n"))
        self.write("tests/conformance/kit/suites/s.cpp", 'TENON_CONFORMANCE_TEST("x/b", "a", "[x][@TST-2]") {}\n')
        before = released.read_bytes()
        self.assertIn('no test has the id "x/a"', self.check("release", expect=1))
        self.assertEqual(released.read_bytes(), before)

    def test_a_directory_without_headers_or_an_unknown_action_is_refused(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run_program(CHECK, empty)
            self.assertEqual(done.returncode, 1)
            self.assertIn("include/tenon/abi:0: found no rule", done.stdout)
        for words in ([], [self.root, "print"], [self.root, "release", "now"]):
            self.assertEqual(run_program(CHECK, *words).returncode, 2)

    def test_the_tables_have_each_rule_and_each_test(self):
        self.add_test()
        tables = self.make_tables()
        # As the compiler reads them, the texts equal the header's.
        texts = [value for kind, value, _ in rulebook.tokens_of(tables) if kind == "text"]
        self.assertEqual(texts[2:], [
            ids("@TST-1"), "A host MUST run.", "tenon/abi/a.h: n",
            ids("@TST-2"), 'A plugin MUST say "yes" or \\.', "tenon/abi/c.h: m", "x/a", ids("@TST-2")])
        self.assertIn('{"x/a", 1, Scope::plugin, "', tables)

    def test_the_tables_are_written_only_when_they_change(self):
        self.add_test()
        self.make_tables()
        before = (self.root / "tables.cpp").stat().st_mtime_ns
        self.make_tables()
        self.assertEqual((self.root / "tables.cpp").stat().st_mtime_ns, before)
        self.write("tests/conformance/kit/suites/s.cpp", 'TENON_CONFORMANCE_TEST("x/b", "a", "[x][@TST-2]") {}\n')
        self.assertIn('{"x/b"', self.make_tables())

    def test_ninja_watches_all_that_was_read_and_the_folders_for_what_is_new(self):
        self.add_test()
        self.make_tables()
        target, _, watched = (self.root / "tables.d").read_text(encoding="utf-8").replace("\\ ", "@").partition(": ")
        self.assertEqual(target.replace("@", " "), str(self.root / "tables.cpp"))
        folder = str(self.root).replace(" ", "@")
        suites = f"{folder}/{rulebook.SUITES}"
        self.assertEqual(set(watched.split()), {
            f"{folder}/include/tenon/abi", f"{folder}/include/tenon/abi/a.h", f"{folder}/include/tenon/abi/c.h",
            suites, f"{suites}/s.cpp", f"{suites}/extensions", f"{suites}/extensions/none.cpp"})

    def test_no_table_is_made_of_a_wrong_header_or_suite(self):
        self.write("include/tenon/abi/b.h", "/// It MUST run.\nint n;\n")
        self.write("tests/conformance/kit/suites/s.cpp", "TENON_CONFORMANCE_TEST(b) {}\n")
        out = self.make_tables(expect=1)
        self.assertIn("include/tenon/abi/b.h:1: MUST without a rule id", out)
        self.assertIn("tests/conformance/kit/suites/s.cpp:1: expected TENON_CONFORMANCE_TEST(", out)
        self.assertFalse((self.root / "tables.cpp").exists())

    def test_no_table_is_made_of_no_test(self):
        self.assertEqual(self.make_tables(expect=1), "tests/conformance/kit/suites:0: found no test\n")
        self.assertFalse((self.root / "tables.cpp").exists())


class Zoo(unittest.TestCase):
    """A zoo of a good plugin, a plugin that breaks a rule, and plugins that not all systems can have."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tenon zoo-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "rust").mkdir()
        (self.folder / "rust/good_rust.rs").touch()
        self.write("good", "//\n// Breaks nothing.\n#include \"good.h\"\n// Breaks nothing.")
        self.write("some", "// Some.", a="// Breaks @TST-1 at level 4: it does.\n// And more.\n// Only on Linux.",
                   b="// Breaks @TST-2: it does.\n// Only in ELF.")

    def write(self, name, text, **sections):
        text += "".join(f"\n\n#ifdef ZOO_{each}\n{more}\n#endif" for each, more in sections.items())
        (self.folder / f"{name}.c").write_text(ids(f"// Licence\n{text}\n"), encoding="utf-8")

    def list(self, *words, system="linux", expect=0):
        done = run_program(ZOO_LIST, self.folder, system, *words)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout if expect == 0 else done.stderr

    def write_list(self, *names, **more):
        (self.folder / "built.txt").write_text("\n".join(names), encoding="utf-8")
        return self.list(*(self.folder / each for each in ("built.txt", "zoo.txt", "zoo.d")), **more)

    def test_each_system_has_the_plugins_that_are_possible_there(self):
        a, b, good = "a:some.c", "b:some.c", "good:good.c"
        for system, names in {"linux": f"{a} {b} {good}", "freebsd": f"{b} {good}", "darwin": good}.items():
            self.assertEqual(self.list(system=system).split(), names.split())

    def test_a_plugin_that_does_not_say_what_it_breaks_is_refused(self):
        for text in ("", "// It breaks @TST-1.", "// Breaks TST-1: it does.", "// Breaks @TST-1 at level four: it does.",
                     "int n;\n// Breaks nothing.", "// Breaks nothing.\n// Breaks @TST-1: it does."):
            self.write("more", "", c=text)
            self.assertIn("more.c: c: expected one line", self.list(expect=1), text)
        self.write("more", "", c="// Breaks nothing.\n// Only at night.")
        self.assertIn('more.c: c: found "// Only at night."', self.list(expect=1))

    def test_a_name_that_two_sources_have_is_refused(self):
        self.write("more", "", a="// Breaks nothing.")
        self.assertIn("some.c: a is in more.c too", self.list(expect=1))

    def test_the_tests_read_what_each_plugin_breaks(self):
        self.write_list("good_rust", "good", "a", "b")
        self.assertEqual((self.folder / "zoo.txt").read_text(encoding="utf-8"),
                         ids("a @TST-1 at level 4\nb @TST-2\ngood -\ngood_rust -\n"))
        watched = (self.folder / "zoo.d").read_text(encoding="utf-8").replace("\\ ", "@").partition(".txt: ")[2].split()
        folder = str(self.folder).replace(" ", "@")
        self.assertEqual(watched, [folder, f"{folder}/good.c", f"{folder}/some.c"])

    def test_a_build_that_lacks_a_plugin_or_has_one_that_is_gone_is_refused(self):
        out = self.write_list("a", "c", "good", expect=1)
        self.assertIn("b is new, c is gone: run `meson setup --reconfigure`", out)
        self.assertFalse((self.folder / "zoo.txt").exists())

    def test_a_missing_argument_is_refused(self):
        self.list(self.folder / "zoo.txt", expect=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
