# SPDX-License-Identifier: MIT
"""What goes with the files of a release: notes, where they come from, sums, and what a person does next."""

import json
import os
import pathlib
import re

from dev.part import Failed
from dev.release.artifacts import digest

# The address of the repository; without it links in the notes stay relative.
REPOSITORY = "TENON_REPOSITORY"
SUMS = "SHA256SUMS"


def section_of(changelog, version):
    """What a changelog says about a version."""
    found = re.search(rf"^## {re.escape(version)} \(.*?\)\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if not found or not found[1].strip():
        raise Failed(f"CHANGELOG.md says nothing about {version}")
    return found[1].strip()


def write_notes(made, changelog, repository):
    """tenon-VERSION.notes.md: the section of the changelog, with links to the tag, and the files."""
    text = section_of(changelog, made.version)
    if repository:
        text = re.sub(r"\]\((?!https?:|#)", f"]({repository}/blob/v{made.version}/", text)
    files = "".join(f"| `{path.name}` | {path.stat().st_size / 1e6:.2f} MB |\n" for path in made.files())
    (made.folder / f"tenon-{made.version}.notes.md").write_text(
        f"# Tenon {made.version}\n\n{text}\n\n## Files\n\n| file | size |\n|---|---|\n{files}\n"
        f"`sha256sum --check {SUMS}` compares them with their sums.\n", encoding="utf-8")


def write_recipe(made, repository, recipe=pathlib.Path("include/packages/conda/recipe.yaml")):
    """recipe.yaml for conda-forge, with the address and the sum of the archive."""
    text = recipe.read_text(encoding="utf-8")
    values = {"version": f'"{made.version}"', "repository": repository, "sha256": f'"{digest(made.archive)}"'}
    for name, value in values.items():
        if value:
            text, count = re.subn(rf"^  {name}: .*$", f"  {name}: {value}", text, count=1, flags=re.M)
            if not count:
                raise Failed(f"{recipe} has no line of {name}")
    (made.folder / "recipe.yaml").write_text(text, encoding="utf-8")


def provenance(made, commit, repository, times):
    """A statement of in-toto with a predicate of SLSA: which commit the files were made from, and how."""
    source = f"git+{repository or 'https://tenon.invalid'}"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in made.files()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{source}#./dev-release",
                "externalParameters": {"version": made.version, "roots": sorted(made.of_debian)},
                "resolvedDependencies": [{"uri": f"{source}@refs/tags/v{made.version}", "digest": {"gitCommit": commit}}],
            },
            "runDetails": {
                "builder": {"id": os.environ.get("GITHUB_WORKFLOW_REF", f"{source}#unsigned")},
                "metadata": {"startedOn": times[0], "finishedOn": times[1]},
            },
        },
    }


def write_provenance(made, commit, repository, times):
    """tenon-VERSION.intoto.json, which the publisher signs."""
    path = made.folder / f"tenon-{made.version}.intoto.json"
    path.write_text(json.dumps(provenance(made, commit, repository, times), indent=1) + "\n", encoding="utf-8")


def write_sums(folder):
    """SHA256SUMS, as sha256sum reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    (folder / SUMS).write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8")


def by_hand(made):
    """The commands that need an account or a key, in their order."""
    version, folder = made.version, pathlib.Path(made.folder)
    wheels = " ".join(str(path) for path in made.files() if path.suffix == ".whl")
    base = folder / f"tenon-{version}"
    lines = [f"git tag --sign v{version} --message 'Tenon {version}' && git push origin main v{version}",
             f"gpg --armor --detach-sign {folder}/{SUMS}",
             f"cosign attest-blob --statement {base}.intoto.json --bundle {base}.sigstore.json {made.archive}",
             f"gh release create v{version} --verify-tag --notes-file {base}.notes.md {folder}/*"]
    if wheels:
        lines.append(f"uv publish {wheels}  # where .github/workflows/release.yml has not done it")
    if any(path.suffix == ".deb" for path in made.files()):
        lines.append(f"dput ftp-master ../tenon_{version}-1_source.changes  # a Debian developer, after `dpkg-buildpackage -S`")
    lines += [f"gh pr create --repo conda-forge/staged-recipes  # with {folder}/recipe.yaml as recipes/tenon/recipe.yaml",
              "gh pr create --repo microsoft/vcpkg  # with include/packages/vcpkg as ports/tenon, `vcpkg x-add-version tenon`",
              "gh pr create --repo conan-io/conan-center-index  # with include/packages/conan as recipes/tenon/all"]
    return lines
