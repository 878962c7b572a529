#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the site, by MkDocs: the pages, pictures, and the API reference, of the XML that Doxygen writes.

    build.py ROOT OUTPUT

OUTPUT/pages gets what MkDocs reads, OUTPUT/site the site. A link from a page to a source of the repository
leads to a page that shows the source; one to a page outside of docs leads to that page. A picture becomes a
part of its page, so that it follows the switch between light and dark. MkDocs runs in its strict mode, and
check_site.py judges what it wrote. tests/docs/site_test.py checks OUTPUT/pages, without MkDocs and Doxygen.
"""

import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / each) for each in (".", "pictures", "../aoti")]

import check_site  # noqa: E402
import operator_table  # noqa: E402
import rules  # noqa: E402
import svg  # noqa: E402

LEFT_OUT = {"site", "meson.build", "__pycache__"}
# Pages with another name or place in the site.
RENAMED = {
    "docs/site/home.md": "index.md", "README.md": "readme.md", "CHANGELOG.md": "changelog.md", "docs/README.md": "pages.md",
}
# What is copied as it is.
ASSETS = ("site.css", "iframe-worker.js")
LANGUAGES = {".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".c": "c", ".py": "python", ".json": "json"}

SOURCE = "---\nhide: [navigation, toc]\nsearch:\n  exclude: true\n---\n"

CODE = re.compile(r"^```.*?^```$|^(?: {4}[^\n]*\n)+|(`+)(?!`).+?(?<!`)\1(?!`)", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[([^\]]+)\]\(([^)\s]+\.svg)\)$", re.MULTILINE)
LINK = re.compile(r"(\]\(\s*)([^\s)#]*)(#[^\s)]*)?")


def page_of(source):
    """The place in the site of a page of the documentation, or None."""
    if source in RENAMED:
        return RENAMED[source]
    if not source.startswith("docs/") or LEFT_OUT & set(source.split("/")):
        return None
    return source.removeprefix("docs/")


class Stage:
    """Writes what MkDocs reads to `pages`, from the repository at `root`."""

    def __init__(self, root, pages):
        self.root, self.pages = root, pages
        self.sources = set()

    def link(self, source, page, target, fragment):
        """A link in a page of the repository as a link in the site."""
        if re.match(r"[a-z]+:", target) or not target:
            return target + fragment
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = page_of(goal)
        if place is None:
            self.sources.add(goal)
            place = self.place_of_source(goal)
            if line := re.fullmatch(r"#L(\d+)", fragment):
                fragment = f"#__codelineno-0-{line[1]}"
        return posixpath.relpath(place, posixpath.dirname(page) or ".") + fragment

    @staticmethod
    def place_of_source(source):
        # MkDocs leaves out what has a leading dot (`exclude_docs`).
        shown = "/".join(part.removeprefix(".") for part in source.split("/"))
        return f"source/{shown}" if shown.endswith(".md") else f"source/{shown}.md"

    def add_page(self, source):
        page = page_of(source) or self.place_of_source(source)
        text = (self.root / source).read_text(encoding="utf-8")
        parts, at = [], 0

        def links(chunk):
            chunk = LINK.sub(lambda m: m[1] + self.link(source, page, m[2], m[3] or ""), chunk)
            return PICTURE.sub(lambda m: self.picture(page, m[1], m[2]), chunk)

        for code in CODE.finditer(text):
            parts += [links(text[at:code.start()]), code[0]]
            at = code.end()
        text = "".join([*parts, links(text[at:])])
        if page == "index.md":
            text = f"---\nhide: [navigation, toc]\ntitle: Home\n---\n{text}"
        (self.pages / page).parent.mkdir(parents=True, exist_ok=True)
        (self.pages / page).write_text(text, encoding="utf-8")

    def picture(self, page, alternative, target):
        path = self.root / "docs" / posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if not path.is_file():
            return f"![{alternative}]({target})"
        drawn = svg.for_page(path.read_text(encoding="utf-8"), alternative)
        return f'<figure class="picture">\n{drawn.strip()}\n</figure>'

    def add_sources(self):
        """Pages that show the sources which other pages link to, and those that these link to."""
        added = set()
        while new := sorted(self.sources - added):
            for source in new:
                added.add(source)
                self.add_page(source) if source.endswith(".md") else self.add_source(source)

    def add_source(self, source):
        path = self.root / source
        page = self.pages / self.place_of_source(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            names = sorted(each.name + "/" * each.is_dir() for each in path.iterdir())
            body = "".join(f"- `{name}`\n" for name in names)
        else:
            text = path.read_text(encoding="utf-8").rstrip()
            language = LANGUAGES.get(path.suffix, "text")
            body = f'````{language} linenums="1"\n{text}\n````\n'
        # Search finds pages and the API reference; each source would be found with them.
        head = f"{SOURCE}# {path.name}\n\n`{source}`\n\n"
        page.write_text(head + body, encoding="utf-8")

    def add_all(self):
        shutil.rmtree(self.pages, ignore_errors=True)
        for path in sorted((self.root / "docs").rglob("*")):
            name = path.relative_to(self.root)
            # Pictures are parts of the pages that show them.
            if LEFT_OUT & set(name.parts) or path.is_dir() or path.suffix == ".svg":
                continue
            if path.suffix == ".md":
                self.add_page(name.as_posix())
            else:
                target = self.pages / page_of(name.as_posix())
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        for name in ("README.md", "CHANGELOG.md", "docs/site/home.md"):
            self.add_page(name)
        self.add_sources()
        for name in ASSETS:
            shutil.copy(self.root / "docs/site" / name, self.pages)
        (self.pages / "pictures.css").write_text(svg.site_css(), encoding="utf-8")

    def broken_links(self):
        """Links between the pages whose file is not there; the API reference is added later."""
        for path in sorted(self.pages.rglob("*.md")):
            if path.read_text(encoding="utf-8").startswith(SOURCE):
                continue  # A source.
            for _, target, _ in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8"))):
                if re.match(r"[a-z]+:", target) or not target:
                    continue
                goal = (path.parent / urllib.parse.unquote(target)).resolve().relative_to(self.pages)
                hidden = any(part.startswith(".") for part in goal.parts)
                if goal.parts[0] != "api" and (hidden or not (self.pages / goal).is_file()):
                    yield f"{path.relative_to(self.pages)}: {target}"


def generated_pages(root):
    """The pages that are made from sources and committed, by their places."""
    return {rules.PAGE: rules.page(root), operator_table.PAGE: operator_table.page(root)}


def version(root):
    text = (root / "include/tenon/abi/version.h").read_text(encoding="utf-8")
    return re.search(r'TENON_VERSION_STRING "([^"]+)"', text)[1]


def main():
    root, output = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    reference, pages, site = output / "reference", output / "pages", output / "site"
    subprocess.run(
        [sys.executable, root / "tests/docs/reference_test.py", root, reference, version(root)], check=True
    )
    Stage(root, pages).add_all()
    shutil.copytree(reference / "api", pages / "api")
    environment = dict(os.environ, TENON_PAGES=str(pages), NO_MKDOCS_2_WARNING="1")
    command = [
        sys.executable, "-m", "mkdocs", "build", "--strict",
        "--config-file", root / "docs/site/mkdocs.yml", "--site-dir", site,
    ]
    subprocess.run(command, env=environment, check=True)
    if problems := check_site.problems(site):
        sys.exit("\n".join([*problems, f"{len(problems)} problems of the site"]))
    print(f"the site is in {site}; its first page is index.html")


if __name__ == "__main__":
    main()
