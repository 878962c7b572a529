#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the site is made of has no link to a file that is not in the site. MkDocs and Doxygen, which
`./dev docs` runs, are not needed; that headings exist is checked by links_test.py.

usage: site_test.py ROOT
"""

import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "docs/site"))

import build  # noqa: E402


class Site(unittest.TestCase):
    def stage(self, source, generated):
        folder = tempfile.TemporaryDirectory(prefix="tenon-site-")
        self.addCleanup(folder.cleanup)
        stage = build.Stage(source, pathlib.Path(folder.name).resolve() / "pages", generated)
        stage.add_all()
        return stage

    def test_links_stay_in_the_site(self):
        stage = self.stage(root, build.generated_pages(root))
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
            "docs/reference/errors.md": "",
            "tests/faults/README.md": "[errors](../../docs/reference/errors.md#codes), [code](faults.cpp)",
            "tests/faults/faults.cpp": "[text](nowhere.md)",
        }
        for name, text in pages.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        stage = self.stage(source, {"docs/reference/rules.md": "[errors](errors.md)"})
        self.assertEqual(list(stage.broken_links()), [])
        text = (stage.pages / "source/tests/faults/README.md").read_text()
        self.assertIn("[errors](../../../reference/errors.md#codes)", text)
        self.assertIn("[code](faults.cpp.md)", text)
        self.assertEqual((stage.pages / "reference/rules.md").read_text(), "[errors](errors.md)")

    def test_a_link_to_nothing_is_found(self):
        stage = self.stage(root, build.generated_pages(root))
        (stage.pages / "index.md").write_text("[lost](source/lost.md#part) `[code](x.md)`")
        self.assertEqual(list(stage.broken_links()), ["index.md: source/lost.md"])


class PageOfRules(unittest.TestCase):
    # "@" for "TN-": ids of rules that do not exist must not be in a source.
    FILES = {
        "include/tenon/abi/a.h": "///   @TST-1  MUST run,\n///             always.\n///   @TST-2  A host MUST run.\nint n;\n",
        "include/tenon/conformance/rule_table.hpp":
            '    {"@TST-1",\n     "`n` MUST \\"run\\", "\n     "always.", "tenon/abi/a.h: tenon_a.n"},\n'
            '    {"@TST-2", "A host MUST run.", "tenon/abi/a.h: tenon_a.n"},\n',
        "include/tenon/conformance/impl/suites/a.hpp":
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
        self.assertIn("Of 2 rules plugins keep 1 and hosts 1.\n\n## tenon/abi/a.h\n\n### `tenon_a.n`\n\n", text)
        self.assertIn(
            '#### @TST-1\n\n`n` MUST "run", always.\n\n'
            "Kept by the plugin ([a.h:1](../../include/tenon/abi/a.h#L1)). Tested by `a/runs` (it runs; "
            "[a.hpp](../../include/tenon/conformance/impl/suites/a.hpp)).\n", text
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
