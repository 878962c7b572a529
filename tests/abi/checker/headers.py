# SPDX-License-Identifier: MIT
"""Reads the headers of a boundary: what they declare, as texts without comments and with one way to space them.

The grammar is what the headers use: structs with an optional union or struct inside, enumerations without a name,
typedefs of functions and numbers, functions, and macros. Anything else is Unreadable, so that nothing escapes.
"""

import ast
import dataclasses
import hashlib
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\w+|\.\.\.|##|[^\s\w]')
# The rest of a rule is further to the right than its number (tests/conformance/kit/verdict/rulebook.py).
NUMBER = r"TN-[A-Z]{3}-[0-9]+"
RULE = re.compile(rf"^[ \t]*///( {{2,}})({NUMBER})[ \t]+(.*(?:\n[ \t]*///\1 +(?!{NUMBER}\s)\S.*)*)$", re.M)


class Unreadable(Exception):
    """A header declares what this file does not know."""


@dataclasses.dataclass(frozen=True)
class Member:
    """One member. `base` is the name of its type, None for a pointer, or the Aggregate that is declared in place."""

    name: str
    declaration: str
    base: object
    counts: tuple = ()  # Of an array, as texts.


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """A struct or union."""

    is_union: bool
    members: tuple


@dataclasses.dataclass
class Boundary:
    """What headers declare. Each table is by name; `headers` says where a name was declared."""

    structs: dict = dataclasses.field(default_factory=dict)  # -> Aggregate
    constants: dict = dataclasses.field(default_factory=dict)  # -> number
    macros: dict = dataclasses.field(default_factory=dict)  # -> text; "" for one with parameters or for a compiler
    types: dict = dataclasses.field(default_factory=dict)  # typedefs of functions and numbers, opaque structs -> text
    functions: dict = dataclasses.field(default_factory=dict)  # -> text
    rules: dict = dataclasses.field(default_factory=dict)  # -> hash of its text
    rule_texts: dict = dataclasses.field(default_factory=dict)
    headers: dict = dataclasses.field(default_factory=dict)

    @property
    def extensions(self):
        """Macro -> id."""
        return {name: ast.literal_eval(value) for name, value in self.macros.items()
                if name.startswith("TENON_EXTENSION_") and value}


def tokens_of(text):
    """The words and signs of a text without comments."""
    return TOKEN.findall(text)


def spaced(tokens):
    """One way to write tokens, close to how clang-format does."""
    out = ""
    for token in tokens:
        word = re.match(r"[\w\"'{]", token)
        if out and (out[-1] in ",;{" or token in "{}=" or out[-1] == "=" or word and re.search(r"[\w*\"'}]$", out)):
            out += " "
        out += token
    return out


def _split(tokens, separator):
    """Parts of tokens between separators outside of braces and brackets."""
    parts, depth, part = [], 0, []
    for token in tokens:
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(token, 0)
        if token == separator and depth == 0:
            parts.append(part)
            part = []
        else:
            part.append(token)
    parts.append(part)
    return [part for part in parts if part]


def read_member(text):
    """A member by its declaration, which may be of a header or of a frozen file."""
    return _member(tokens_of(text))


def _member(tokens):
    declaration = spaced(tokens)
    counts = []
    while tokens[-1] == "]":
        at = len(tokens) - 1 - tokens[::-1].index("[")
        counts.insert(0, spaced(tokens[at + 1:-1]))
        tokens = tokens[:at]
    if tokens[0] in ("union", "struct") and "{" in tokens:
        if tokens[1] != "{" or tokens[-2] != "}":
            raise Unreadable(f"expected a union without a name of its own, with a member's name, found `{declaration}`")
        inside = tuple(map(_member, _split(tokens[2:-2], ";")))
        return Member(tokens[-1], declaration, Aggregate(tokens[0] == "union", inside), tuple(counts))
    function = _function_pointer(tokens)
    if function:
        return Member(function, declaration, None, tuple(counts))
    if "*" in tokens[:-1] and re.fullmatch(r"\w+", tokens[-1]):
        return Member(tokens[-1], declaration, None, tuple(counts))
    types = [token for token in tokens[:-1] if token not in ("const", "struct")]
    if len(types) != 1 or not all(re.fullmatch(r"\w+", token) for token in tokens):
        raise Unreadable(f"expected `type name`, a pointer, an array or a union, found `{declaration}`")
    return Member(tokens[-1], declaration, types[0], tuple(counts))


def _function_pointer(tokens):
    """The name of a pointer to a function: `result(CALL* name)(parameters)`."""
    match = re.fullmatch(r"[^()]*\((?:\w+ ?)?\* ?(\w+)\)\(.*\)", spaced(tokens))
    return match[1] if match else None


class _Reader:
    """Adds headers to a Boundary."""

    def __init__(self, boundary):
        self.boundary = boundary
        self.header = ""
        self.macros = {}  # name -> [(conditions, replacement)]

    def _put(self, table, name, value):
        if table.setdefault(name, value) != value:
            raise Unreadable(f"{name} is declared twice: `{table[name]}` and `{value}`")
        self.boundary.headers.setdefault(name, self.header)

    def read(self, name, text):
        self.header = name
        for _, rule, lines in RULE.findall(text):
            self._put(self.boundary.rule_texts, rule, " ".join(re.sub(r"\n[ \t]*///", " ", lines).split()))
        text = re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|//[^\n]*',
                      lambda match: match[0] if match[0].startswith('"') else " ", text, flags=re.S)
        declarations = self._preprocessed(re.sub(r"\\\n", " ", text))
        for tokens in _split(tokens_of(declarations), ";"):
            try:
                self._declaration(tokens)
            except Unreadable as error:
                raise Unreadable(f"{name}: {error}") from None

    def _preprocessed(self, text):
        """The declarations of C; macros are kept apart, with the conditions that they depend on."""
        out, conditions = [], []
        for line in text.splitlines():
            outside = [one for one in conditions if not re.fullmatch(r"!defined\(\w+_H\)", one)]
            directive = re.match(r"\s*#\s*(\w+)\s*(.*?)\s*$", line)
            if not directive:
                if outside == ["defined(__cplusplus)"]:
                    continue  # `extern "C" {` and its end.
                if outside and outside != ["else after defined(__cplusplus)"] and line.strip():
                    raise Unreadable(f"{self.header}: declared only under {outside[-1]}: `{line.strip()}`")
                out.append(line)
                continue
            name, rest = directive[1], " ".join(directive[2].split())
            if name in ("if", "ifdef", "ifndef"):
                conditions.append({"if": rest, "ifdef": f"defined({rest})", "ifndef": f"!defined({rest})"}[name])
            elif name in ("elif", "else"):
                conditions[-1] = f"{rest or 'else'} after {conditions[-1]}"
            elif name == "endif":
                conditions.pop()
            elif name == "define":
                self._define(rest, outside)
            elif name not in ("include", "error", "undef"):
                raise Unreadable(f"{self.header}: #{name}")
        return "\n".join(out)

    def _define(self, text, conditions):
        name, parameters, value = re.match(r"(\w+)(\([^)]*\))?\s*(.*)$", text).groups()
        if re.fullmatch(r"TENON_\w+_H", name) and not value:
            return
        if parameters:
            name += "(" + ", ".join(word.strip() for word in parameters[1:-1].split(",")) + ")"
        self.macros.setdefault(name, []).append((conditions, value))
        self.boundary.headers.setdefault(name, self.header)

    def _declaration(self, tokens):
        text = spaced(tokens)
        boundary = self.boundary
        if tokens[:2] == ["typedef", "struct"] and "{" in tokens:
            name = tokens[2]
            if tokens[3] != "{" or tokens[-2:] != ["}", name]:
                raise Unreadable(f"expected `typedef struct {name} {{...}} {name}`, found `{text[-80:]}`")
            members = tuple(map(_member, _split(tokens[4:-2], ";")))
            self._put(boundary.structs, name, Aggregate(False, members))
        elif tokens[0] == "enum":
            if tokens[1] != "{" or tokens[-1] != "}":
                raise Unreadable(f"expected an enumeration without a name, found `{text[:80]}`")
            self._constants(_split(tokens[2:-1], ","))
        elif re.fullmatch(r"typedef struct (\w+) \1", text):
            self._put(boundary.types, tokens[2], "struct")
        elif tokens[0] == "struct" and len(tokens) == 2:
            pass  # Declared in another header.
        elif tokens[0] == "typedef" and _function_pointer(tokens[1:]):
            self._put(boundary.types, _function_pointer(tokens[1:]), text.removeprefix("typedef "))
        elif tokens[0] == "typedef" and len(tokens) == 3:
            self._put(boundary.types, tokens[2], tokens[1])
        elif tokens[0] == "TENON_HOST_API" and re.match(r"[^(]*?\w+\(", text):
            self._put(boundary.functions, re.match(r"[^(]*?(\w+)\(", text)[1],
                      text.removeprefix("TENON_HOST_API "))
        else:
            raise Unreadable(f"expected a struct, an enumeration, a typedef or a function, found `{text[:80]}`")

    def _constants(self, entries):
        last = -1
        for entry in entries:
            last = evaluate(spaced(entry[2:]), self.boundary.constants) if len(entry) > 1 else last + 1
            self._put(self.boundary.constants, entry[0], last)


def hash_of(rule):
    """Of the text of a rule with single spaces."""
    return hashlib.sha256(rule.encode()).hexdigest()[:16]


def _macro_text(name, definitions):
    # Code that each side compiles into itself crosses no boundary: the name alone is promised, and it may be mended.
    if name.endswith(")") or any(value.startswith(("__attribute__", "__declspec")) for _, value in definitions):
        return ""
    return "; ".join(" and ".join(conditions) + (": " if conditions else "") + value for conditions, value in definitions)


def evaluate(text, constants):
    """The number of an expression of C, in which other constants may be named."""
    known = {"UINT32_MAX": 2**32 - 1, "UINT64_MAX": 2**64 - 1, "INT64_MAX": 2**63 - 1, **constants}
    python = re.sub(r"\b(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b", r"\1", text)
    try:
        if re.fullmatch(r"[\w\s()<>|&^~+*-]+", python):
            return int(eval(python, {"__builtins__": {}}, known))  # pylint: disable=eval-used
    except (NameError, SyntaxError, TypeError, ValueError):
        pass
    raise Unreadable(f"expected a number, found `{text}`")


def read(root, paths):
    """The Boundary of headers; `root` is what their names are relative to."""
    boundary = Boundary()
    reader = _Reader(boundary)
    for path in paths:
        reader.read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    boundary.macros = {name: _macro_text(name, definitions) for name, definitions in reader.macros.items()}
    boundary.rules = {name: hash_of(text) for name, text in boundary.rule_texts.items()}
    for name in boundary.structs:
        boundary.types.pop(name, None)
    return boundary
