# SPDX-License-Identifier: MIT
"""The licence texts of what nanobind compiles into the Python module: its own, and robin-map's, of which nanobind's package has
the headers alone."""

import re
import textwrap

ROBIN_MAP = "ext/robin_map/include/tsl/robin_map.h"


def read(nanobind):
    """(nanobind's, robin-map's). NANOBIND is the folder of the installed module."""
    found = sorted(nanobind.parent.glob("nanobind-*.dist-info/**/LICENSE*"))
    if len(found) != 1:
        raise ValueError(f"expected one licence of nanobind next to {nanobind}, found {found}")
    comment = re.match(r"/\*\*\n(.*?)\n \*/", (nanobind / ROBIN_MAP).read_text(encoding="utf-8"), re.S)
    text = re.sub(r"^ \*", "", comment[1], flags=re.M) if comment else ""
    if "Permission is hereby granted" not in text:
        raise ValueError(f"{nanobind / ROBIN_MAP} does not begin with its licence")
    return found[0].read_text(encoding="utf-8"), textwrap.dedent(text) + "\n"
