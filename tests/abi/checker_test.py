# SPDX-License-Identifier: MIT
"""What the checker of the boundary refuses, on copies of a small boundary: each finding, word for word."""

import contextlib
import io
import sys
import unittest

import boundary
from checker import compare, frozen, headers
from checker.copies import HOST, RULE, SAMPLE, Copy


class Refused(Copy):
    """Each change that breaks a binary, after the freeze."""

    def setUp(self):
        super().setUp()
        self.declare()
        self.check()

    def test_a_member_that_is_inserted(self):
        self.next_minor()
        self.edit(SAMPLE, ("  const char* name;", "  const char* title;\n  const char* name;"))
        self.check("tenon_point.title: the member was inserted: expected `const char* name`, found `const char* title`")

    def test_a_member_that_is_renamed(self):
        self.edit(SAMPLE, ("const char* name;", "const char* title;"))
        self.check("tenon_point.name: the member was renamed: expected `const char* name`, found `const char* title`")

    def test_a_member_that_is_resized(self):
        self.edit(SAMPLE, ("uint64_t count;", "void* count;"))
        self.check("tenon_point.count: the member was resized: expected `uint64_t count`, found `void* count` "
                   "(i386: 8 and 4 bytes, armv7: 8 and 4 bytes)")

    def test_an_array_that_is_resized_by_its_constant(self):
        self.edit(SAMPLE, ("TENON_SAMPLE_LIMIT 1024", "TENON_SAMPLE_LIMIT 2048"))
        self.check("TENON_SAMPLE_LIMIT: expected the macro `1024`, found `2048`")

    def test_a_member_of_another_type_and_the_same_size(self):
        self.edit(SAMPLE, ("uint16_t kind;", "int16_t kind;"))
        self.check("tenon_point.kind: the member was changed: expected `uint16_t kind`, found `int16_t kind`")

    def test_members_that_are_reordered(self):
        self.edit(SAMPLE, ("uint16_t kind;\n  uint16_t flags;", "uint16_t flags;\n  uint16_t kind;"))
        self.check("tenon_point.kind: the members were reordered: expected `uint16_t kind`, found `uint16_t flags`")

    def test_a_member_that_is_removed(self):
        self.edit(SAMPLE, ("  uint16_t kind;\n", ""))
        self.check("tenon_point.name: hidden padding before the member: expected 0 bytes, found LP64 2 (bytes by target) "
                   "(tenon/abi/sample.h)",
                   "tenon_point.kind: the member was removed: expected `uint16_t kind`, found `uint16_t flags`")

    def test_the_last_member_that_is_removed(self):
        self.edit(SAMPLE, ("  uint64_t count;\n} tenon_point", "} tenon_point"))
        self.check("tenon_point.count: the member was removed: expected `uint64_t count`, found the end")

    def test_a_struct_that_is_removed(self):
        self.edit(SAMPLE, ("typedef struct tenon_pair {\n  int32_t first;\n  int32_t second;\n} tenon_pair;\n", ""),
                  ("    tenon_pair pair;\n", ""))
        self.check("tenon_outer.as: the member was changed: expected `union { int64_t integer; tenon_pair pair; } as`, "
                   "found `union { int64_t integer; } as`", "tenon_pair: expected a struct of 2 members, found none")

    def test_a_struct_that_becomes_a_draft(self):
        self.edit(SAMPLE, ("typedef struct tenon_pair {\n  int32_t first;\n  int32_t second;\n} tenon_pair;\n", ""))
        self.edit("tenon/abi/draft/draft.h", ("typedef struct tenon_drafted", "typedef struct tenon_pair {\n"
                                             "  int32_t first;\n  int32_t second;\n} tenon_pair;\ntypedef struct tenon_drafted"))
        self.check("tenon_outer.as: expected types of frozen headers, found `tenon_pair` of tenon/abi/draft/draft.h",
                   "tenon_pair: expected a struct of 2 members, found none")

    def test_an_alternative_of_a_union_that_is_resized(self):
        self.edit(SAMPLE, ("int64_t integer;", "int64_t integer[2];"))
        self.check("tenon_outer.as: the member was resized: expected `union { int64_t integer; tenon_pair pair; } as`, found "
                   "`union { int64_t integer[2]; tenon_pair pair; } as` (LP64: 8 and 16 bytes, LLP64: 8 and 16 bytes, "
                   "i386: 8 and 16 bytes, armv7: 8 and 16 bytes)")

    def test_a_member_without_a_new_minor(self):
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  uint64_t more;"))
        self.check("TENON_ABI_MINOR: expected 1 or more, as tenon_point.more was added to ABI 1.0, found 0")

    def test_a_declaration_without_a_new_minor(self):
        self.edit(SAMPLE, ("TENON_GREEN,", "TENON_GREEN, TENON_OTHER,"),
                  ("#define TENON_SAMPLE_LIMIT 1024", "#define TENON_SAMPLE_LIMIT 1024\n#define TENON_SAMPLE_MORE 1"))
        self.check("TENON_ABI_MINOR: expected 1 or more, as the constant TENON_OTHER was added to ABI 1.0, found 0",
                   "TENON_ABI_MINOR: expected 1 or more, as the macro TENON_SAMPLE_MORE was added to ABI 1.0, found 0")

    def test_a_minor_that_goes_back(self):
        self.next_minor()
        path = self.files[0].with_name("abi-1.1.json")
        self.files.append(path)
        with contextlib.redirect_stdout(io.StringIO()):
            boundary.freeze(self.include, [path])
        self.edit("tenon/abi/version.h", ("TENON_ABI_MINOR 1", "TENON_ABI_MINOR 0"))
        self.assertEqual(self.found()[0], "TENON_ABI_MINOR: expected 1 or more, found 0")

    def test_another_major(self):
        self.edit("tenon/abi/version.h", ("TENON_ABI_MAJOR 1", "TENON_ABI_MAJOR 2"))
        self.check("TENON_ABI_MAJOR: expected the macro `1`, found `2`", "TENON_ABI_MAJOR: expected 1, found 2")

    def test_a_struct_without_a_size_that_grows(self):
        self.next_minor()
        self.edit(SAMPLE, ("int32_t second;\n} tenon_pair", "int32_t second;\n  int32_t third;\n} tenon_pair"))
        self.check("tenon_outer.as: hidden padding at the end: expected 0 bytes, found LP64 4, LLP64 4, armv7 4 "
                   "(bytes by target) (tenon/abi/sample.h)",
                   "tenon_pair.third: the struct must not grow, as it has no struct_size: expected no member after "
                   "`int32_t second`, found `int32_t third`",
                   "tenon_pair.third: the struct must not grow, as it is held by value as tenon_outer.as: expected no "
                   "member after `int32_t second`, found `int32_t third`")

    def test_a_struct_that_grows_and_is_held_by_value_as_the_last_member(self):
        self.next_minor()
        self.edit(SAMPLE, ("uint32_t value;\n} tenon_inner", "uint32_t value;\n  uint64_t more;\n} tenon_inner"))
        self.check("tenon_inner.more: the struct must not grow, as it is held by value as `inner`, the last member of "
                   "tenon_outer: expected no member after `uint32_t value`, found `uint64_t more`")

    def test_a_struct_that_grows_and_is_held_by_value_elsewhere(self):
        self.next_minor()
        self.edit(SAMPLE, ("uint32_t value;\n} tenon_middle",
                           "uint32_t value;\n  uint32_t more;\n  uint32_t reserved;\n} tenon_middle"))
        self.check("tenon_middle.more: the struct must not grow, as it is held by value as tenon_outer.middle: expected no "
                   "member after `uint32_t value`, found `uint32_t more`")

    def test_a_struct_that_grows_and_is_a_parameter_by_value(self):
        self.next_minor()
        self.edit(SAMPLE, ("uint32_t reserved;\n} tenon_by_value", "uint32_t reserved;\n  uint64_t more;\n} tenon_by_value"))
        self.check("tenon_by_value.more: the struct must not grow, as it is held by value in `tenon_taker`: expected no "
                   "member after `uint32_t reserved`, found `uint64_t more`")

    def test_a_constant_that_changes(self):
        self.edit(SAMPLE, ("TENON_BLUE = 1u << 4", "TENON_BLUE = 1u << 5"))
        self.check("TENON_BLUE: expected the constant `16`, found `32`")

    def test_constants_that_are_counted_anew(self):
        self.next_minor()
        self.edit(SAMPLE, ("TENON_RED, ", "TENON_BLACK, TENON_RED, "))
        self.check("TENON_GREEN: expected the constant `1`, found `2`", "TENON_RED: expected the constant `0`, found `1`")

    def test_an_id_that_changes(self):
        self.edit(SAMPLE, ('"tenon.sample/1"', '"tenon.sample/2"'))
        self.check('TENON_EXTENSION_SAMPLE: expected the macro `"tenon.sample/1"`, found `"tenon.sample/2"`')

    def test_a_calling_convention_that_changes(self):
        self.edit(SAMPLE, ("#define TENON_CALL __cdecl", "#define TENON_CALL __stdcall"))
        self.check("TENON_CALL: expected the macro `defined(_WIN32): __cdecl; else after defined(_WIN32): `, found "
                   "`defined(_WIN32): __stdcall; else after defined(_WIN32): `")

    def test_a_function_without_its_calling_convention(self):
        self.edit(SAMPLE, ("(TENON_CALL* copy)", "(*copy)"))
        self.check("tenon_table.copy: the member was changed: expected `tenon_status(TENON_CALL* copy)(tenon_thing* thing, "
                   "uint64_t nbytes, uint64_t alignment)`, found `tenon_status(* copy)(tenon_thing* thing, uint64_t nbytes, "
                   "uint64_t alignment)`")

    def test_parameters_of_one_type_that_change_places(self):
        self.edit(SAMPLE, ("uint64_t nbytes, uint64_t alignment", "uint64_t alignment, uint64_t nbytes"))
        self.check("tenon_table.copy: the member was changed: expected `tenon_status(TENON_CALL* copy)(tenon_thing* thing, "
                   "uint64_t nbytes, uint64_t alignment)`, found `tenon_status(TENON_CALL* copy)(tenon_thing* thing, "
                   "uint64_t alignment, uint64_t nbytes)`")

    def test_a_type_that_changes(self):
        self.edit(SAMPLE, ("typedef uint32_t tenon_status;", "typedef uint64_t tenon_status;"))
        self.check("tenon_status: expected the type `uint32_t`, found `uint64_t`")

    def test_an_opaque_type_that_is_removed(self):
        self.edit(SAMPLE, ("typedef struct tenon_thing tenon_thing;\n", ""))
        self.check("tenon_thing: expected the type `struct`, found none")

    def test_a_function_that_changes(self):
        self.edit(HOST, ("uint64_t count);", "uint32_t count);"))
        self.check("tenon_run: expected the function `tenon_status tenon_run(const tenon_point* point, uint64_t count)`, "
                   "found `tenon_status tenon_run(const tenon_point* point, uint32_t count)`")

    def test_a_function_that_is_removed(self):
        self.edit(HOST, ("TENON_HOST_API uint32_t tenon_c_version(void);\n", ""))
        self.check("tenon_c_version: expected the function `uint32_t tenon_c_version(void)`, found none")

    def test_a_function_without_a_new_minor(self):
        self.edit(HOST, ("TENON_HOST_API uint32_t tenon_c", "TENON_HOST_API void tenon_more(void);\nTENON_HOST_API "
                         "uint32_t tenon_c"))
        self.check("TENON_C_MINOR: expected 1 or more, as the function tenon_more was added to C interface 1.0, found 0")

    def test_a_rule_whose_text_changes(self):
        self.edit(SAMPLE, ("MUST NOT have a count", "MUST have a count"))
        [before, now] = [headers.hash_of(f"A point {text} a count.") for text in ("MUST NOT have", "MUST have")]
        self.check(f'{RULE}2: the text of the rule changed: expected the hash {before}, found {now} of "A point MUST have a '
                   'count.": a rule with another meaning takes a new number')

    def test_a_rule_whose_second_line_changes(self):
        self.edit(SAMPLE, ("that is not empty", "that is not NULL"))
        self.assertEqual(len(self.found()), 1)
        self.assertIn(f"{RULE}1: the text of the rule changed", self.found()[0])

    def test_a_rule_that_is_removed(self):
        self.edit(SAMPLE, (f"///   {RULE}2  A point MUST NOT have a count.\n", ""))
        self.check(f"{RULE}2: the rule was removed: expected its text with the hash "
                   f"{headers.hash_of('A point MUST NOT have a count.')}, found none")

    def test_a_frozen_struct_that_names_a_draft(self):
        self.next_minor()
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  const tenon_drafted* draft;\n  void* reserved;"))
        self.check("tenon_point.draft: expected types of frozen headers, found `tenon_drafted` of tenon/abi/draft/draft.h")


class Padding(Copy):
    """Bytes that no member has."""

    def test_padding_at_the_end_on_64_bits(self):
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  uint32_t more;"))
        self.freeze()
        self.check("tenon_point: hidden padding at the end: expected 0 bytes, found LP64 4, LLP64 4, armv7 4 (bytes by target): "
                   "append `uint32_t reserved;` (tenon/abi/sample.h)")

    def test_padding_at_the_end_on_32_bits_alone(self):
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  void* more;"))
        self.freeze()
        self.check("tenon_point: hidden padding at the end: expected 0 bytes, found armv7 4 (bytes by target): append "
                   "`void* reserved;` (tenon/abi/sample.h)")

    def test_padding_of_every_target(self):
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  uint8_t more;"))
        self.freeze()
        self.check("tenon_point: hidden padding at the end: expected 0 bytes, found LP64 7, LLP64 7, i386 3, armv7 7 "
                   "(bytes by target): append `uint8_t reserved[7];` (tenon/abi/sample.h)")

    def test_padding_before_a_member(self):
        self.edit(SAMPLE, ("uint16_t flags;\n", ""))
        self.freeze()
        self.check("tenon_point.name: hidden padding before the member: expected 0 bytes, found LP64 2 (bytes by target) "
                   "(tenon/abi/sample.h)")

    def test_padding_in_a_draft(self):
        self.edit("tenon/abi/draft/draft.h", ("uint32_t reserved;", "uint32_t reserved;\n  void* more;\n  uint16_t last;"))
        self.freeze()
        self.check("tenon_drafted: hidden padding at the end: expected 0 bytes, found LP64 6, LLP64 6, i386 2, armv7 2 "
                   "(bytes by target): append `uint8_t reserved2[6];` (tenon/abi/draft/draft.h)")

    def test_a_member_in_the_padding_of_what_was_frozen(self):
        self.edit(SAMPLE, ("uint64_t count;", "uint64_t count;\n  void* last;"))
        self.freeze()  # As if it had been overlooked.
        self.next_minor()
        self.edit(SAMPLE, ("void* last;", "void* last;\n  uint32_t more;"))
        stored = frozen.load(self.files[0])
        self.assertEqual(compare.compare(stored, self.include), [
            "tenon_point.more: the member is hidden in the tail padding of ABI 1.0 on armv7: expected an offset of 32 or more, "
            "found 28"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
