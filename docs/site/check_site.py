#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the built site as a reader with a browser, a screen reader or no network would.

    check_site.py SITE

On each page: links and their anchors lead somewhere; one first heading and no level left out; a language, a title, a
description and a width for telephones; pictures, links and fields have a text; ids are unique; tables have a header;
nothing is loaded from another server. Of the colours, light and dark: texts have a contrast of 4.5 to what they are on.
"""

import html.parser
import pathlib
import sys
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / each) for each in (".", "pictures")]

import colours  # noqa: E402

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# What a page loads, and not what it links to.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
LARGEST = 400_000  # Bytes of a page without what it loads; pages of sources may have more.


class Page(html.parser.HTMLParser):
    """What is checked of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.problems, self.headings = [], [], [], []
        self.title, self.has_viewport, self.has_description = "", False, False
        self.stack = []  # [tag, attributes, text, has a name of another kind]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "html" and not values.get("lang"):
            self.problems.append("the page has no language")
        if tag == "meta":
            self.has_viewport |= values.get("name") == "viewport"
            self.has_description |= values.get("name") == "description" and bool(values.get("content"))
        target = values.get(LOADED.get(tag, ""), "")
        if urllib.parse.urlsplit(target).netloc and values.get("rel") != "canonical":
            self.problems.append(f"{target} is loaded from another server")
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag == "img":
            if "alt" not in values:
                self.problems.append(f"the picture {values.get('src')} has no text")
            elif values["alt"]:
                self.name_those_around()
        if tag == "input" and values.get("type") not in ("hidden", "checkbox", "radio") and not values.get("aria-label"):
            self.problems.append("a field has no label")
        if tag not in VOID:
            named = bool(values.get("aria-label") or values.get("title") or values.get("aria-hidden"))
            self.stack.append([tag, values, "", named])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def name_those_around(self):
        for each in self.stack:
            each[3] = True

    def handle_data(self, data):
        for each in self.stack:
            if len(each[2]) < 200:
                each[2] += data

    def handle_endtag(self, tag):
        if not any(each[0] == tag for each in self.stack):
            return
        # Tags that HTML lets a page leave open end here too.
        while self.stack:
            name, values, text, named = self.stack.pop()
            self.end(name, values, text.strip(), named)
            if name == tag:
                return

    def end(self, tag, values, text, named):
        if tag == "title":
            if any(each[0] == "svg" for each in self.stack):
                svg = next(each for each in reversed(self.stack) if each[0] == "svg")
                svg[3] |= bool(text)
            else:
                self.title = text
        elif tag == "svg" and values.get("role") == "img" and not named:
            self.problems.append("a picture has no text")
        elif (tag == "button" or tag == "a" and "href" in values) and not (text or named):
            self.problems.append(f"a {'link' if tag == 'a' else 'button'} has no text: {values}")
        elif tag == "table" and "highlighttable" not in values.get("class", "") and not values.get("has-head"):
            self.problems.append(f"a table has no header: {text[:40]!r}")
        elif tag == "th":
            for each in self.stack:
                if each[0] == "table":
                    each[1]["has-head"] = "yes"
        elif tag in HEADINGS:
            self.headings.append((int(tag[1]), text.rstrip("¶")))

    def faults(self):
        yield from self.problems
        if not self.title:
            yield "the page has no title"
        if not self.has_viewport:
            yield "the page has no width for telephones"
        if not self.has_description:
            yield "the page has no description"
        if (firsts := [text for level, text in self.headings if level == 1]) and len(firsts) != 1 or not firsts:
            yield f"{len(firsts)} first headings: {firsts[:3]}"
        for (before, _), (level, text) in zip(self.headings, self.headings[1:]):
            if level > before + 1:
                yield f"the heading {text!r} of level {level} follows one of level {before}"
        for twice in sorted({each for each in self.ids if self.ids.count(each) > 1} if len(set(self.ids)) < len(self.ids) else ()):
            yield f"two elements have the id {twice}"


def link_faults(site, path, pages):
    """Links of a page that lead nowhere."""
    for target in sorted(set(pages[path].links)):
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc or path.name == "404.html":
            continue
        goal = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        fragment = urllib.parse.unquote(parts.fragment)
        if goal.is_dir():
            goal /= "index.html"
        if site not in goal.parents or not goal.is_file():
            yield f"{target} leads nowhere"
        elif fragment and goal in pages and fragment not in pages[goal].ids:
            yield f"{target}: the page has no such place"


def problems(site):
    site = pathlib.Path(site).resolve()
    found = []
    pages = {}
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        pages[path] = Page(text)
        if len(text.encode()) > LARGEST and path.relative_to(site).parts[0] != "source":
            found.append(f"{path.relative_to(site)}: {len(text.encode())} bytes")
    for path, page in pages.items():
        faults = [*link_faults(site, path, pages), *(page.faults() if path.name != "404.html" else ())]
        found += [f"{path.relative_to(site)}: {fault}" for fault in faults]
    found += colours.problems(site)
    print(f"{len(pages)} pages, {sum(len(each.links) for each in pages.values())} links, {len(colours.pairs())} pairs of "
          f"colours: {len(found)} problems")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if faults := problems(sys.argv[1]):
        sys.exit("\n".join(faults))
