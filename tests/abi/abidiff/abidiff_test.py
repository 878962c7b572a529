# SPDX-License-Identifier: MIT
"""abidiff sees the types that cross the boundary, reports each kind of break, and finds none since the kept ABIs.

    abidiff_test.py COMPILER MACHINE LIBTENON PLUGIN

COMPILER is one for C, for small libraries. Comparisons with tests/abi/kept, where there are any; without debug
information, or without abidiff, nothing is compared (exit status 77).
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "kept")]
import abi_dump  # noqa: E402
import keep  # noqa: E402  pylint: disable=wrong-import-position

compiler, machine, libtenon, plugin = sys.argv[1:5]

SOURCE = """
typedef enum colour { RED = 1, GREEN = 2 } colour;
typedef struct thing {
  unsigned size;
  int kind;
  const char* name;
} thing;
int use(const thing* one, colour which) { return one->kind + (int)which; }
int stays(void) { return 1; }
int drop(long number) { return (int)number; }
"""

EMPTY = abi_dump.HERE / "suppressions.ini"


class Breaks(unittest.TestCase):
    """Small libraries in C, compiled with debug information."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def library(self, name, *changes):
        text = SOURCE
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path = self.folder / f"{name}.so"
        subprocess.run([*compiler.split(), "-g", "-O0", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=text, text=True,
                       check=True)
        return path

    def report(self, *changes, suppressions=EMPTY):
        return abi_dump.compare(self.library("old"), self.library("new", *changes), suppressions)

    def check(self, changes, *expected):
        report = self.report(*changes)
        for text in expected:
            self.assertIn(text, report)
        print(report.strip(), file=sys.stderr)

    def test_nothing(self):
        self.assertEqual(self.report(), "")

    def test_a_function_that_is_added(self):
        self.assertEqual(self.report(("int stays(void)", "int more(void) { return 2; }\nint stays(void)")), "")

    def test_a_function_that_is_removed(self):
        self.check([("int drop(long number) { return (int)number; }", "")], "1 Removed function:", "[D] 'function int drop(long")

    def test_a_parameter_that_changes(self):
        self.check([("int drop(long number)", "int drop(short number)")],
                   "[C] 'function int drop(long", "parameter 1 of type 'long int' changed:",
                   "type size changed from 64 to 16 (in bits)")

    def test_a_member_that_is_inserted(self):
        self.check([("  int kind;", "  int inserted;\n  int kind;")], "[C] 'function int use(",
                   "1 data member insertion:", "'int inserted', at offset 32 (in bits)",
                   "'int kind' offset changed from 32 to 64 (in bits) (by +32 bits)")

    def test_an_enumerator_that_changes(self):
        self.check([("GREEN = 2", "GREEN = 4")], "1 enumerator change:",
                   "'colour::GREEN' from value '2' to '4'")

    def test_a_member_that_is_appended_needs_a_section(self):
        appended = ("  const char* name;", "  const char* name;\n  const char* more;")
        self.assertIn("1 data member insertion:", self.report(appended))
        path = self.folder / "suppressions.ini"
        path.write_text("[suppress_type]\n  name = thing\n  type_kind = struct\n  has_data_member_inserted_at = end\n")
        self.assertEqual(self.report(appended, suppressions=path), "")
        # It excuses nothing else.
        for changes in ([("  int kind;", "  int inserted;\n  int kind;")], [("  int kind;", "  long kind;")],
                        [appended, ("  int kind;", "  float kind;")], [appended, ("GREEN = 2", "GREEN = 4")],
                        [appended, ("int drop(long number) { return (int)number; }", "")]):
            self.assertNotEqual(self.report(*changes, suppressions=path), "", changes)


class Libraries(unittest.TestCase):
    """What was built."""

    def setUp(self):
        for path in (libtenon, plugin):
            if not abi_dump.has_debug_information(path):
                self.skipTest(f"{path} has no debug information (meson -Ddebug=true)")

    def check_seen(self, library, structs, symbols):
        text = abi_dump.dump(library)
        for name in structs:
            self.assertIn(f"<class-decl name='{name}' size-in-bits='", text)
        for name in symbols:
            self.assertIn(f"<elf-symbol name='{name}'", text)

    def test_abidiff_sees_the_types_of_the_c_interface(self):
        self.check_seen(libtenon, ("tenon_method_options", "tenon_registry_options", "tenon_value_meta", "tenon_backend_info"),
                        ("tenon_method_load", "tenon_program_open"))

    def test_abidiff_sees_the_types_of_the_boundary_in_a_plugin(self):
        self.check_seen(plugin, ("tenon_plugin_head", "tenon_backend_record", "tenon_backend_api", "tenon_host",
                                 "tenon_init_context", "tenon_execution_context", "tenon_tensor", "tenon_value"),
                        ("tenon_plugin_v1",))

    def test_they_equal_themselves(self):
        for path in (libtenon, plugin):
            self.assertEqual(abi_dump.compare(path, path), "")

    def test_they_only_add_to_the_abi_that_was_kept(self):
        kept = keep.Store()
        compared = 0
        for name, library in (("libtenon.abi", libtenon), ("hello.abi", plugin)):
            for entry in kept.names(machine):
                if pathlib.Path(entry).name == name:
                    compared += 1
                    self.assertEqual(abi_dump.compare(kept.packed(entry), library), "")
        if not compared:
            self.skipTest("no kept binaries yet")


if __name__ == "__main__":
    if not abi_dump.is_there():
        print("skipped: abidiff is not there (Debian: abigail-tools)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
