# SPDX-License-Identifier: MIT
"""The third-party parts of each file of a release, in the format SPDX 2.3: the tables of NOTICE, with the versions of the
packages of the Debian that it is for."""

import hashlib
import json
import pathlib
import re
import time

from dev.part import Failed
from dev.release.artifacts import digest

# By the beginning of a table's title: how what it lists is related to Tenon, whose id comes second where the name ends so.
TABLES = {"Compiled into": "STATIC_LINK", "Linked dynamically": "DYNAMIC_LINK", "Loaded by name": "RUNTIME_DEPENDENCY_OF",
          "Used by tests": "TEST_DEPENDENCY_OF"}
LICENCES = {"MIT, with exception": "MIT", "GPL-3 with exception": "GPL-3.0-only WITH GCC-exception-3.1",
            "NVIDIA's": "NOASSERTION"}
SPDX_LICENCES = {"Apache-2.0", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT"}
# Debian's packages of what NOTICE names.
DEBIAN = {"flatbuffers": "libflatbuffers-dev", "nlohmann/json": "nlohmann-json3-dev", "CLI11": "libcli11-dev",
          "fmt": "libfmt-dev", "libzip": "libzip-dev", "oneDNN": "libdnnl-dev", "SLEEF": "libsleef3",
          "kissfft": "libkissfft-float131", "LAPACK": "liblapack3", "Zydis": "libzydis-dev", "Catch2": "catch2",
          "libgomp": "libgomp1", "libsodium": "libsodium23"}
# The packages of PyPI, with the versions that the wheel is built with.
PYPI = {"nanobind": pathlib.Path(__file__).resolve().parents[3] / "examples/python/packaging/requirements.txt"}
# The columns of a table.
NAME, LICENCE, WHERE = slice(2, 25), slice(25, 46), slice(46, None)
# Which parts of NOTICE's last column are in a package of Debian. Other files have all of them.
PARTS = {"libtenon1": ("host",), "libtenon-dev": ("host", "compiler", "conformance kit"), "python3-tenon": ("Python module",),
         "tenon-tools": ("host", "compiler", "programs", "conformance kit")}


def read_notice(text):
    """(name, licence, relation, where) of each row."""
    rows, relation = [], ""
    for block in text.split("\n\n"):
        title = next((of for begin, of in TABLES.items() if block.startswith(begin)), "")
        if title or not block.startswith("  "):
            relation = title
        elif relation:
            for line in block.splitlines():
                licence = line[LICENCE].strip()
                if licence not in SPDX_LICENCES and licence not in LICENCES:
                    raise Failed(f"NOTICE: {licence!r} of {line[NAME].strip()} is not in tests/dev/release/sbom.py")
                rows.append((line[NAME].strip(), LICENCES.get(licence, licence), relation, line[WHERE].strip()))
    if {relation for _, _, relation, _ in rows} != set(TABLES.values()):
        raise Failed("NOTICE: a table of tests/dev/release/sbom.py was not found")
    return rows


def _id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def _package(name, version, licence, **more):
    return {"name": name, "SPDXID": _id(name), "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            **more}


def contained(notice, file):
    """The rows of NOTICE that are about a file: those linked into another part are not in it."""
    parts = PARTS.get(file.partition("_")[0])
    for name, licence, relation, where in read_notice(notice):
        if parts is None or not relation.endswith("_LINK") or any(part in where for part in parts):
            yield name, licence, relation


def document(version, notice, file, sha256, version_of, created):
    """The document of one file, as JSON's objects. version_of(name) is the version of a package of Debian or PyPI."""
    ours = _package("tenon", version, "MIT", supplier="Organization: Tenon authors")
    listed, relations = [ours], [("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"])]
    listed.append(_package(file, version, "MIT", packageFileName=file,
                           checksums=[{"algorithm": "SHA256", "checksumValue": sha256}]))
    relations += [("SPDXRef-DOCUMENT", "DESCRIBES", _id(file)), (_id(file), "GENERATED_FROM", ours["SPDXID"])]
    for name, licence, relation in contained(notice, file):
        package, source = DEBIAN.get(name), "deb/debian"
        if name in PYPI:
            package, source = name, "pypi"
        found = version_of(package) if package else ""
        more = {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:{source}/{package}@{found}"}]} if found else {}
        listed.append(_package(name, found or "NOASSERTION", licence, **more))
        ends = (_id(name), ours["SPDXID"])
        relations.append((ends[0], relation, ends[1]) if relation.endswith("_OF") else (ends[1], relation, ends[0]))
    key = hashlib.sha256(json.dumps([listed, relations]).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": file,
        "documentNamespace": f"https://spdx.org/spdxdocs/tenon-{version}-{key}",
        "creationInfo": {"created": created, "creators": ["Tool: ./dev release of Tenon"]},
        "packages": listed,
        "relationships": [{"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}
                          for of, kind, to in relations],
    }


def problems(found, folder):
    """What is wrong with a document: names that are not unique, or refer to nothing; digests of other files."""
    ids = [package["SPDXID"] for package in found["packages"]]
    out = [f"{name} is twice in the list" for name in sorted({name for name in ids if ids.count(name) > 1})]
    for relation in found["relationships"]:
        for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
            if end not in [*ids, "SPDXRef-DOCUMENT"]:
                out.append(f"{end} is not in the list")
    for package in found["packages"]:
        for checksum in package.get("checksums", []):
            path = folder / package["packageFileName"]
            if not path.is_file() or digest(path) != checksum["checksumValue"]:
                out.append(f"{path.name} differs from the listed file")
    return out


def write(made, place):
    """FILE.spdx.json of each file that is for a Debian."""
    def version_of(package):
        if package in PYPI:
            return re.search(rf"^{package}==(\S+)$", PYPI[package].read_text(encoding="utf-8"), re.M)[1]
        return made.part.captured(place.words("dpkg-query", "-W", "-f=${Version}", package), stderr=None).stdout

    for file in made.files_for(place.debian):
        path = made.folder / f"{file.name}.spdx.json"
        found = document(made.version, pathlib.Path("NOTICE").read_text(encoding="utf-8"), file.name, digest(file), version_of,
                         time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        wrong = problems(json.loads(path.read_text(encoding="utf-8")), made.folder)
        if wrong:
            raise Failed(f"{path.name}: {wrong[0]}")
