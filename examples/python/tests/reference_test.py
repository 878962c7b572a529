# SPDX-License-Identifier: MIT
"""docs/python/reference.md is what the docstrings say: reference_test.py BUILD SOURCE [write]

`write` writes the page anew. It has all public names of `tenon`, with the signatures that
`help(tenon)` shows.
"""

import dataclasses
import inspect
import pathlib
import re
import sys

import tenon
from tenon import _reports, aoti

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
PAGE = SOURCE / "docs/python/reference.md"
HEAD = """# Reference of the Python package

All public names of `tenon` and `tenon.aoti`, made from their docstrings by
`examples/python/tests/reference_test.py`: do not edit this page. [Programs in Python](programs.md) shows their use;
`tenon.executorch` has [a page of its own](../aot/executorch-exporter.md), and so has [`tenon.dynamo`](torch-compile.md).
"""


def signature(name, thing):
    """The signature and the rest of the docstring."""
    text = inspect.getdoc(thing) or ""
    first, _, rest = text.partition("\n")
    if first.startswith(name + "("):  # Of the extension module.
        return first.replace("tenon._tenon.", "").replace("(self, ", "(").replace("(self)", "()"), rest
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name, text
    parameters = [each for each in found.parameters.values() if each.name != "self"]
    # Annotations are in quotes, and so are defaults, which keep them.
    shown = re.sub(r"(= ?)?'([^']*)'", lambda each: each[0] if each[1] else each[2],
                   str(found.replace(parameters=parameters)))
    return name + shown, text


def paragraphs(text, names):
    """A docstring as Markdown: lines `name: ...` of parameters become a list."""
    lines, is_item = [], False
    for line in text.strip().splitlines():
        item = re.match(r"((?:[a-z_]+, )*[a-z_]+): (.*)", line)
        if item and set(item[1].split(", ")) <= names:
            if not is_item and lines and lines[-1]:
                lines.append("")
            parameters = ", ".join(f"`{each}`" for each in item[1].split(", "))
            lines.append(f"- {parameters}: {item[2]}")
            is_item = True
        elif is_item and line.startswith("    "):
            lines.append("  " + line.strip())
        else:
            if is_item and line:
                lines.append("")
            lines.append(line)
            is_item = False
    return "\n".join(lines)


def section(level, name, thing):
    shown, text = signature(name.rpartition(".")[2], thing)
    names = set(re.findall(r"[a-z_]+(?=[:=,)])", shown)) | set(getattr(thing, "__annotations__", ()))
    head = f"\n{'#' * level} {name}\n"
    if isinstance(thing, property) or isinstance(thing, type):
        return head + f"\n{paragraphs(inspect.getdoc(thing) or '', names)}\n"
    return head + f"\n```python\n{shown}\n```\n\n{paragraphs(text, names)}\n"


def page():
    parts = [HEAD]
    functions = [name for name in tenon.__all__ if not isinstance(getattr(tenon, name), type)]
    classes = [name for name in tenon.__all__ if name not in functions]
    for name in functions:
        parts.append(section(2, f"tenon.{name}", getattr(tenon, name)))
    for name in aoti.__all__:
        parts.append(section(2, f"tenon.aoti.{name}", getattr(aoti, name)))
    for name in classes:
        kind = getattr(tenon, name)
        parts.append(section(2, f"tenon.{name}", kind))
        for member, value in sorted(vars(kind).items()):
            if not member.startswith("_") and getattr(kind, member).__doc__:
                is_property = isinstance(value, property)
                parts.append(section(3, f"{name}.{member}", value if is_property else getattr(kind, member)))
    parts.append("\n## Reports\n\nDataclasses that `doctor`, `inspect` and `plugins` return.\n")
    for name, kind in sorted(vars(_reports).items()):
        if dataclasses.is_dataclass(kind):
            members = "".join(f"- `{each.name}: {each.type}`\n" for each in dataclasses.fields(kind))
            parts.append(f"\n### {name}\n\n{inspect.getdoc(kind)}\n\n{members}")
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[3:] == ["write"]:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit(f"{PAGE} is not what the docstrings say: run examples/python/tests/reference_test.py "
                 f"{BUILD} {SOURCE} write")
