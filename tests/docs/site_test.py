#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the site is made of has no link to a file that is not in the site, and what judges the built site finds each
kind of fault. MkDocs and Doxygen, which `./dev docs` runs, are not needed; that headings exist is checked by links_test.py.

usage: site_test.py ROOT
"""

import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "docs/site"))

import build  # noqa: E402
import check_site  # noqa: E402
import colours  # noqa: E402
import svg  # noqa: E402


class Site(unittest.TestCase):
    def stage(self, source):
        folder = tempfile.TemporaryDirectory(prefix="tenon-site-")
        self.addCleanup(folder.cleanup)
        stage = build.Stage(source, pathlib.Path(folder.name).resolve() / "pages")
        stage.add_all()
        return stage

    def test_links_stay_in_the_site(self):
        stage = self.stage(root)
        self.assertEqual(list(stage.broken_links()), [])
        self.assertTrue((stage.pages / "index.md").is_file())
        self.assertIn("#### TN-EXE-2\n", (stage.pages / "reference/rules.md").read_text())
        self.assertGreater(len(list(stage.pages.rglob("*.md"))), 100)

    def test_a_page_outside_of_docs_has_links_of_the_site(self):
        folder = tempfile.TemporaryDirectory(prefix="tenon-site-")
        self.addCleanup(folder.cleanup)
        source = pathlib.Path(folder.name)
        pages = {
            "README.md": "[docs](docs/README.md)",
            "CHANGELOG.md": "",
            "docs/README.md": "[faults](../tests/faults/README.md)",
            "docs/site/site.css": "",
            "docs/site/iframe-worker.js": "",
            "docs/site/home.md": "[all](../README.md)\n\n![A thing](../thing.svg)\n",
            "docs/thing.svg": svg.Picture("A & B", 10).render(),
            "docs/reference/errors.md": "",
            "docs/reference/rules.md": "[errors](errors.md)",
            "tests/faults/README.md": "[errors](../../docs/reference/errors.md#codes), [code](faults.cpp)",
            "tests/faults/faults.cpp": "[text](nowhere.md)",
        }
        for name, text in pages.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        stage = self.stage(source)
        self.assertEqual(list(stage.broken_links()), [])
        text = (stage.pages / "source/tests/faults/README.md").read_text()
        self.assertIn("[errors](../../../reference/errors.md#codes)", text)
        self.assertIn("[code](faults.cpp.md)", text)
        home = (stage.pages / "index.md").read_text()
        self.assertIn("[all](pages.md)", home)
        # The picture is a part of the page, in the colours of the site.
        self.assertIn("<title>A thing</title>", home)
        self.assertNotIn("prefers-color-scheme", home)
        self.assertIn("--paper:", (stage.pages / "pictures.css").read_text())
        self.assertEqual((stage.pages / "reference/rules.md").read_text(), "[errors](errors.md)")

    def test_a_link_to_nothing_is_found(self):
        stage = self.stage(root)
        (stage.pages / "index.md").write_text("[lost](source/lost.md#part) `[code](x.md)`")
        self.assertEqual(list(stage.broken_links()), ["index.md: source/lost.md"])

    def test_a_link_to_a_hidden_file_leads_to_a_page_that_mkdocs_takes(self):
        stage = self.stage(root)
        self.assertEqual(
            stage.link("docs/faq.md", "faq.md", "../.github/workflows/ci.yml", ""), "source/github/workflows/ci.yml.md"
        )
        (stage.pages / ".hidden.md").write_text("")
        (stage.pages / "index.md").write_text("[hidden](.hidden.md)")
        self.assertEqual(list(stage.broken_links()), ["index.md: .hidden.md"])


HEAD = '<meta name="viewport" content="x"><meta name="description" content="y"><title>Title</title>'
GOOD = f'<html lang="en">{HEAD}<h1 id="a">A</h1><h2>B</h2><a href="#a">to A</a></html>'


class Judged(unittest.TestCase):
    """check_site.py finds what it looks for."""

    def check(self, text):
        with tempfile.TemporaryDirectory(prefix="tenon-site-") as folder:
            site = pathlib.Path(folder).resolve()
            (site / "page.html").write_text(text)
            (site / "other.html").write_text(GOOD)
            pages = {path: check_site.Page(path.read_text()) for path in site.glob("*.html")}
            path = site / "page.html"
            return [*check_site.link_faults(site, path, pages), *pages[path].faults()]

    def test_a_good_page_has_no_fault(self):
        more = '<a href="other.html#a"><svg role="img"><title>A</title></svg></a><img alt="" src="other.html"><p>one<p>two'
        self.assertEqual(self.check(GOOD), [])
        self.assertEqual(self.check(GOOD.replace("</html>", more + "</html>")), [])

    def test_each_fault_is_found(self):
        for part, replacement, text in (
            ('href="#a"', 'href="#b"', "no such place"),
            ('href="#a"', 'href="gone.html"', "leads nowhere"),
            ('href="#a"', 'href="../../etc/passwd"', "leads nowhere"),
            ("to A", "", "a link has no text"),
            ("to A", "<button></button>to A", "a button has no text"),
            ("to A", "to A<img src='other.html'>", "has no text"),
            ("to A", "to A<svg role='img'></svg>", "a picture has no text"),
            ("to A", "to A<input type='text'>", "no label"),
            ("<h2>B</h2>", "<h3>B</h3>", "of level 3 follows one of level 1"),
            ("<h2>B</h2>", "<h1>B</h1>", "2 first headings"),
            ("<h2>B</h2>", "<h2 id='a'>B</h2>", "two elements have the id a"),
            ("<h2>B</h2>", "<table><tr><td>1</td></tr></table>", "no header"),
            ("<h2>B</h2>", "<script src='https://example.org/x.js'></script>", "another server"),
            (' lang="en"', "", "no language"),
            ("<title>Title</title>", "", "no title"),
            ("viewport", "other", "no width for telephones"),
            ("description", "other", "no description"),
        ):
            with self.subTest(replacement):
                found = self.check(GOOD.replace(part, replacement))
                self.assertEqual(len([each for each in found if text in each]), 1, found)

    def test_contrast_is_that_of_the_standard(self):
        found = {"--back": "#fff", "--grey": "#767676", "--half": "#00000080", "--hue": "225deg", "--same": "var(--grey)"}
        white = colours.resolve("var(--back)", found)
        self.assertAlmostEqual(colours.contrast(white, colours.resolve("#000000", found)), 21)
        self.assertAlmostEqual(colours.contrast(white, colours.resolve("var(--same)", found)), 4.54, 2)
        self.assertAlmostEqual(colours.over(colours.resolve("var(--half)", found), white)[0], 0.498, 3)
        self.assertAlmostEqual(colours.resolve("hsla(var(--hue), 15%, 90%, 0.82)", found)[3], 0.82)
        with self.assertRaises(ValueError):
            colours.resolve("tomato", found)

    def test_colours_that_are_too_near_are_found(self):
        with tempfile.TemporaryDirectory(prefix="tenon-site-") as folder:
            site = pathlib.Path(folder)
            names = {name for pair in colours.THEME for name in pair}
            grounds = {ground for _, ground in colours.THEME}
            theme = "".join(f"{name}:{'#fff' if name in grounds else '#000'};" for name in sorted(names))
            (site / "site.css").write_text(f":root{{{theme}}}")
            (site / "pictures.css").write_text(svg.site_css())
            self.assertEqual(colours.problems(site), [])
            (site / "site.css").write_text(f':root{{{theme}}}[data-md-color-scheme="slate"]{{--md-typeset-color:#eee}}')
            [problem] = colours.problems(site)
            self.assertIn("slate: --md-typeset-color on --md-default-bg-color", problem)
class PageOfRules(unittest.TestCase):
    # "@" for "TN-": ids of rules that do not exist must not be in a source.
    FILES = {
        "include/tenon/abi/a.h": "///   @TST-1  MUST \"run\",\n///             always.\n///   @TST-2  A host MUST run.\nint n;\n",
        "tests/conformance/kit/suites/a.cpp":
            'TENON_CONFORMANCE_TEST("a/runs", "it "\n"runs", "[a][case]"\n  "[@TST-1]") {}\n',
        "tests/conformance/rules/not_observable.txt": "# Why\n@TST-3  It is internal.\n",
        "tests/b_test.cpp": '"[a][@TST-2]"',
        "tests/a_test.py": "# [@TST-2]",
    }

    def page(self, **changes):
        with tempfile.TemporaryDirectory(prefix="tenon-rules-") as folder:
            for name, text in (self.FILES | changes).items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("@", "TN-"))
            return build.rules.page(pathlib.Path(folder)).replace("TN-", "@")

    def test_a_rule_has_its_declaration_keeper_and_tests(self):
        text = self.page()
        self.assertIn("Of 2 rules plugins keep 1 and hosts 1.\n\n## tenon/abi/a.h\n\n### `n`\n\n", text)
        self.assertIn(
            '#### @TST-1\n\n`n` MUST "run", always.\n\n'
            "Kept by the plugin ([a.h:1](../../include/tenon/abi/a.h#L1)). Tested by `a/runs` (it runs; "
            "[a.cpp](../../tests/conformance/kit/suites/a.cpp)).\n", text
        )
        self.assertIn(
            "Kept by the host ([a.h:3](../../include/tenon/abi/a.h#L3)). Tested in [tests/a_test.py]"
            "(../../tests/a_test.py), [tests/b_test.cpp](../../tests/b_test.cpp).\n", text
        )

    def test_a_rule_that_the_kit_cannot_observe_has_the_reason(self):
        text = self.page(**{"tests/conformance/rules/not_observable.txt": "@TST-2  It is internal.\n"})
        self.assertIn("The kit cannot observe it. It is internal. Tested in [tests/a_test.py]", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
