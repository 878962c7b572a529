# SPDX-License-Identifier: MIT
"""The checker of the boundary with Tenon's own headers: each struct, each member, each rule; and its model of layouts.

    checker_headers_test.py ROOT
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from checker import compare, frozen, headers, layout, page

ROOT = pathlib.Path(sys.argv[1]).resolve()


class Tenon(unittest.TestCase):
    """Tenon's own headers, each struct and each member."""

    @classmethod
    def setUpClass(cls):
        cls.include = ROOT / "include"
        cls.everything = frozen.read_all(cls.include)
        cls.stored = frozen.of_headers(frozen.INTERFACES["abi"], cls.include)

    def found(self, name, members, minor=1):
        """Findings where one struct has other members."""
        struct = headers.Aggregate(False, tuple(members))
        today = frozen.Frozen(self.stored.interface, (1, minor), None, dataclasses.replace(
            self.stored.boundary, structs={**self.stored.boundary.structs, name: struct}))
        everything = dataclasses.replace(self.everything, structs={**self.everything.structs, name: struct})
        comparison = compare.Comparison(self.stored, today, everything)
        comparison.run()
        return comparison.found

    def test_each_member_is_held(self):
        count = 0
        for name, struct in self.stored.boundary.structs.items():
            members = struct.members
            for at, member in enumerate(members):
                new = headers.read_member("uint64_t a_new_member")
                renamed = headers.read_member(re.sub(rf"\b{member.name}\b", "a_new_name", member.declaration, count=1))
                for changed in ((*members[:at], *members[at + 1:]), (*members[:at], new, *members[at:]),
                                (*members[:at], new, *members[at + 1:]), (*members[:at], renamed, *members[at + 1:])):
                    count += 1
                    self.assertEqual(len(self.found(name, changed)), 1, f"{name}.{member.name}")
        self.assertGreater(count, 500)

    def test_each_struct_grows_or_is_known_not_to(self):
        fixed = set()
        for name, struct in self.stored.boundary.structs.items():
            found = self.found(name, (*struct.members, headers.read_member("uint64_t a_new_member")))
            if found:
                self.assertIn("must not grow", found[0])
                fixed.add(name)
            else:
                self.assertEqual(len(self.found(name, (*struct.members, headers.read_member("uint64_t more")), 0)), 1)
        for name in ("tenon_plugin_head", "tenon_dl_tensor", "tenon_dl_device", "tenon_dl_dtype", "tenon_span"):
            self.assertIn(name, fixed)
        for name in ("tenon_host", "tenon_backend_api", "tenon_init_context", "tenon_execution_context", "tenon_tensor",
                     "tenon_value", "tenon_backend_record"):
            self.assertNotIn(name, fixed)

    def test_each_rule_of_the_kit_is_read_with_its_text(self):
        sys.path.insert(0, str(ROOT / "tests/conformance/kit/verdict"))
        import rulebook  # pylint: disable=import-error,import-outside-toplevel
        expected = {rule.id: rule.text for rule in rulebook.read_boundary(ROOT)[0]}
        found = self.everything.rule_texts
        self.assertEqual(sorted(found), sorted(expected))
        # The kit adds the function to a rule that begins with MUST.
        self.assertEqual({name: text for name, text in found.items() if not expected[name].endswith(text)}, {})

    def test_a_frozen_text_is_read_as_it_was_written(self):
        for path in (ROOT / "tests/abi/frozen").glob("*.json"):
            self.assertEqual(frozen.text_of(frozen.load(path)), path.read_text(encoding="utf-8"))

    def test_the_page_of_the_layout_is_that_of_the_headers(self):
        self.assertEqual((ROOT / page.PAGE).read_text(encoding="utf-8"), page.page(self.include),
                         "python3 tests/abi/boundary.py write")


class Model(unittest.TestCase):
    """What compilers say is in layout_test.py; here, that they would notice."""

    def test_a_compiler_refuses_the_layout_of_another_target(self):
        compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
        if compiler is None:
            self.skipTest("no compiler")
        done = subprocess.run([sys.executable, ROOT / "tests/abi/layout_test.py", ROOT / "include", f"i386:{compiler}"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"i386: size of tenon_\w+: expected \d+")

    def test_layouts_by_hand(self):
        struct = headers.Aggregate(False, tuple(map(headers.read_member, [
            "uint32_t a", "void* b", "uint64_t c", "uint8_t d[3]", "union { uint8_t x[9]; uint32_t y; } e", "uint16_t f"])))
        one = {target.name: layout.of_aggregate(struct, target, headers.Boundary()) for target in layout.TARGETS}
        self.assertEqual([place.offset for place in one["LP64"].places], [0, 8, 16, 24, 28, 40])
        self.assertEqual([place.offset for place in one["armv7"].places], [0, 4, 8, 16, 20, 32])
        self.assertEqual([(name, found.size, found.tail) for name, found in one.items()],
                         [("LP64", 48, 6), ("LLP64", 48, 6), ("i386", 36, 2), ("armv7", 40, 6)])
        self.assertEqual(one["LP64"].holes, ((4, "b"), (1, "e")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
