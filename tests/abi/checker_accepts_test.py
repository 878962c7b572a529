# SPDX-License-Identifier: MIT
"""What the checker of the boundary accepts, when a frozen text is written, and what it cannot read; on copies of a small
boundary."""

import sys
import unittest

import boundary
from checker import frozen, headers
from checker.copies import COMMIT, DATE, HOST, RULE, SAMPLE, Copy


class Accepted(Copy):
    """Each change that breaks nothing, after the freeze."""

    def setUp(self):
        super().setUp()
        self.declare()

    def tearDown(self):
        self.check()

    def test_a_comment(self):
        self.edit(SAMPLE, ("// A comment.", "// Another comment."), ("///< Of the point.", "///< What it is called."),
                  ("/// What can grow.", "/// What may grow, /* and */ \"is\" larger."), ("  /// Copies.\n", ""))

    def test_spaces_and_lines(self):
        self.edit(SAMPLE, ("(tenon_thing* thing, uint64_t nbytes, uint64_t alignment)",
                           "(tenon_thing *thing,\n            uint64_t nbytes,\n uint64_t  alignment)"),
                  ("that is not empty.", "that is\n///             not empty."))

    def test_a_draft_that_changes(self):
        self.edit("tenon/abi/draft/draft.h", ("uint32_t reserved;", "uint32_t kind;\n  void* inserted;\n  void* second;"),
                  ("tenon.draft_of_tests/1", "tenon.draft_of_tests/2"))

    def test_a_draft_that_is_removed(self):
        (self.include / "tenon/abi/draft/draft.h").unlink()

    def test_a_draft_that_is_new(self):
        (self.include / "tenon/abi/draft/new.h").write_text("typedef struct tenon_new {\n  uint64_t a;\n} tenon_new;\n")

    def test_a_private_header_that_changes(self):
        self.edit("tenon/abi/private/private.h", ("uint32_t counted;", "uint8_t counted;"))

    def test_a_draft_that_becomes_stable_with_a_new_minor(self):
        self.next_minor()
        (self.include / "tenon/abi/draft/draft.h").rename(self.include / "tenon/abi/drafted.h")

    def test_a_member_with_a_new_minor(self):
        self.next_minor()
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  uint32_t more;\n  uint32_t reserved;"))

    def test_a_struct_that_holds_another_one_by_value_and_grows(self):
        self.next_minor()
        self.edit(SAMPLE, ("tenon_inner inner;", "tenon_inner inner;\n  uint64_t more;"))

    def test_a_function_of_a_table_with_a_new_minor(self):
        self.next_minor()
        self.edit(SAMPLE, ("} tenon_table;", "void(TENON_CALL* more)(void);\n  void(TENON_CALL* most)(void);\n} tenon_table;"))

    def test_constants_and_structs_with_a_new_minor(self):
        self.next_minor()
        self.edit(SAMPLE, ("TENON_BLUE = 1u << 4", "TENON_BLUE = 1u << 4, TENON_WHITE"),
                  ("typedef struct tenon_inner {", "typedef struct tenon_new {\n  uint32_t struct_size;\n  uint32_t reserved;\n}"
                   " tenon_new;\ntypedef struct tenon_inner {"))

    def test_an_opaque_type_that_is_declared(self):
        self.next_minor()
        self.edit(SAMPLE, ("typedef struct tenon_thing tenon_thing;", "typedef struct tenon_thing tenon_thing;\n"
                           "typedef struct tenon_other tenon_other;"))

    def test_a_rule_that_is_new(self):
        self.edit(SAMPLE, ("MUST NOT have a count.\n", f"MUST NOT have a count.\n///   {RULE}3  A point MUST be one.\n"))

    def test_a_comment_that_begins_with_the_number_of_a_rule(self):
        self.edit(SAMPLE, ("/// What can grow.", f"/// {RULE}2 holds here, too.\n/// What can grow."))

    def test_a_rule_in_another_header(self):
        line = f"///   {RULE}2  A point MUST NOT have a count.\n"
        self.edit(SAMPLE, (line, ""))
        self.edit("tenon/abi/version.h", ("#define TENON_ABI_MAJOR", line + "#define TENON_ABI_MAJOR"))

    def test_code_that_each_side_compiles_into_itself(self):
        self.edit(SAMPLE, ("((object)->member != 0)", "(!!(object)->member)"))
        self.edit(HOST, ('__attribute__((visibility("default")))', "__declspec(dllimport)"))

    def test_a_release(self):
        self.edit("tenon/abi/version.h", ('"0.1.0"', '"0.2.0"'))


class Files(Copy):
    """When a frozen text is written."""

    def test_a_frozen_text_may_be_written_until_the_freeze_is_declared(self):
        self.freeze()
        self.edit(SAMPLE, ("const char* name;", "const char* title;"))
        self.check("tenon_point.name: the member was renamed: expected `const char* name`, found `const char* title`",
                   boundary.HINT.format("abi-1.0.json"))
        self.freeze()
        self.check()

    def test_until_then_it_is_the_text_of_the_headers(self):
        self.freeze()
        self.edit(SAMPLE, ("MUST NOT have a count.\n", f"MUST NOT have a count.\n///   {RULE}3  A point MUST be one.\n"))
        self.check("abi-1.0.json: expected the text of the headers, found another one",
                   boundary.HINT.format("abi-1.0.json"))

    def test_after_that_it_is_never_written(self):
        self.declare()
        self.freeze()  # Nothing is to be written.
        self.edit(SAMPLE, ("const char* name;", "const char* title;"))
        before = self.files[0].read_text()
        with self.assertRaises(SystemExit) as caught:
            self.freeze()
        self.assertEqual(str(caught.exception), f"abi-1.0.json: frozen on {DATE} {COMMIT}: it is never written again; raise "
                         "TENON_ABI_MINOR")
        self.assertEqual(self.files[0].read_text(), before)

    def test_what_is_declared(self):
        self.freeze()
        for words, expected in (((self.files[0], "soon", COMMIT), f"expected YYYY-MM-DD and a commit of 40 digits, found soon "
                                                                  f"{COMMIT}"),
                                ((self.files[0], DATE, "main"), "expected YYYY-MM-DD and a commit of 40 digits, found "
                                                                f"{DATE} main")):
            with self.assertRaises(SystemExit) as caught:
                boundary.declare(*words, self.include)
            self.assertEqual(str(caught.exception), expected)
        self.edit(SAMPLE, ("const char* name;", "const char* title;"))
        with self.assertRaises(SystemExit) as caught:
            boundary.declare(self.files[0], DATE, COMMIT, self.include)
        self.assertIn("not ready for a freeze:\ntenon_point.name: the member was renamed", str(caught.exception))
        self.declare()
        with self.assertRaises(SystemExit) as caught:
            boundary.declare(self.files[0], DATE, COMMIT, self.include)
        self.assertEqual(str(caught.exception), f"abi-1.0.json: frozen on {DATE} {COMMIT} already")

    def test_status(self):
        self.freeze()
        self.assertEqual(boundary.status(self.include, self.files), [
            "ABI 1.0: not frozen yet",
            "  7 structs, 3 constants, 5 macros, 4 types, 0 functions, 1 extensions, 2 rules",
            "C interface 1.0: not frozen yet",
            "  0 structs, 0 constants, 2 macros, 0 types, 2 functions, 0 extensions, 0 rules",
            "drafts: tenon.draft_of_tests/1"])
        self.declare()
        self.assertEqual(boundary.status(self.include, self.files[:1])[0], f"ABI 1.0: frozen on {DATE} {COMMIT}")

    def test_an_interface_without_a_frozen_text(self):
        self.freeze()
        self.assertEqual(boundary.check(self.include, self.files[:1]), ["c: expected a frozen text, found none"])

    def test_a_frozen_text_that_is_damaged(self):
        self.freeze()
        path = self.files[0]
        path.write_text(path.read_text().replace('"frozen": null', '"frozen": "yes"'))
        with self.assertRaisesRegex(headers.Unreadable, "\"frozen\": expected null or \"DATE COMMIT\", found 'yes'"):
            self.found()
        path.rename(path.with_name("abi-1.7.json"))
        with self.assertRaisesRegex(headers.Unreadable, "abi-1.7.json: expected the name abi-1.0.json"):
            frozen.load(path.with_name("abi-1.7.json"))

    def test_declarations_that_the_checker_does_not_know_are_refused(self):
        for text, expected in (
                ("inline int one(void) { return 1; }", "tenon/abi/new.h: expected a struct, an enumeration, a typedef or a "
                                                       "function, found `inline int one(void) { return 1; }`"),
                ("enum tenon_colour { A };", "tenon/abi/new.h: expected an enumeration without a name, found `enum "
                                             "tenon_colour { A }`"),
                ("enum { A = sizeof(int) };", "tenon/abi/new.h: expected a number, found `sizeof(int)`"),
                ("typedef struct tenon_a { unsigned int a; } tenon_a;", "tenon/abi/new.h: expected `type name`, a pointer, an "
                                                                        "array or a union, found `unsigned int a`"),
                ("typedef struct tenon_a { uint32_t a; } tenon_b;", "tenon/abi/new.h: expected `typedef struct tenon_a {...} "
                                                                    "tenon_a`, found `typedef struct tenon_a { uint32_t a; } "
                                                                    "tenon_b`"),
                ("#ifdef __linux__\ntypedef uint32_t tenon_a;\n#endif", "tenon/abi/new.h: declared only under "
                                                                        "defined(__linux__): `typedef uint32_t tenon_a;`"),
                ("typedef uint32_t tenon_a;\ntypedef uint64_t tenon_a;", "tenon/abi/new.h: tenon_a is declared twice: "
                                                                         "`uint32_t` and `uint64_t`"),
                ("#pragma pack(1)", "tenon/abi/new.h: #pragma")):
            with self.subTest(text):
                (self.include / "tenon/abi/new.h").write_text(text + "\n")
                with self.assertRaises(headers.Unreadable) as caught:
                    frozen.read_all(self.include)
                self.assertEqual(str(caught.exception), expected)

    def test_a_type_whose_size_differs_between_platforms_is_refused(self):
        (self.include / "tenon/abi/new.h").write_text("typedef struct tenon_a {\n  long a;\n} tenon_a;\n")
        with self.assertRaisesRegex(headers.Unreadable, "`long a`: expected a type whose size is the same everywhere, found "
                                                        "`long`"):
            boundary.check(self.include, self.files)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
