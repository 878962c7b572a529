# SPDX-License-Identifier: MIT
"""Reads figures out of the tables of a text, so that pictures and tables are the same."""

import re

UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "MiB": 1.0, "GiB": 1024.0}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_of(text, heading):
    """Rows as dictionaries, of the first table below any heading whose header begins with the cells that `heading`
    names.

    `heading` is the text of the header's first cells, joined by " | ".
    """
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith(f"| {heading} |") and lines[at + 1].startswith("|---"):
            names = cells(line)
            rows = []
            for row in lines[at + 2:]:
                if not row.startswith("|"):
                    break
                rows.append(dict(zip(names, cells(row))))
            return rows
    raise ValueError(f"no table begins with | {heading} |")


def row_of(rows, column, value):
    found = [row for row in rows if row[column] == value]
    if len(found) != 1:
        raise ValueError(f"{len(found)} rows have {value!r} as {column}")
    return found[0]


def figure(cell):
    """The number of a cell in ns or MiB."""
    found = re.fullmatch(r"([\d.]+) (ns|µs|ms|s|MiB|GiB)", cell)
    if not found:
        raise ValueError(f"{cell!r} is no figure with a unit")
    return float(found[1]) * UNITS[found[2]]
