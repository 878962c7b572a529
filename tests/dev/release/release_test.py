#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `./dev release` and of make_debian.py, without making a release.

usage: release_test.py SOURCE
"""

import copy
import fnmatch
import importlib.metadata
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from dev import packages  # noqa: E402  pylint: disable=wrong-import-position
from dev.in_folder import InFolder  # noqa: E402  pylint: disable=wrong-import-position
from dev.part import Failed  # noqa: E402  pylint: disable=wrong-import-position
from dev.release import artifacts, clean, command, places, sbom  # noqa: E402  pylint: disable=wrong-import-position
from dev.totals import FAILED, PASSED, SKIPPED  # noqa: E402  pylint: disable=wrong-import-position

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "include/packages/debian"))
import dist_info  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
import make_debian  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order


class Release(InFolder):
    def sources(self, version="1.2.3", section="## 1.2.3 (2027-01-02)"):
        (self.folder / "include/tenon/abi").mkdir(parents=True, exist_ok=True)
        pathlib.Path("include/tenon/abi/version.h").write_text(f'#define TENON_VERSION_STRING "{version}"\n', encoding="utf-8")
        pathlib.Path("CHANGELOG.md").write_text(f"# Changelog\n\n{section}\n- It [runs](docs/faq.md).\n", encoding="utf-8")

    def test_the_version_is_that_of_the_sources_and_of_the_changelog(self):
        self.sources()
        self.assertEqual(command.check_version("1.2.3"), ("", True))
        self.assertEqual(command.check_version("1.2.4"),
                         ("expected 1.2.3, the version of include/tenon/abi/version.h, found 1.2.4", False))
        self.sources(section="## 1.2.3 (not released)")
        self.assertEqual(command.check_version("1.2.3"), ("", False))
        self.sources(section="## 1.2.2 (2026-01-02)")
        self.assertEqual(command.check_version("1.2.3"), ("CHANGELOG.md has no section `## 1.2.3 (DATE)`", False))

    def test_what_is_not_released_or_not_committed_is_refused(self):
        self.sources(section="## 1.2.3 (not released)")
        self.program("git", "echo '?? new.txt'")
        with self.assertRaisesRegex(Failed, "not released"):
            command.release(self.part, "1.2.3")
        with self.assertRaisesRegex(Failed, "not committed:\n.. new.txt"):
            command.release(self.part, "1.2.3", trial=True)
        self.assertFalse(pathlib.Path("build/release").exists())

    def test_parts_that_are_asked_for_are_made_with_the_archive(self):
        self.sources()
        shutil.copytree(SOURCE / "include/packages/conda", "include/packages/conda")
        pathlib.Path("NOTICE").write_text((SOURCE / "NOTICE").read_text(encoding="utf-8"), encoding="utf-8")
        self.program("git", "[ $1 = status ] || echo 58c1a1d4 1800000000")
        self.patch(mock.patch.object(packages, "setup", lambda part: None))
        cleaned, made = [], []
        self.patch(mock.patch.object(clean, "check_all", lambda part, debian, files: cleaned.append(
            (debian, [path.name for path in files]))))
        self.patch(mock.patch.object(places, "own", lambda: "bookworm"))
        self.patch(mock.patch.object(places, "place_of", places.Place))

        def archive(of):
            of.part.check("archive", lambda: of.archive.write_text("archive", encoding="utf-8") > 0)

        def making(name):
            def make(of, place):
                made.append((place.debian, name))
                pathlib.Path(f"{place.debian}.{name}").write_text(name, encoding="utf-8")
                of.part.check(name, lambda: of.add(place, [pathlib.Path(f"{place.debian}.{name}")]))
            return make

        self.patch(mock.patch.object(artifacts, "archive", archive))
        self.patch(mock.patch.dict(command.PARTS, {name: making(name) for name in command.PARTS}))
        command.release(self.part, "1.2.3", only=["wheel"])
        self.assertEqual(made, [("bookworm", "wheel")])
        self.assertEqual(self.names(FAILED), [])
        folder = pathlib.Path("build/release/1.2.3")
        self.assertEqual({path.name for path in folder.iterdir()},
                         {"tenon-1.2.3.tar.gz", "tenon-1.2.3.tar.gz.spdx.json", "bookworm.wheel", "bookworm.wheel.spdx.json",
                          "tenon-1.2.3.notes.md", "tenon-1.2.3.intoto.json", "recipe.yaml", "SHA256SUMS"})
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
        self.assertEqual(cleaned, [("bookworm", ["tenon-1.2.3.tar.gz", "bookworm.wheel"])])
        self.assertIn("bookworm.wheel", pathlib.Path(folder, "bookworm.wheel.spdx.json").read_text(encoding="utf-8"))
        self.assertIn("\ngit tag --sign v1.2.3 ", self.printed())

        made.clear()
        cleaned.clear()
        command.release(self.part, "1.2.3", root=["trixie", "bookworm", "trixie"])
        self.assertEqual(made, [("trixie", "debian"), ("trixie", "wheel"), ("bookworm", "debian"), ("bookworm", "wheel")])
        self.assertEqual(cleaned, [(debian, ["tenon-1.2.3.tar.gz", f"{debian}.debian", f"{debian}.wheel"])
                                   for debian in ("trixie", "bookworm")])
        self.assertNotIn("bookworm.", pathlib.Path(folder, "trixie.debian.spdx.json").read_text(encoding="utf-8"))

        self.patch(mock.patch.object(artifacts, "archive", lambda of: of.part.check("archive", ["false"])))
        command.release(self.part, "1.2.3", only=["wheel"])
        self.assertEqual(self.names(FAILED), ["archive"])
        self.assertEqual({path.name for path in folder.iterdir()}, {"bookworm.wheel"})

    def test_commands_are_run_on_this_machine_or_in_the_root_of_another_debian(self):
        self.program("env", 'echo "here $*"\nexec /usr/bin/env "$@"')
        self.program("in_root", 'echo "root $*"')
        self.program("dpkg-checkbuilddeps", "exit 1")
        for name in ("debian", "trixie"):
            (self.folder / "tree" / name).mkdir(parents=True)
        here = places.Place(self.part, "bookworm")
        self.assertEqual(here.output("pwd"), f"here --chdir=. pwd\n{self.folder}")
        self.assertTrue(here.succeeds("true"))
        self.assertFalse(here.succeeds("false"))
        there = places.Place(self.part, "trixie", self.folder / "tree", ("in_root",))
        self.assertEqual(there.output("pwd"), "root env --chdir=. pwd")
        there.run("make", "-s", folder="one", NAME="text")
        self.assertIn("root env --chdir=one NAME=text make -s\n", self.printed())
        folder = there.empty("debian")
        self.assertEqual(list((self.folder / "tree" / folder).iterdir()), [])
        self.assertFalse(folder.exists())

    def test_what_a_source_package_is_built_with_is_installed_where_it_is_missing(self):
        needed = []
        self.patch(mock.patch.object(packages, "need", lambda part, entries: needed.append(entries)))
        places.Place(self.part, "bookworm").prepare("source")
        self.assertEqual(needed, [places.PROGRAMS])
        for status, expected in ((0, ""), (1, "apt-get update -qq\napt-get build-dep -y -qq -o=Dpkg::Use-Pty=0 ./\n")):
            self.program("in_root", f'case "$*" in *checkbuilddeps) exit {status};; esac\n'
                                    'echo "${*##*[= ]apt-get}" | sed "s/^/apt-get/" >>asked')
            places.Place(self.part, "trixie", self.folder, ("in_root",)).prepare("source")
            asked = pathlib.Path("asked")
            self.assertEqual(asked.read_text(encoding="utf-8") if asked.exists() else "", expected)
        self.assertEqual(needed, [places.PROGRAMS])

    def test_versions_of_packages_say_for_which_debian(self):
        for system, expected in (("debian 13", "+deb13"), ("ubuntu 24.04", "+ubuntu24.04")):
            self.program("in_root", f"echo {system}")
            self.assertEqual(places.Place(self.part, "any", self.folder, ("in_root",)).suffix(), expected)
        with mock.patch("platform.freedesktop_os_release", lambda: {"VERSION_CODENAME": "trixie"}):
            self.assertEqual(places.own(), "trixie")
            self.assertEqual(places.place_of(self.part, "trixie").prefix, ())
        with mock.patch("platform.freedesktop_os_release", mock.Mock(side_effect=OSError)):
            self.assertEqual(places.own(), "bookworm")

    def test_a_file_that_the_archive_lacks_is_named(self):
        with tarfile.open("one.tar.gz", "w:gz") as tar:
            member = tarfile.TarInfo("tenon-1/README.md")
            tar.addfile(member, io.BytesIO(b""))
        unpacked = artifacts.unpack("one.tar.gz", self.folder / "unpacked")
        self.assertEqual(artifacts.missing_in(unpacked, ["README.md", ".gitignore"]), [])
        self.assertEqual(artifacts.missing_in(unpacked, ["README.md", "dev"]), ["dev"])

    def test_each_file_is_in_one_of_four_packages(self):
        contents = self.part.output

        def listing(words, **options):
            if words[0] != "dpkg-deb":
                return contents(words, **options)
            name = words[2].name if words[2].name in same else "same"
            return f"drwxr-xr-x root/root 0 2027-01-02 03:04 ./usr/\n-rw-r--r-- root/root 1 2027-01-02 03:04 ./usr/{name}"

        self.patch(mock.patch.object(self.part, "output", listing))
        files = [pathlib.Path(name) for name in ("a.deb", "b.deb", "c.deb", "d.deb")]
        same = {"a.deb", "b.deb", "c.deb", "d.deb"}
        control = (SOURCE / "include/packages/debian/files/control").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall("^Package: ", control, re.M)), len(files))
        with self.assertRaisesRegex(Failed, "expected four packages"):
            artifacts.check_contents(self.part, files[:2])
        artifacts.check_contents(self.part, files)
        same = {"a.deb"}
        with self.assertRaisesRegex(Failed, "./usr/same is in b.deb and in c.deb"):
            artifacts.check_contents(self.part, files)
        self.patch(mock.patch.object(self.part, "output", lambda words: "-rw-r--r-- root/root 1 day time ./usr/share/doc/a.so"))
        with self.assertRaisesRegex(Failed, "./usr/share/doc/a.so is in a.deb"):
            artifacts.check_contents(self.part, files)

    def test_without_root_clean_roots_are_skipped(self):
        self.patch(mock.patch.object(os, "geteuid", lambda: 1000))
        clean.check_all(self.part, "bookworm", [])
        self.assertEqual((self.names(SKIPPED), self.names(PASSED)),
                         (["clean roots: debootstrap makes a root as root alone"], []))

    def test_scripts_of_clean_roots_can_be_read_and_have_what_they_use(self):
        for name in clean.CHECKS:
            script = SOURCE / clean.SCRIPTS / f"{name}.sh"
            subprocess.run(["sh", "-n", script], check=True)
            for sample in re.findall(r"samples/(\S+\.\w+)", script.read_text(encoding="utf-8")):
                self.assertIn(sample, clean.SAMPLES)
        for sample in clean.SAMPLES:
            self.assertTrue((SOURCE / sample).exists(), sample)

    def test_the_autopkgtest_has_what_it_uses(self):
        folder = SOURCE / "include/packages/debian/files/tests"
        [name] = re.findall("^Tests: (.*)$", (folder / "control").read_text(encoding="utf-8"), re.M)
        self.assertTrue(os.access(folder / name, os.X_OK))
        subprocess.run(["sh", "-n", folder / name], check=True)
        text = (folder / name).read_text(encoding="utf-8")
        variables = dict(re.findall(r"^(\w+)=(\$sources/\S+)$", text, re.M))
        used = re.findall(r'"\$(sources|cases|digits)/([\w./]+)"', text)
        self.assertGreater(len(used), 6)
        for variable, path in used:
            place = variables.get(variable, "$sources").replace("$sources", str(SOURCE))
            self.assertTrue(pathlib.Path(place, path).exists(), path)


class Sbom(InFolder):
    NOTICE = (SOURCE / "NOTICE").read_text(encoding="utf-8")

    def document(self, file="one.tar.gz"):
        pathlib.Path("one.tar.gz").write_bytes(b"one")
        return sbom.document("1.2.3", self.NOTICE, file, artifacts.digest(pathlib.Path("one.tar.gz")),
                             lambda package: {"libfmt-dev": "9.1", "nanobind": "3.1.0"}.get(package, ""), "2027-01-02T03:04:05Z")

    def test_all_that_notice_lists_is_in_the_document(self):
        document = self.document()
        self.assertEqual(sbom.problems(document, self.folder), [])
        by_name = {package["name"]: package for package in document["packages"]}
        self.assertLessEqual({"tenon", "one.tar.gz", "fmt", "libzip", "oneDNN", "libgomp", "libsodium", "Catch2"}, set(by_name))
        self.assertEqual(by_name["fmt"]["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/libfmt-dev@9.1")
        self.assertEqual(by_name["nanobind"]["externalRefs"][0]["referenceLocator"], "pkg:pypi/nanobind@3.1.0")
        self.assertEqual(by_name["libgomp"]["licenseDeclared"], "GPL-3.0-only WITH GCC-exception-3.1")
        ends = [(relation["spdxElementId"], relation["relationshipType"], relation["relatedSpdxElement"])
                for relation in document["relationships"]]
        for end in (("SPDXRef-tenon", "STATIC_LINK", "SPDXRef-fmt"), ("SPDXRef-tenon", "DYNAMIC_LINK", "SPDXRef-libzip"),
                    ("SPDXRef-oneDNN", "RUNTIME_DEPENDENCY_OF", "SPDXRef-tenon"),
                    ("SPDXRef-libsodium", "RUNTIME_DEPENDENCY_OF", "SPDXRef-tenon")):
            self.assertIn(end, ends)

    def test_a_package_has_what_is_linked_into_its_part(self):
        names = {file: {name for name, _, _ in sbom.contained(self.NOTICE, file)}
                 for file in ("libtenon1_1.deb", "python3-tenon_1.deb", "tenon.whl")}
        self.assertLessEqual({"flatbuffers", "nlohmann/json", "libsodium"}, names["libtenon1_1.deb"])
        self.assertFalse({"nanobind", "CLI11"} & names["libtenon1_1.deb"])
        self.assertIn("nanobind", names["python3-tenon_1.deb"])
        self.assertNotIn("CLI11", names["python3-tenon_1.deb"])
        self.assertLessEqual(names["libtenon1_1.deb"] | names["python3-tenon_1.deb"], names["tenon.whl"])

    def test_what_is_wrong_with_a_document_is_found(self):
        document = self.document()
        twice = copy.deepcopy(document)
        twice["packages"].append(twice["packages"][0])
        self.assertEqual(sbom.problems(twice, self.folder), ["SPDXRef-tenon is twice in the list"])
        lacks = copy.deepcopy(document)
        lacks["packages"] = [package for package in lacks["packages"] if package["name"] != "fmt"]
        self.assertEqual(sbom.problems(lacks, self.folder), ["SPDXRef-fmt is not in the list"])
        pathlib.Path("one.tar.gz").write_bytes(b"two")
        self.assertEqual(sbom.problems(document, self.folder), ["one.tar.gz differs from the listed file"])

    def test_a_notice_that_is_not_understood_is_refused(self):
        for changed, text in ((self.NOTICE.replace("Apache-2.0 ", "Apache-9.9 "), "'Apache-9.9' of flatbuffers"),
                              (self.NOTICE.replace("Linked dynamically", "Linked"), "a table of .* was not found")):
            with self.assertRaisesRegex(Failed, text):
                sbom.read_notice(changed)


class Debian(InFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "tenon/include/tenon/abi").mkdir(parents=True)
        for name in ("include/tenon/abi/version.h", "CHANGELOG.md", "LICENSE"):
            shutil.copy(SOURCE / name, self.folder / "tenon" / name)
        self.nanobind = self.folder / "site/nanobind"
        (self.nanobind / "src").mkdir(parents=True)
        (self.nanobind / "src/nb_combined.cpp").touch()
        (self.folder / "site/nanobind-3.1.0.dist-info/licenses").mkdir(parents=True)
        (self.folder / "site/nanobind-3.1.0.dist-info/licenses/LICENSE").write_text(
            "Copyright (c) 2022 N. Author, All rights reserved.\n\nRedistribution is permitted:\n\n1. In part.\n", encoding="utf-8")
        (self.nanobind / "ext/robin_map/include/tsl").mkdir(parents=True)
        self.header = self.nanobind / "ext/robin_map/include/tsl/robin_map.h"
        self.header.write_text("/**\n * MIT License\n *\n * Copyright (c) 2017 R. Author\n *\n * Permission is hereby granted\n */\n",
                               encoding="utf-8")

    def make(self, **environment):
        return make_debian.make(self.folder / "tenon", self.nanobind, {"SOURCE_DATE_EPOCH": "1800000000", **environment})

    def test_the_folder_has_what_debian_wants(self):
        version = self.make(DEBFULLNAME="A. Packager", DEBEMAIL="a@tenon.invalid")
        debian = self.folder / "tenon/debian"
        self.assertLessEqual({"changelog", "control", "copyright", "rules", "source", "vendor"},
                             {path.name for path in debian.iterdir()})
        self.assertTrue(os.access(debian / "rules", os.X_OK))
        changelog = (debian / "changelog").read_text(encoding="utf-8")
        self.assertTrue(changelog.startswith(f"tenon ({version}-1) "), changelog)
        self.assertIn(" -- A. Packager <a@tenon.invalid>  Fri, 15 Jan 2027 08:00:00 +0000\n", changelog)
        self.assertNotIn("@", re.sub("<.*?>", "", (debian / "control").read_text(encoding="utf-8")))
        shown = (debian / "copyright").read_text(encoding="utf-8")
        self.assertIn("Copyright: 2026 Tenon authors\nLicense: Expat\n", shown)
        self.assertIn("Copyright: 2022 N. Author\nLicense: BSD-3-Clause\n", shown)
        self.assertIn("Copyright: 2017 R. Author\nLicense: Expat\n", shown)
        self.assertIn("\nLicense: Expat\n Permission is hereby granted, free of charge", shown)
        self.assertTrue(shown.endswith("\nLicense: BSD-3-Clause\n Redistribution is permitted:\n .\n 1. In part.\n"), shown)
        self.assertEqual((debian / "vendor/licences/robin-map").read_text(encoding="utf-8"),
                         "MIT License\n\nCopyright (c) 2017 R. Author\n\nPermission is hereby granted\n")
        make_debian.make(self.folder / "tenon", self.nanobind, {}, "1+deb13")
        self.assertTrue((debian / "changelog").read_text(encoding="utf-8").startswith(f"tenon ({version}-1+deb13) "))
        self.make()
        if shutil.which("dpkg-parsechangelog"):
            shown = subprocess.run(["dpkg-parsechangelog", "-S", "Version"], cwd=self.folder / "tenon", check=True,
                                   capture_output=True, text=True).stdout
            self.assertEqual(shown, f"{version}-1\n")

    def test_an_unreleased_version_says_so_and_a_changelog_without_it_is_refused(self):
        path, version = self.folder / "tenon/CHANGELOG.md", make_debian.version_of(self.folder / "tenon")[0]
        for date, distribution in (("not released", "UNRELEASED"), ("2027-01-02", "unstable")):
            path.write_text(f"## {version} ({date})\n", encoding="utf-8")
            self.make()
            self.assertIn(f"tenon ({version}-1) {distribution};",
                          (self.folder / "tenon/debian/changelog").read_text(encoding="utf-8"))
        path.write_text("## 99.0.0 (2027-01-02)\n", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "has no section of"):
            self.make()

    def test_a_licence_that_is_not_found_is_refused(self):
        self.header.write_text("/* No licence. */\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "does not begin with its licence"):
            self.make()
        shutil.rmtree(self.folder / "site/nanobind-3.1.0.dist-info")
        with self.assertRaisesRegex(ValueError, "expected one licence of nanobind"):
            self.make()

    def test_the_python_package_has_metadata_by_which_pytest_finds_it(self):
        dist_info.write(SOURCE, "1.2.3", self.folder)
        [found] = importlib.metadata.distributions(path=[str(self.folder)])
        self.assertEqual((found.metadata["Name"], found.version), ("tenon-ml", "1.2.3"))
        points = {(point.group, point.name): point.value for point in found.entry_points}
        self.assertEqual(points["pytest11", "tenon"], "_tenon_pytest")
        self.assertEqual(points["torch_dynamo_backends", "tenon"], "tenon.dynamo:tenon")
        installed = (SOURCE / "include/packages/debian/files/python3-tenon.install").read_text(encoding="utf-8").split()
        for name in ("_tenon_pytest.py", "tenon_ml-1.2.3.dist-info"):
            self.assertTrue(any(fnmatch.fnmatch(f"usr/lib/python3/dist-packages/{name}", each) for each in installed), name)

    def test_a_folder_without_nanobind_is_refused(self):
        (self.nanobind / "src/nb_combined.cpp").unlink()
        with self.assertRaisesRegex(SystemExit, "is not the folder of nanobind"):
            self.make()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
