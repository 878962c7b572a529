# SPDX-License-Identifier: MIT
"""What the checker of the boundary refuses and accepts, on copies of a small boundary: each finding, word for word."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import boundary
from checker import compare, frozen, headers, sample
from checker.sample import DRAFT, HOST, PRIVATE, RULE, SAMPLE, VERSION

DATE, COMMIT = "2026-12-24", "0123456789" * 4
PAIR = "typedef struct tenon_pair {\n  int32_t first;\n  int32_t second;\n} tenon_pair;\n"
COPY = "tenon_status(TENON_CALL* copy)(tenon_thing* thing, uint64_t nbytes, uint64_t alignment)"
SECOND_RULE = f"///   {RULE}2  A point MUST NOT have a count.\n"
THIRD_RULE = "MUST NOT have a count.\n", f"MUST NOT have a count.\n///   {RULE}3  A point MUST be one.\n"
NEXT_MINOR = VERSION, "TENON_ABI_MINOR 0", "TENON_ABI_MINOR 1"


def after(text, more):
    """A change that appends to a text."""
    return text, text + more


def becomes(about, old, new, more=""):
    """A change, and its finding."""
    return (old, new), f"{about} `{old}`, found `{new}`{more}"


def a_rule_changed(number, before, now):
    """The finding."""
    return (f"{RULE}{number}: the text of the rule changed: expected the hash {headers.hash_of(before)}, found "
            f"{headers.hash_of(now)} of \"{now}\": a rule with another meaning takes a new number")


RENAMED, IS_RENAMED = becomes("tenon_point.name: the member was renamed: expected", "const char* name", "const char* title")
# Each change after the freeze that breaks a binary. A tuple is (OLD, NEW) in the sample, or (HEADER, OLD, NEW), where OLD
# is in it once; with None for OLD the header is new, for NEW it is removed. A text is a finding.
REFUSED = {
    "a member that is inserted": (
        NEXT_MINOR, ("  const char* name;", "  const char* title;\n  const char* name;"),
        "tenon_point.title: the member was inserted: expected `const char* name`, found `const char* title`"),
    "a member that is renamed": (RENAMED, IS_RENAMED),
    "a member that is resized": becomes(
        "tenon_point.count: the member was resized: expected", "uint64_t count", "void* count",
        " (i386: 8 and 4 bytes, armv7: 8 and 4 bytes)"),
    "an array that is resized by its constant": becomes("TENON_SAMPLE_LIMIT: expected the macro", "1024", "2048"),
    "a member of another type and the same size": becomes(
        "tenon_point.kind: the member was changed: expected", "uint16_t kind", "int16_t kind"),
    "members that are reordered": (
        ("uint16_t kind;\n  uint16_t flags;", "uint16_t flags;\n  uint16_t kind;"),
        "tenon_point.kind: the members were reordered: expected `uint16_t kind`, found `uint16_t flags`"),
    "a member that is removed": (
        ("  uint16_t kind;\n", ""),
        "tenon_point.name: hidden padding before the member: expected 0 bytes, found LP64 2 (bytes by target) "
        "(tenon/abi/sample.h)",
        "tenon_point.kind: the member was removed: expected `uint16_t kind`, found `uint16_t flags`"),
    "the last member that is removed": (
        ("  uint64_t count;\n} tenon_point", "} tenon_point"),
        "tenon_point.count: the member was removed: expected `uint64_t count`, found the end"),
    "a struct that is removed": (
        (PAIR, ""), ("    tenon_pair pair;\n", ""),
        "tenon_outer.as: the member was changed: expected `union { int64_t integer; tenon_pair pair; } as`, found "
        "`union { int64_t integer; } as`",
        "tenon_pair: expected a struct of 2 members, found none"),
    "a struct that becomes a draft": (
        (PAIR, ""), (DRAFT, "typedef struct tenon_drafted", PAIR + "typedef struct tenon_drafted"),
        "tenon_outer.as: expected types of frozen headers, found `tenon_pair` of tenon/abi/draft/draft.h",
        "tenon_pair: expected a struct of 2 members, found none"),
    "an alternative of a union that is resized": (
        ("int64_t integer;", "int64_t integer[2];"),
        "tenon_outer.as: the member was resized: expected `union { int64_t integer; tenon_pair pair; } as`, found "
        "`union { int64_t integer[2]; tenon_pair pair; } as` (LP64: 8 and 16 bytes, LLP64: 8 and 16 bytes, "
        "i386: 8 and 16 bytes, armv7: 8 and 16 bytes)"),
    "a member without a new minor": (
        after("uint64_t count;", "\n  uint64_t more;"),
        "TENON_ABI_MINOR: expected 1 or more, as tenon_point.more was added to ABI 1.0, found 0"),
    "a declaration without a new minor": (
        after("TENON_GREEN,", " TENON_OTHER,"), after("#define TENON_SAMPLE_LIMIT 1024", "\n#define TENON_SAMPLE_MORE 1"),
        "TENON_ABI_MINOR: expected 1 or more, as the constant TENON_OTHER was added to ABI 1.0, found 0",
        "TENON_ABI_MINOR: expected 1 or more, as the macro TENON_SAMPLE_MORE was added to ABI 1.0, found 0"),
    "another major": (
        (VERSION, "TENON_ABI_MAJOR 1", "TENON_ABI_MAJOR 2"),
        "TENON_ABI_MAJOR: expected the macro `1`, found `2`", "TENON_ABI_MAJOR: expected 1, found 2"),
    "a struct without a size that grows": (
        NEXT_MINOR, ("int32_t second;\n} tenon_pair", "int32_t second;\n  int32_t third;\n} tenon_pair"),
        "tenon_outer.as: hidden padding at the end: expected 0 bytes, found LP64 4, LLP64 4, armv7 4 (bytes by target) "
        "(tenon/abi/sample.h)",
        "tenon_pair.third: the struct must not grow, as it has no struct_size: expected no member after `int32_t second`, "
        "found `int32_t third`",
        "tenon_pair.third: the struct must not grow, as it is held by value as tenon_outer.as: expected no member after "
        "`int32_t second`, found `int32_t third`"),
    "a struct that grows and is held by value as the last member": (
        NEXT_MINOR, ("uint32_t value;\n} tenon_inner", "uint32_t value;\n  uint64_t more;\n} tenon_inner"),
        "tenon_inner.more: the struct must not grow, as it is held by value as `inner`, the last member of tenon_outer: "
        "expected no member after `uint32_t value`, found `uint64_t more`"),
    "a struct that grows and is held by value elsewhere": (
        NEXT_MINOR, ("value;\n} tenon_middle", "value;\n  uint32_t more;\n  uint32_t reserved;\n} tenon_middle"),
        "tenon_middle.more: the struct must not grow, as it is held by value as tenon_outer.middle: expected no member after "
        "`uint32_t value`, found `uint32_t more`"),
    "a struct that grows and is a parameter by value": (
        NEXT_MINOR, ("reserved;\n} tenon_by_value", "reserved;\n  uint64_t more;\n} tenon_by_value"),
        "tenon_by_value.more: the struct must not grow, as it is held by value in `tenon_taker`: expected no member after "
        "`uint32_t reserved`, found `uint64_t more`"),
    "a constant that changes": (
        ("TENON_BLUE = 1u << 4", "TENON_BLUE = 1u << 5"), "TENON_BLUE: expected the constant `16`, found `32`"),
    "constants that are counted anew": (
        NEXT_MINOR, ("TENON_RED, ", "TENON_BLACK, TENON_RED, "),
        "TENON_GREEN: expected the constant `1`, found `2`", "TENON_RED: expected the constant `0`, found `1`"),
    "an id that changes": becomes(
        "TENON_EXTENSION_SAMPLE: expected the macro", '"tenon.sample/1"', '"tenon.sample/2"'),
    "a calling convention that changes": (
        ("#define TENON_CALL __cdecl", "#define TENON_CALL __stdcall"),
        "TENON_CALL: expected the macro `defined(_WIN32): __cdecl; else after defined(_WIN32): `, found "
        "`defined(_WIN32): __stdcall; else after defined(_WIN32): `"),
    "a function without its calling convention": (
        ("(TENON_CALL* copy)", "(*copy)"),
        f"tenon_table.copy: the member was changed: expected `{COPY}`, found `{COPY.replace('TENON_CALL', '')}`"),
    "parameters of one type that change places": (
        ("uint64_t nbytes, uint64_t alignment", "uint64_t alignment, uint64_t nbytes"),
        f"tenon_table.copy: the member was changed: expected `{COPY}`, found `tenon_status(TENON_CALL* copy)(tenon_thing* "
        "thing, uint64_t alignment, uint64_t nbytes)`"),
    "a type that changes": (
        ("typedef uint32_t tenon_status;", "typedef uint64_t tenon_status;"),
        "tenon_status: expected the type `uint32_t`, found `uint64_t`"),
    "an opaque type that is removed": (
        ("typedef struct tenon_thing tenon_thing;\n", ""), "tenon_thing: expected the type `struct`, found none"),
    "a function that changes": (
        (HOST, "uint64_t count);", "uint32_t count);"),
        "tenon_run: expected the function `tenon_status tenon_run(const tenon_point* point, uint64_t count)`, found "
        "`tenon_status tenon_run(const tenon_point* point, uint32_t count)`"),
    "a function that is removed": (
        (HOST, "TENON_HOST_API uint32_t tenon_c_version(void);\n", ""),
        "tenon_c_version: expected the function `uint32_t tenon_c_version(void)`, found none"),
    "a function without a new minor": (
        (HOST, "uint32_t tenon_c_version(void);", "uint32_t tenon_c_version(void);\nTENON_HOST_API void tenon_more(void);"),
        "TENON_C_MINOR: expected 1 or more, as the function tenon_more was added to C interface 1.0, found 0"),
    "a rule whose text changes": (
        ("MUST NOT have a count", "MUST have a count"),
        a_rule_changed(2, "A point MUST NOT have a count.", "A point MUST have a count.")),
    "a rule whose second line changes": (
        ("that is not empty", "that is not NULL"),
        a_rule_changed(1, "A point MUST have a name that is not empty.", "A point MUST have a name that is not NULL.")),
    "a rule that is removed": (
        (SECOND_RULE, ""),
        f"{RULE}2: the rule was removed: expected its text with the hash "
        f"{headers.hash_of('A point MUST NOT have a count.')}, found none"),
    "a frozen struct that names a draft": (
        NEXT_MINOR, after("uint64_t count;", "\n  const tenon_drafted* draft;\n  void* reserved;"),
        "tenon_point.draft: expected types of frozen headers, found `tenon_drafted` of tenon/abi/draft/draft.h"),
}

# Each change after the freeze that breaks nothing.
ACCEPTED = {
    "a comment": (
        ("// A comment.", "// Another comment."), ("///< Of the point.", "///< What it is called."),
        ("/// What can grow.", "/// What may grow, /* and */ \"is\" larger."), ("  /// Copies.\n", "")),
    "spaces and lines": (
        ("(tenon_thing* thing, uint64_t nbytes, uint64_t alignment)",
         "(tenon_thing *thing,\n            uint64_t nbytes,\n uint64_t  alignment)"),
        ("that is not empty.", "that is\n///             not empty.")),
    "a draft that changes": (
        (DRAFT, "uint32_t reserved;", "uint32_t kind;\n  void* inserted;\n  void* second;"),
        (DRAFT, "tenon.draft_of_tests/1", "tenon.draft_of_tests/2")),
    "a draft that is removed": ((DRAFT, "", None),),
    "a draft that is new": (("tenon/abi/draft/new.h", None, "typedef struct tenon_new {\n  uint64_t a;\n} tenon_new;\n"),),
    "a private header that changes": ((PRIVATE, "uint32_t counted;", "uint8_t counted;"),),
    "a draft that becomes stable with a new minor": (
        NEXT_MINOR, (DRAFT, "", None), ("tenon/abi/drafted.h", None, sample.HEADERS[DRAFT])),
    "a member with a new minor": (NEXT_MINOR, after("uint64_t count;", "\n  uint32_t more;\n  uint32_t reserved;")),
    "a struct that holds another one by value and grows": (NEXT_MINOR, after("tenon_inner inner;", "\n  uint64_t more;")),
    "a function of a table with a new minor": (
        NEXT_MINOR, ("} tenon_table;", "void(TENON_CALL* more)(void);\n  void(TENON_CALL* most)(void);\n} tenon_table;")),
    "constants and structs with a new minor": (
        NEXT_MINOR, after("TENON_BLUE = 1u << 4", ", TENON_WHITE"),
        after("} tenon_inner;", "\ntypedef struct tenon_new {\n  uint32_t struct_size;\n  uint32_t reserved;\n} tenon_new;")),
    "an opaque type that is declared": (
        NEXT_MINOR, after("typedef struct tenon_thing tenon_thing;", "\ntypedef struct tenon_other tenon_other;")),
    "a rule that is new": (THIRD_RULE,),
    "a comment that begins with the number of a rule": (
        ("/// What can grow.", f"/// {RULE}2 holds here, too.\n/// What can grow."),),
    "a rule in another header": (
        (SECOND_RULE, ""), (VERSION, "#define TENON_ABI_MAJOR", SECOND_RULE + "#define TENON_ABI_MAJOR")),
    "code that each side compiles into itself": (
        ("((object)->member != 0)", "(!!(object)->member)"),
        (HOST, '__attribute__((visibility("default")))', "__declspec(dllimport)")),
    "a release": ((VERSION, '"0.1.0"', '"0.2.0"'),),
}

# Bytes that no member has, before the freeze.
HIDDEN = "hidden padding at the end: expected 0 bytes, found"
PADDING = {
    "padding at the end on 64 bits": (
        after("uint64_t count;", "\n  uint32_t more;"),
        f"tenon_point: {HIDDEN} LP64 4, LLP64 4, armv7 4 (bytes by target): append `uint32_t reserved;` "
        "(tenon/abi/sample.h)"),
    "padding at the end on 32 bits alone": (
        after("uint64_t count;", "\n  void* more;"),
        f"tenon_point: {HIDDEN} armv7 4 (bytes by target): append `void* reserved;` (tenon/abi/sample.h)"),
    "padding of every target": (
        after("uint64_t count;", "\n  uint8_t more;"),
        f"tenon_point: {HIDDEN} LP64 7, LLP64 7, i386 3, armv7 7 (bytes by target): append `uint8_t reserved[7];` "
        "(tenon/abi/sample.h)"),
    "padding before a member": (
        ("uint16_t flags;\n", ""),
        "tenon_point.name: hidden padding before the member: expected 0 bytes, found LP64 2 (bytes by target) "
        "(tenon/abi/sample.h)"),
    "padding in a draft": (
        (DRAFT, "uint32_t reserved;", "uint32_t reserved;\n  void* more;\n  uint16_t last;"),
        f"tenon_drafted: {HIDDEN} LP64 6, LLP64 6, i386 2, armv7 2 (bytes by target): append `uint8_t reserved2[6];` "
        "(tenon/abi/draft/draft.h)"),
}

# What the checker does not know.
UNREADABLE = {
    "inline int one(void) { return 1; }":
        "expected a struct, an enumeration, a typedef or a function, found `inline int one(void) { return 1; }`",
    "enum tenon_colour { A };": "expected an enumeration without a name, found `enum tenon_colour { A }`",
    "enum { A = sizeof(int) };": "expected a number, found `sizeof(int)`",
    "typedef struct tenon_a { unsigned int a; } tenon_a;":
        "expected `type name`, a pointer, an array or a union, found `unsigned int a`",
    "typedef struct tenon_a { uint32_t a; } tenon_b;":
        "expected `typedef struct tenon_a {...} tenon_a`, found `typedef struct tenon_a { uint32_t a; } tenon_b`",
    "#ifdef __linux__\ntypedef uint32_t tenon_a;\n#endif":
        "declared only under defined(__linux__): `typedef uint32_t tenon_a;`",
    "typedef uint32_t tenon_a;\ntypedef uint64_t tenon_a;": "tenon_a is declared twice: `uint32_t` and `uint64_t`",
    "#pragma pack(1)": "#pragma",
}


class Copy(unittest.TestCase):
    """Headers in a folder of their own, and what is frozen of them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.include = pathlib.Path(folder.name, "include")
        self.frozen = pathlib.Path(folder.name, "frozen")
        self.abi = self.frozen / "abi-1.0.json"
        sample.write(self.include)

    def freeze(self):
        with contextlib.redirect_stdout(io.StringIO()):
            boundary.freeze(self.include, self.frozen)

    def declare(self):
        """The freeze, as it is from then on."""
        self.freeze()
        with contextlib.redirect_stdout(io.StringIO()):
            for path in self.frozen.iterdir():
                boundary.declare(path, DATE, COMMIT, self.include)

    def edit(self, *change):
        """A change, as the tables have it."""
        name, old, new = change if len(change) == 3 else (SAMPLE, *change)
        path = self.include / name
        if new is None:
            path.unlink()
            return
        if old is not None:
            text = path.read_text()
            self.assertEqual(text.count(old), 1, old)
            new = text.replace(old, new)
        path.write_text(new)

    def found(self):
        return boundary.check(self.include, self.frozen)

    def check(self, *expected):
        self.assertEqual(self.found(), list(expected))

    def ends(self, call, *words):
        """What a command says that ends the process."""
        with self.assertRaises(SystemExit) as caught:
            call(*words)
        return str(caught.exception)


def holds(table):
    """Adds a test for each case of a table to a class."""
    def add(cls):
        for name, words in table.items():
            setattr(cls, "test_" + name.replace(" ", "_"), lambda self, words=words: self.case(
                [word for word in words if isinstance(word, tuple)], [word for word in words if isinstance(word, str)]))
        return cls
    return add


@holds(REFUSED)
@holds(ACCEPTED)
class Frozen(Copy):
    """After the freeze."""

    texts = {}  # What is frozen of the headers of each test, by the name of the file.

    def setUp(self):
        super().setUp()
        if not self.texts:
            self.declare()
            self.check()
            self.texts.update({path.name: path.read_text() for path in self.frozen.iterdir()})
        self.frozen.mkdir(exist_ok=True)
        for name, text in self.texts.items():
            (self.frozen / name).write_text(text)

    def case(self, changes, findings):
        for change in changes:
            self.edit(*change)
        self.check(*findings)

    def test_a_minor_that_goes_back(self):
        self.edit(*NEXT_MINOR)
        self.freeze()
        self.edit(VERSION, "TENON_ABI_MINOR 1", "TENON_ABI_MINOR 0")
        self.assertEqual(self.found()[0], "TENON_ABI_MINOR: expected 1 or more, found 0")


@holds(PADDING)
class Padding(Copy):
    """Before the freeze."""

    def case(self, changes, findings):
        for change in changes:
            self.edit(*change)
        self.freeze()
        self.check(*findings)

    def test_a_member_in_the_padding_of_what_was_frozen(self):
        self.edit(*after("uint64_t count;", "\n  void* last;"))
        self.freeze()  # As if it had been overlooked.
        self.edit(*NEXT_MINOR)
        self.edit(*after("void* last;", "\n  uint32_t more;"))
        self.assertEqual(compare.compare(frozen.load(self.abi), self.include), [
            "tenon_point.more: the member is hidden in the tail padding of ABI 1.0 on armv7: expected an offset of 32 or more, "
            "found 28"])


class Files(Copy):
    """When a frozen text is written."""

    def test_a_frozen_text_may_be_written_until_the_freeze_is_declared(self):
        self.freeze()
        self.edit(*RENAMED)
        self.check(IS_RENAMED, boundary.HINT.format("abi-1.0.json"))
        self.freeze()
        self.check()

    def test_until_then_it_is_the_text_of_the_headers(self):
        self.freeze()
        self.edit(*THIRD_RULE)
        self.check("abi-1.0.json: expected the text of the headers, found another one",
                   boundary.HINT.format("abi-1.0.json"))

    def test_after_that_it_is_never_written(self):
        self.declare()
        self.freeze()  # Nothing is to be written.
        self.edit(*RENAMED)
        before = self.abi.read_text()
        self.assertEqual(self.ends(self.freeze), f"abi-1.0.json: frozen on {DATE} {COMMIT}: it is never written again; raise "
                         "TENON_ABI_MINOR")
        self.assertEqual(self.abi.read_text(), before)

    def test_what_is_declared(self):
        self.freeze()
        path = self.abi
        for date, commit in (("soon", COMMIT), (DATE, "main")):
            self.assertEqual(self.ends(boundary.declare, path, date, commit, self.include),
                             f"expected YYYY-MM-DD and a commit of 40 digits, found {date} {commit}")
        self.edit(*RENAMED)
        self.assertIn(f"not ready for a freeze:\n{IS_RENAMED}", self.ends(boundary.declare, path, DATE, COMMIT, self.include))
        self.declare()
        self.assertEqual(self.ends(boundary.declare, path, DATE, COMMIT, self.include),
                         f"abi-1.0.json: frozen on {DATE} {COMMIT} already")

    def test_status(self):
        self.freeze()
        self.assertEqual(boundary.status(self.include, self.frozen), [
            "ABI 1.0: not frozen yet",
            "  7 structs, 3 constants, 5 macros, 4 types, 0 functions, 1 extensions, 2 rules",
            "C interface 1.0: not frozen yet",
            "  0 structs, 0 constants, 2 macros, 0 types, 2 functions, 0 extensions, 0 rules",
            "drafts: tenon.draft_of_tests/1"])
        self.declare()
        self.assertEqual(boundary.status(self.include, self.frozen)[0], f"ABI 1.0: frozen on {DATE} {COMMIT}")

    def test_an_interface_without_a_frozen_text(self):
        self.freeze()
        (self.frozen / "c-1.0.json").unlink()
        self.check("c: expected a frozen text, found none")

    def test_a_frozen_text_that_is_damaged(self):
        self.freeze()
        path = self.abi
        path.write_text(path.read_text().replace('"frozen": null', '"frozen": "yes"'))
        with self.assertRaisesRegex(headers.Unreadable, "\"frozen\": expected null or \"DATE COMMIT\", found 'yes'"):
            self.found()
        path.rename(path.with_name("abi-1.7.json"))
        with self.assertRaisesRegex(headers.Unreadable, "abi-1.7.json: expected the name abi-1.0.json"):
            frozen.load(path.with_name("abi-1.7.json"))

    def test_declarations_that_the_checker_does_not_know_are_refused(self):
        for text, expected in UNREADABLE.items():
            with self.subTest(text):
                self.edit("tenon/abi/new.h", None, text + "\n")
                with self.assertRaises(headers.Unreadable) as caught:
                    frozen.read_all(self.include)
                self.assertEqual(str(caught.exception), f"tenon/abi/new.h: {expected}")

    def test_a_type_whose_size_differs_between_platforms_is_refused(self):
        self.edit("tenon/abi/new.h", None, "typedef struct tenon_a {\n  long a;\n} tenon_a;\n")
        with self.assertRaisesRegex(headers.Unreadable, "`long a`: expected a type whose size is the same everywhere, found "
                                                        "`long`"):
            self.found()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
