# SPDX-License-Identifier: MIT
"""docs/python/reference.md is what the docstrings say: reference_test.py BUILD SOURCE [write]

`write` writes the page anew. It has all public names of `tenon`, with the signatures that
`help(tenon)` shows, without the types of parameters.
"""

import ast
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

All public names of `tenon` and `tenon.aoti`. [Programs in Python](programs.md) shows their use;
[`tenon.executorch`](../aot/executorch-exporter.md) and [`tenon.dynamo`](torch-compile.md) have their own pages. `help()` also
shows the types of parameters.

`examples/python/tests/reference_test.py` makes this page from the docstrings: do not edit it.
"""
REPORTS = """
## Reports

Dataclasses that `doctor`, `inspect` and `plugins` return. Their [source](../../examples/python/tenon/_reports.py) has the
members with their types, and the [schemas](../schemas/README.md) describe them.

"""


def without_types(text):
    """A signature without the types of its parameters."""
    function = ast.parse(f"def {text}: ...").body[0]
    for each in [*function.args.args, *function.args.kwonlyargs]:
        each.annotation = None
    return shortened(ast.unparse(function).removeprefix("def ").removesuffix(":\n    ..."))


def shortened(text):
    return text.removesuffix(" -> None")


def signature(name, thing):
    """The signature and the rest of the docstring."""
    text = inspect.getdoc(thing) or ""
    first, _, rest = text.partition("\n")
    if first.startswith(name + "("):  # Of the extension module.
        first = first.replace("tenon._tenon.", "").replace("(self, ", "(").replace("(self)", "()")
        return without_types(first), rest
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name, text
    parameters = [each.replace(annotation=each.empty) for each in found.parameters.values() if each.name != "self"]
    # Annotations are in quotes, and so are defaults, which keep them.
    shown = re.sub(r"(= ?)?'([^']*)'", lambda each: each[0] if each[1] else each[2],
                   str(found.replace(parameters=parameters)))
    return name + shortened(shown), text


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


def members_of(name, kind):
    """A list of the members that one paragraph describes, then a section for each of the others."""
    short, long = [], []
    for member, value in sorted(vars(kind).items()):
        if member.startswith("_") or not getattr(kind, member).__doc__:
            continue
        thing = value if isinstance(value, property) else getattr(kind, member)
        shown, text = (member, inspect.getdoc(thing)) if isinstance(value, property) else signature(member, thing)
        text = text.strip()
        if "\n\n" in text:
            long.append(section(3, f"{name}.{member}", thing))
        else:
            short.append(f"- `{shown}`: {' '.join(text.split())}\n")
    return "\n" + "".join(short) + "".join(long) if short else "".join(long)


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
        parts.append(members_of(name, kind))
    parts.append(REPORTS)
    for name, kind in sorted(vars(_reports).items()):
        if dataclasses.is_dataclass(kind):
            parts.append(f"- `{name}`: {inspect.getdoc(kind)}\n")
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[3:] == ["write"]:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit(f"{PAGE} is not what the docstrings say: run examples/python/tests/reference_test.py "
                 f"{BUILD} {SOURCE} write")
