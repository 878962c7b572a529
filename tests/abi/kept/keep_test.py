# SPDX-License-Identifier: MIT
"""keep.py with small files: what is added once is compared with its hash, and never replaced."""

import io
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

import keep
import make

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Keeping(unittest.TestCase):
    """In a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "manifest.json").write_text('{"files": {}, "made": {}}')
        self.store = keep.Store(self.folder)

    def refused(self, call, *words):
        with self.assertRaises(keep.Refused) as caught:
            call(*words)
        return str(caught.exception)

    def test_a_file_comes_back_as_it_was(self):
        data = bytes(range(256)) * 100
        self.store.add("1.0/x86_64/plugin.so", data)
        self.assertLess(self.store.packed("1.0/x86_64/plugin.so").stat().st_size, len(data))
        again = keep.Store(self.folder)
        self.assertEqual(again.read("1.0/x86_64/plugin.so"), data)
        self.assertEqual(again.manifest["files"], {"1.0/x86_64/plugin.so": {"nbytes": 25600, "sha256": keep.sha256(data)}})
        self.assertEqual(again.problems(), [])

    def test_what_was_kept_is_never_replaced(self):
        self.store.add("1.0/x86_64/plugin.so", b"first")
        before = self.store.packed("1.0/x86_64/plugin.so").read_bytes()
        self.store.add("1.0/x86_64/plugin.so", b"first")
        self.assertEqual(self.refused(self.store.add, "1.0/x86_64/plugin.so", b"second"),
                         f"1.0/x86_64/plugin.so: kept already with the hash {keep.sha256(b'first')}, found "
                         f"{keep.sha256(b'second')}: a kept binary is never rebuilt")
        self.assertEqual(self.store.packed("1.0/x86_64/plugin.so").read_bytes(), before)

    def test_names(self):
        for name in ("plugin.so", "1.0/riscv64/plugin.so", "1.0/x86_64/../plugin.so", "../1.0/x86_64/a", "1/x86_64/a"):
            self.assertEqual(self.refused(self.store.add, name, b""),
                             f"{name}: expected VERSION/MACHINE/NAME, for the machines x86_64, aarch64 or data")

    def test_a_changed_file_is_found(self):
        name = "1.0/x86_64/plugin.so"
        self.store.add(name, b"first")
        self.store.packed(name).write_bytes(lzma.compress(b"other"))
        expected = f"{name}: expected the hash {keep.sha256(b'first')}, found {keep.sha256(b'other')}"
        self.assertEqual(self.store.problems(), [expected])
        self.assertEqual(self.refused(self.store.unpack, "1.0", "x86_64", self.folder / "out"), expected)

    def test_a_damaged_a_missing_and_an_unknown_file_are_found(self):
        for name in ("a", "b"):
            self.store.add(f"1.0/x86_64/{name}", b"bytes")
        self.store.packed("1.0/x86_64/a").write_bytes(b"no xz")
        self.store.packed("1.0/x86_64/b").unlink()
        self.store.packed("1.0/x86_64/c").write_bytes(b"")
        self.assertEqual(self.store.problems(), [
            "1.0/x86_64/a.xz: Input format not supported by decoder",
            f"1.0/x86_64/b.xz: [Errno 2] No such file or directory: '{self.folder}/1.0/x86_64/b.xz'",
            "1.0/x86_64/c.xz: not in the manifest"])
        self.assertEqual(self.refused(self.store.read, "1.0/x86_64/c"), "1.0/x86_64/c: not in the manifest")

    def test_one_version_has_a_few_megabytes(self):
        keep.LARGEST, before = 150, keep.LARGEST
        try:
            self.store.add("1.0/x86_64/a", b"x" * 10000)
            self.assertEqual(self.store.problems(), [])
            self.store.add("1.0/aarch64/a", b"y" * 10000)
            size = sum(self.store.packed(name).stat().st_size for name in self.store.names())
            self.assertEqual(self.store.problems(), [f"1.0: {size} bytes, expected at most 150"])
        finally:
            keep.LARGEST = before

    def test_files_of_one_machine_are_unpacked_with_the_data(self):
        for name in ("1.0/x86_64/run", "1.0/aarch64/run", "1.0/data/cases.tar", "1.1/x86_64/run"):
            self.store.add(name, name.encode())
        files = self.store.unpack("1.0", "x86_64", self.folder / "out")
        self.assertEqual({name: path.read_bytes() for name, path in files.items()},
                         {"run": b"1.0/x86_64/run", "cases.tar": b"1.0/data/cases.tar"})
        self.assertTrue(files["run"].stat().st_mode & 0o100)
        self.assertEqual(self.store.names("aarch64"), ["1.0/aarch64/run"])

    def test_nothing_is_made_before_the_freeze(self):
        path = self.folder / "abi-1.0.json"
        expected = "ABI 1.0: the freeze is not declared (tests/abi/boundary.py declare)"
        self.assertEqual(self.refused(make.declared, "1.0", self.folder), expected)
        path.write_text('{"frozen": null}')
        self.assertEqual(self.refused(make.declared, "1.0", self.folder), expected)
        path.write_text('{"frozen": "2026-12-24 abc"}')
        self.assertEqual(make.declared("1.0", self.folder), "2026-12-24 abc")

    def test_it_is_made_from_a_commit(self):
        def git(*words):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words], check=True,
                           capture_output=True)

        git("init")
        git("add", ".")
        git("commit", "-m", "one")
        self.assertRegex(make.commit(self.folder), "^[0-9a-f]{40}$")
        (self.folder / "manifest.json").write_text("{}")
        self.assertEqual(self.refused(make.commit, self.folder),
                         "expected the sources of a commit, found changes in manifest.json")


class Making(unittest.TestCase):
    """What make.py names is there."""

    def test_sources_and_data_are_there(self):
        for source in (*make.PLUGINS.values(), make.RUNTIME[1]):
            self.assertTrue((ROOT / source).is_file(), source)
        for folder in make.DATA.values():
            self.assertTrue(any((ROOT / folder).rglob("*.pte")), folder)
        templates = {path.parent.name for path in (ROOT / "templates").glob("*/README.md")}
        self.assertEqual({pathlib.Path(name).stem for name in make.PLUGINS} | {"python"}, templates)
        self.assertEqual((ROOT / "templates/python/my_npu/my_npu.cpp.from").read_text().strip(), "minimal/my_npu.cpp")

    def test_a_tar_depends_on_names_and_contents_alone(self):
        tars = []
        for number in range(2):
            with tempfile.TemporaryDirectory() as folder:
                for name in ("b", "a")[::1 - 2 * number]:
                    pathlib.Path(folder, name).write_text(name)
                    pathlib.Path(folder, name).chmod(0o600 + number)
                tars.append(make.packed(make.contents(folder)))
        self.assertEqual(*tars)
        with tarfile.open(fileobj=io.BytesIO(tars[0])) as tar:
            self.assertEqual({name: tar.extractfile(name).read() for name in tar.getnames()}, {"a": b"a", "b": b"b"})

    def test_the_case_of_the_minimal_template_is_the_one_that_it_writes(self):
        source = (ROOT / "templates/minimal/my_npu_case.cpp").read_text()
        self.assertIn("{-2.0F, -1.0F, 0.0F, 0.25F, 3.0F, 1e6F}", source)
        self.assertIn("factor = 1.5F", source)
        array = make.case_of_minimal()["scale/input_0.npy"]
        self.assertEqual(len(array), 128 + 24)
        self.assertEqual(array[-4:], bytes.fromhex("00247449"))

    def test_the_kept_files_are_those_of_the_manifest(self):
        self.assertEqual(keep.Store().problems(), [])

    def test_the_manifest_is_written_as_it_is_read(self):
        text = (keep.HERE / "manifest.json").read_text(encoding="utf-8")
        self.assertEqual(json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
