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
        stage = self.stage(source)
        self.assertEqual(list(stage.broken_links()), [])
        text = (stage.pages / "source/tests/faults/README.md").read_text()
        self.assertIn("[errors](../../../reference/errors.md#codes)", text)
        self.assertIn("[code](faults.cpp.md)", text)

    def test_a_link_to_nothing_is_found(self):
        stage = self.stage(root)
        (stage.pages / "index.md").write_text("[lost](source/lost.md#part) `[code](x.md)`")
        self.assertEqual(list(stage.broken_links()), ["index.md: source/lost.md"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
