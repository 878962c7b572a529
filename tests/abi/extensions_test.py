# SPDX-License-Identifier: MIT
"""The list of the extensions that a backend may have equals the headers'; each fault in it has its message.

    extensions_test.py ROOT
"""

import pathlib
import sys
import tempfile
import unittest

from checker import extension_list, frozen, headers

ROOT = pathlib.Path(sys.argv[1]).resolve()
LIST = extension_list.LIST
CANCEL = """template <>
struct BackendExtension<tenon_cancel_v1> {
  using Table = tenon_cancel_v1;
  static constexpr const char* id = TENON_EXTENSION_CANCEL;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::cancel, "cancel">>;
};
"""
HEADER = """#define TENON_EXTENSION_TOY "tenon.toy/1"
typedef struct tenon_toy_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /// Plays.
  tenon_status(TENON_CALL* play)(FIRST, uint64_t count);
} tenon_toy_v1;
"""
OF_BACKEND = HEADER.replace("FIRST", "tenon_backend* backend, tenon_delegate* delegate")

# (old, new) in the list, where `old` is in it once, and what is found.
FAULTS = {
    "an extension that is not described": (
        CANCEL, "",
        f"tenon/abi/extensions/cancel.h: {LIST} does not describe tenon_cancel_v1: add a specialisation of "
        "BackendExtension"),
    "an extension that is described twice": (CANCEL, CANCEL * 2, f"{LIST}: describes tenon_cancel_v1 twice"),
    "an extension that is described in another form": (
        CANCEL, CANCEL.replace("  using Table", "  int more;\n  using Table"),
        f"{LIST}: has COUNT specialisations of BackendExtension, of which 1 is not written like the others"),
    "an extension that is not listed": (
        "tenon_events_v1, tenon_cancel_v1,", "tenon_events_v1,",
        f"{LIST}: tenon_cancel_v1: expected once in BackendExtensions, found 0 times"),
    "an extension that is listed twice": (
        "tenon_events_v1, tenon_cancel_v1,", "tenon_events_v1, tenon_cancel_v1, tenon_cancel_v1,",
        f"{LIST}: tenon_cancel_v1: expected once in BackendExtensions, found 2 times"),
    "no list": ("using BackendExtensions", "using Others",
                f"{LIST}: expected `using BackendExtensions = TypeList<...>;`"),
    "another id": (
        CANCEL, CANCEL.replace("_CANCEL;", "_CANCEL_FLAG;"),
        f"{LIST}: tenon_cancel_v1: expected the macro TENON_EXTENSION_CANCEL of tenon/abi/extensions/cancel.h, found "
        "TENON_EXTENSION_CANCEL_FLAG"),
    "another stage": (
        CANCEL, CANCEL.replace("::frozen", "::draft"),
        f"{LIST}: tenon_cancel_v1: expected the stage frozen of tenon/abi/extensions/cancel.h, found draft"),
    "a function that is missing": (
        'TypeList<Required<&Table::set_option, "set_option">,', "TypeList<",
        f"{LIST}: tenon_options_v1: expected the functions set_option, get_option of tenon/abi/extensions/options.h, "
        "found get_option"),
    "a function with another name": (
        '"cancel">', '"end">', f'{LIST}: tenon_cancel_v1: expected the name "cancel", found "end"'),
    "a function in another form": (
        'Required<&Table::cancel, "cancel">', "Required<&Table::cancel>",
        f"{LIST}: tenon_cancel_v1: cannot read its functions, found `Required<&Table::cancel>`"),
}
# A header that is added below abi/, and what is found.
HEADERS = {
    "a new extension of a backend": (
        "draft/toy.h", OF_BACKEND,
        f"tenon/abi/draft/toy.h: {LIST} does not describe tenon_toy_v1: add a specialisation of BackendExtension"),
    "a new extension of a host": ("draft/toy.h", HEADER.replace("FIRST", "const tenon_host* host")),
    "a new private extension": ("private/toy.h", OF_BACKEND),
    "an id that names no table": (
        "draft/toy.h", OF_BACKEND.replace("toy/1", "toy/2"),
        'tenon/abi/draft/toy.h: TENON_EXTENSION_TOY is "tenon.toy/2": expected "tenon.name/1" with a struct '
        "tenon_name_v1"),
}


class List(unittest.TestCase):
    """The list as it is, and with one fault each."""

    @classmethod
    def setUpClass(cls):
        cls.text = (ROOT / "include" / LIST).read_text(encoding="utf-8")
        cls.everything = frozen.read_all(ROOT / "include")

    def test_the_list_is_what_the_headers_declare(self):
        self.assertEqual(extension_list.compare(self.text, self.everything), [])

    def test_each_extension_has_a_row_in_the_contract(self):
        page = (ROOT / extension_list.PAGE).read_text(encoding="utf-8")
        self.assertEqual(extension_list.compare_page(page, self.everything), [])
        without = page.replace("| `tenon.cancel/1` |", "| |")
        self.assertEqual(extension_list.compare_page(without, self.everything),
                         [f"{extension_list.PAGE}: expected a row for `tenon.cancel/1`"])

    def test_faults_are_named(self):
        for name, (old, new, *expected) in FAULTS.items():
            with self.subTest(name):
                self.assertEqual(self.text.count(old), 1)
                count = str(self.text.count("struct BackendExtension<"))
                self.assertEqual(extension_list.compare(self.text.replace(old, new), self.everything),
                                 [one.replace("COUNT", count) for one in expected])

    def test_a_table_that_no_header_declares_is_named(self):
        text = self.text.replace("tenon_cancel_v1", "tenon_stop_v1")
        self.assertEqual(extension_list.compare(text, self.everything), [
            FAULTS["an extension that is not described"][2],
            f"{LIST}: describes tenon_stop_v1, which no header declares as the table of a backend"])

    def test_new_headers_are_seen(self):
        paths = sorted((ROOT / "include/tenon/abi").rglob("*.h"))
        for name, (header, text, *expected) in HEADERS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for path in paths:
                    copy = root / path.relative_to(ROOT / "include")
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
                (root / "tenon/abi" / header).write_text(text, encoding="utf-8")
                everything = headers.read(root, sorted(root.rglob("*.h")))
                self.assertEqual(extension_list.compare(self.text, everything), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
