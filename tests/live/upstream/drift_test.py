# SPDX-License-Identifier: MIT
"""Tests drift.py over made-up trees: what it reads of them, and that it finds each kind of difference."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest.mock import patch

import drift

INTERFACE = """
/// virtual bool in_a_comment() = 0;
class Backend; // A declaration.
class ET_EXPERIMENTAL Backend {
 public:
  virtual ~Backend() = 0;
  [[nodiscard]] virtual Result<std::pair<int, int>> init(Context& context, Span<int> specs) const = 0;
  virtual void destroy(Handle* handle) const {}
  void none(int x);
};
class Other { virtual void other(); };
"""
ERRORS = "enum class Error : uint32_t {\n  Ok = 0x00,\n  NotSupported = 0x10, // 0x11\n};\n"
SCHEMA = 'file_identifier "XX12";\ntable T {\n  a: uint; // An int.\n  b: [int32] (key);\n}\nenum E : byte { One = 1, Two = 2, }\n'
SHIM = """
#define aoti_torch_macro(x) x
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_sizes(
    AtenTensorHandle tensor, int64_t** sizes);
AOTI_TORCH_EXPORT int32_t aoti_torch_dtype_float32();
"""
FILES = {"runtime/core/error.h": ERRORS, "interface.h": INTERFACE, "a.fbs": SCHEMA, "magic.py": 'M = b"MAGIC1"\n'}
TORCH = "include/torch/csrc/inductor/aoti_torch/c/shim.h"
FACTS = [
    {"id": "backend", "in": "executorch", "files": ["interface.h"], "kind": "virtuals", "class": "Backend"},
    {"id": "errors", "in": "executorch", "files": ["gone.h", "runtime/core/error.h"], "kind": "numbers", "enum": "Error"},
    {"id": "schema", "in": "executorch", "files": ["a.fbs"], "kind": "schema"},
    {"id": "magic", "in": "executorch", "files": ["magic.py"], "kind": "matches", "pattern": "(MAGIC\\d)"},
    {"id": "old magic", "in": "executorch", "files": ["none.py"], "kind": "matches", "pattern": "x", "may_lack": True},
    {"id": "shim", "in": "torch", "files": [TORCH], "kind": "functions", "prefix": "aoti_torch_"},
]


class DriftTest(unittest.TestCase):
    """Each test has trees of its own, whose facts were recorded before they change."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.write(f"torch/{TORCH}", SHIM)
        self.facts = self.folder / "facts.json"
        self.facts.write_text(json.dumps([fact | {"why": "a test", "value": []} for fact in FACTS]))
        self.run_drift("--record")

    def write(self, name: str, text: str) -> None:
        """Writes a file of the trees."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_drift(self, *options: str, torch: str = "torch") -> tuple[int, str]:
        """The exit status and what is printed."""
        arguments = ["drift", str(self.folder), str(self.folder / torch), "--facts", str(self.facts), *options]
        printed = io.StringIO()
        with patch.object(sys, "argv", arguments), contextlib.redirect_stdout(printed), \
                contextlib.redirect_stderr(printed):
            return drift.main(), printed.getvalue()

    def check_difference(self, fact: str, *parts: str) -> None:
        """One fact has these differences, and no other has any."""
        status, printed = self.run_drift("--json")
        self.assertEqual(status, 1)
        found = json.loads(printed)
        self.assertEqual({each["fact"] for each in found}, {fact})
        self.assertEqual([each["difference"] for each in found], list(parts))
        self.assertEqual({each["why"] for each in found}, {"a test"})

    def test_trees_without_a_difference(self) -> None:
        self.assertEqual(self.run_drift(), (0, "6 facts, 0 differences\n"))
        values = {fact["id"]: fact["value"] for fact in json.loads(self.facts.read_text())}
        self.assertEqual(values["backend"], ["~Backend/0", "init/2", "destroy/1"])
        self.assertEqual(values["errors"], ["Ok=0", "NotSupported=16"])
        self.assertEqual(values["schema"],
                         ['file_identifier "XX12"', "T.a:uint", "T.b:[int32](key)", "E.One=1", "E.Two=2"])
        self.assertEqual([each.split()[0] for each in values["shim"]], ["aoti_torch_dtype_float32", "aoti_torch_get_sizes"])

    def test_virtual_functions_that_were_added_and_moved(self) -> None:
        self.write("interface.h", INTERFACE.replace("  void none", "  virtual Error last(int (*f)(int, int)) const;\n  void none"))
        self.check_difference("backend", "new: last/1 (last)")
        self.write("interface.h", INTERFACE.replace("  virtual void destroy", "  virtual int copy(int a, int b) { return f(a, b); }\n"
                                                    "  virtual void destroy"))
        self.check_difference("backend", "new: copy/2 (before destroy/1)")
        self.write("interface.h", INTERFACE.replace("  virtual ~Backend() = 0;\n", "").replace(
            "handle) const {}", "handle) const {}\n  virtual ~Backend() = 0;"))
        self.check_difference("backend", "another order: init/2, destroy/1, ~Backend/0")

    def test_other_numbers_fields_and_texts(self) -> None:
        self.write("runtime/core/error.h", ERRORS.replace("0x10", "0x12"))
        self.check_difference("errors", "new: NotSupported=18 (last)", "gone: NotSupported=16")
        self.write("runtime/core/error.h", ERRORS)
        self.write("a.fbs", SCHEMA.replace("  b:", "  c: bool;\n  b:"))
        self.check_difference("schema", "new: T.c:bool (before T.b:[int32](key))")
        self.write("a.fbs", SCHEMA)
        self.write("magic.py", 'M = b"MAGIC2"\n')
        self.check_difference("magic", "new: MAGIC2 (last)", "gone: MAGIC1")

    def test_functions_of_the_shim(self) -> None:
        self.write(f"torch/{TORCH}", SHIM.replace("int64_t** sizes", "int64_t** sizes, int32_t more") +
                   "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_of_nobody(int x);\n")
        self.check_difference("shim", "new: aoti_torch_of_nobody",
                              "other parameters: aoti_torch_get_sizes (provided here)")

    def test_files_that_are_gone_or_unreadable(self) -> None:
        self.write("interface.h", "struct Backend {};")
        self.check_difference("backend", "nothing found in interface.h: it is written in another way")
        (self.folder / "interface.h").unlink()
        self.check_difference("backend", "no file: interface.h")

    def test_folders_of_something_else(self) -> None:
        status, printed = self.run_drift(torch="nothing")
        self.assertEqual(status, 2)
        self.assertIn("expected torch, found no include/torch", printed)

    def test_a_wheel(self) -> None:
        with zipfile.ZipFile(self.folder / "torch.whl", "w") as wheel:
            wheel.writestr(f"torch/{TORCH}", SHIM)
        self.assertEqual(self.run_drift(torch="torch.whl")[0], 0)

    def test_the_facts_of_this_repository(self) -> None:
        facts = json.loads(drift.FACTS.read_text())
        self.assertEqual(len({fact["id"] for fact in facts}), len(facts))
        for fact in facts:
            self.assertIn(fact["kind"], drift.KINDS)
            self.assertTrue(fact["value"] and fact["why"] and fact["files"], fact["id"])


if __name__ == "__main__":
    unittest.main()
