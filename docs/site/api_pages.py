# SPDX-License-Identifier: MIT
"""The API reference as pages for MkDocs, of the XML that Doxygen writes: a page for each header that declares
something, a page for each part of include/tenon that lists its headers, and a first page.

Links between names lead to `.html` files, since text with links inside of code is written as HTML.
"""

import collections
import dataclasses
import html
import os
import posixpath
import re
import xml.etree.ElementTree as ElementTree

WIDTH = 88  # Columns of a declaration that stays on one line.
COMPOUNDS = ("class", "struct", "union", "concept")


def texts_of(node):
    return "".join(node.itertext()) if node is not None else ""


def html_of(text):
    """Text as HTML, in which nothing looks like a link of Markdown."""
    return html.escape(text, quote=False).replace("[", "&#91;").replace("]", "&#93;")


def with_rules(text, page):
    """Numbers of rules as links to the page of the rules."""
    up = "../" * (page.count("/") + 1)
    return re.sub(r"\bTN-[A-Z]{3}-\d+\b", lambda m: f'<a href="{up}reference/rules.html#{m[0].lower()}">{m[0]}</a>', text)


def unnamed_kind(node):
    """"union" or "struct" where a member is one without a name, else None. Its type is "union tenon_value::@1" by Doxygen
    1.9.4, and "union tenon_value", the struct around it, by 1.9.8."""
    of = re.fullmatch(r"(union|struct) ([\w:]+?)(?:::@\d+)?", texts_of(node.find("type")).strip())
    around = (texts_of(node.find("qualifiedname")) or "").rpartition("::")[0]
    return of[1] if of and around and of[2] == around else None


@dataclasses.dataclass
class Entity:
    """Something that a header declares."""

    name: str
    node: ElementTree.Element
    line: int
    refid: str
    kind: str
    members: list = dataclasses.field(default_factory=list)
    anchor: str = ""

    @property
    def is_documented(self):
        return any(texts_of(self.node.find(f"{each}description")).strip() for each in ("brief", "detailed"))

    @property
    def short(self):
        """Without namespaces and without the classes around it."""
        depth, parts = 0, [""]
        for at, letter in enumerate(self.name):
            depth += (letter == "<") - (letter == ">")
            if depth == 0 and letter == ":":
                parts.append("") if self.name[at - 1] == ":" else None
            else:
                parts[-1] += letter
        name = re.sub(r"\s*([<>,])\s*", r"\1", parts[-1]) if depth == 0 else self.name
        if not name.startswith("@"):
            return name
        values = [texts_of(each.find("name")) for each in self.node.findall("enumvalue")]
        return f"{os.path.commonprefix(values)}..."

    @property
    def is_callable(self):
        """Functions, and function pointers of the boundary."""
        return self.kind in ("function", "friend") or texts_of(self.node.find("argsstring")).startswith(")(")

    @property
    def is_trivial(self):
        """What says no more than that it is there: `= default`, `= delete` and friends."""
        arguments = texts_of(self.node.find("argsstring"))
        return not self.is_documented and (self.kind == "friend" or bool(re.search(r"=\s*(default|delete)$", arguments)))


class Reference:
    """Reads the XML in `xml`, made of the headers below `include`; `parts` is {directory of include/tenon: (what it is,
    header to include)}, and `drawn_in` {another directory: the part that it is shown in}."""

    def __init__(self, xml, include, parts, drawn_in):
        self.include, self.parts, self.drawn_in = include, parts, drawn_in
        self.headers = collections.defaultdict(list)
        self.places = {}  # refid: (page, anchor)
        self.names = {}  # qualified name: refid
        for path in sorted(xml.glob("*.xml")):
            for compound in ElementTree.parse(path).getroot().iter("compounddef"):
                self.read(compound)
        for header, entities in self.headers.items():
            # Headers in C name each struct twice: `typedef struct tenon_tensor tenon_tensor;`.
            structs = {each.name: each for each in entities if each.kind in COMPOUNDS}
            twice = [each for each in entities if each.kind == "typedef" and each.name in structs]
            entities[:] = [each for each in entities if each not in twice]
            self.name_anchors(f"{header.removeprefix('tenon/')}.html", entities)
            self.places |= {each.refid: self.places[structs[each.name].refid] for each in twice}

    def read(self, compound):
        kind = compound.get("kind")
        if kind not in (*COMPOUNDS, "namespace", "file") or compound.get("prot") == "private":
            return
        members = [self.member(each) for each in compound.iter("memberdef") if each.get("prot") != "private"]
        members = [each for each in members if not each.is_trivial and not each.name.endswith("_")]
        if kind in COMPOUNDS:
            location = compound.find("location")
            name = texts_of(compound.find("compoundname"))
            entity = Entity(name, compound, int(location.get("line")), compound.get("id"), kind)
            entity.members = self.with_unions(sorted(members, key=lambda each: each.line), location.get("file"))
            self.add(location.get("file"), entity)
        for each in members if kind in ("namespace", "file") else ():
            location = each.node.find("location")
            self.add(location.get("declfile") or location.get("file"), each)

    def add(self, header, entity):
        # What makes a program without the implementation fail to link, and details, are not for readers.
        if "/impl/" in header or entity.name.endswith("_in_exactly_one_source") or "_DETAIL_" in entity.name:
            return
        if any(each.refid == entity.refid for each in self.headers[header]):
            return
        self.headers[header].append(entity)

    @staticmethod
    def member(node):
        name = texts_of(node.find("qualifiedname")) or texts_of(node.find("name"))
        # An enum without a name is "@0" by Doxygen 1.9.4 and "" by 1.9.8.
        name += "@" if not texts_of(node.find("name")) else ""
        location = node.find("location")
        return Entity(name, node, int(location.get("declline") or location.get("line")), node.get("id"), node.get("kind"))

    def with_unions(self, members, header):
        """Members of a union without a name follow the member that is the union, and are named after it: `as.integer`."""
        for union in [each for each in members if unnamed_kind(each.node)]:
            # Doxygen lists them as members of the struct; where the union begins, only the header says.
            lines = (self.include / header).read_text(encoding="utf-8").splitlines()
            begin = next((at for at in range(union.line - 1, 0, -1) if re.search(r"\b(union|struct) \{$", lines[at - 1])),
                         union.line)
            inside = [each for each in members if begin < each.line < union.line]
            for each in inside:
                scope, _, name = each.name.rpartition("::")
                each.name = f"{scope}::{union.short}.{name}"
            members = [each for each in members if each not in (union, *inside)]
            at = sum(each.line < begin for each in members)
            members[at:at] = [union, *inside]
        return members

    def name_anchors(self, page, entities):
        taken = collections.Counter()
        entities.sort(key=lambda each: each.line)

        def give(entity, prefix):
            anchor = re.sub(r"[^\w]+", "-", prefix + entity.short.replace("~", "destroy-")).strip("-")
            taken[anchor] += 1
            entity.anchor = anchor if taken[anchor] == 1 else f"{anchor}-{taken[anchor]}"
            self.places[entity.refid] = (page, entity.anchor)
            self.names.setdefault(entity.name, entity.refid)
            for value in entity.node.findall("enumvalue"):
                self.places[value.get("id")] = (page, entity.anchor)

        for entity in entities:
            give(entity, "")
            for member in entity.members:
                give(member, f"{entity.short}-")

    def part_of(self, header):
        folder = posixpath.dirname(header.removeprefix("tenon/"))
        folder = self.drawn_in.get(folder, folder)
        while folder and folder not in self.parts:
            folder = posixpath.dirname(folder)
        return folder

    # Text.

    def href(self, page, refid):
        if refid not in self.places:
            return None
        goal, anchor = self.places[refid]
        return f"#{anchor}" if goal == page else f"{posixpath.relpath(goal, posixpath.dirname(page) or '.')}#{anchor}"

    def inline(self, node, page):
        """The content of a node as HTML in a line."""
        if node is None:
            return ""

        def escape(text):
            return with_rules(html_of(text), page)

        parts = [escape(node.text or "")]
        for child in node:
            inside = self.inline(child, page)
            if child.tag == "ref":
                href = self.href(page, child.get("refid"))
                inside = f'<a href="{href}">{inside}</a>' if href else inside
            elif child.tag == "computeroutput":
                inside = f"<code>{inside}</code>"
            parts += [inside, escape(child.tail or "")]
        return "".join(parts)

    def blocks(self, node, page):
        """The paragraphs of a description as HTML."""
        out, run = [], []

        def close():
            if text := re.sub(r"\s+", " ", "".join(run)).strip():
                out.append(f"<p>{text}</p>")
            run.clear()

        for para in node.findall("para") if node is not None else ():
            run.append(with_rules(html_of(para.text or ""), page))
            for child in para:
                if child.tag == "itemizedlist":
                    close()
                    items = "".join(f"<li>{self.item(each, page)}</li>" for each in child)
                    out.append(f"<ul>{items}</ul>")
                elif child.tag == "verbatim":
                    close()
                    out.append(f"<pre><code>{html_of(texts_of(child).strip())}</code></pre>")
                elif child.tag == "table":
                    close()
                    rows = "".join(
                        "<tr>" + "".join(f"<td>{self.item(cell, page)}</td>" for cell in row) + "</tr>" for row in child
                    )
                    out.append(f"<table>{rows}</table>")
                else:
                    wrapper = ElementTree.Element("para")
                    wrapper.append(child)
                    run.append(self.inline(wrapper, page))
                    continue
                run.append(with_rules(html_of(child.tail or ""), page))
            close()
        return out

    def item(self, node, page):
        text = "".join(self.blocks(node, page))
        return text[3:-4] if text.count("<p>") == 1 and text.startswith("<p>") and text.endswith("</p>") else text

    def description(self, entity, page):
        return [
            block for each in ("brief", "detailed") for block in self.blocks(entity.node.find(f"{each}description"), page)
        ]

    # Declarations.

    def declaration(self, entity, page):
        """A declaration as HTML with links."""
        node, kind = entity.node, entity.kind
        head = ""
        if (templates := node.find("templateparamlist")) is not None:
            head = f"template &lt;{', '.join(self.parameter(each, page) for each in templates)}&gt;\n"
            if (requires := node.find("requiresclause")) is not None:
                head += f"requires {self.inline(requires, page).strip()}\n"
        name = f"<b>{html_of(entity.short)}</b>"
        if kind in COMPOUNDS:
            bases = [self.base(each, page) for each in node.findall("basecompoundref")]
            initializer = self.inline(node.find("initializer"), page)
            if kind == "concept":
                return initializer.strip()
            return f"{head}{kind} {name}" + (f" : {', '.join(bases)}" if bases else "")
        if kind == "define":
            parameters = [html_of(texts_of(each).strip()) for each in node.findall("param")]
            return f"#define {name}" + (f"({', '.join(parameters)})" if node.find("param") is not None else "")
        if kind == "enum":
            name = "" if entity.name.startswith("@") or "::@" in entity.name else name
            underlying = self.inline(node.find("type"), page).strip()
            strong = "enum class" if node.get("strong") == "yes" else "enum"
            return f"{strong} {name}".strip() + (f" : {underlying}" if underlying else "")
        unnamed = unnamed_kind(node)
        result = f"{unnamed} {{ ... }}" if unnamed else self.inline(node.find("type"), page).strip()
        arguments = texts_of(node.find("argsstring"))
        if kind == "typedef":
            if texts_of(node.find("definition")).startswith("using"):
                return f"{head}using {name} = {result}"
            return f"{head}typedef {result} {name}{html_of(arguments)}"
        words = [word for word in ("static", "explicit") if node.get(word) == "yes"]
        words += ["virtual"] if node.get("virt") in ("virtual", "pure-virtual") else []
        lead = " ".join([*words, result] if result else words)
        lead = f"{lead} " if lead and not lead.endswith("(*") else lead
        if kind == "variable":
            value = texts_of(node.find("initializer")).strip()
            value = f" {html_of(value)}" if value and len(value) <= 40 and "\n" not in value else ""
            if arguments.startswith(")("):
                return head + self.pointer(lead, name, arguments) + value
            return head + lead + name + html_of(arguments) + value
        return head + self.call(lead, name, node, page, arguments)

    def call(self, lead, name, node, page, arguments):
        parameters = [self.parameter(each, page) for each in node.findall("param")]
        end = html_of(arguments[arguments.rfind(")") + 1:]) if arguments else ""
        line = f"{lead}{name}({', '.join(parameters)}){end}"
        if len(html.unescape(re.sub(r"<[^>]+>", "", line))) <= WIDTH:
            return line
        return f"{lead}{name}(\n    " + ",\n    ".join(parameters) + f"){end}"

    @staticmethod
    def pointer(lead, name, arguments):
        """A pointer to a function."""
        lead = lead.replace("(*", " (*")
        if len(html.unescape(re.sub(r"<[^>]+>", "", lead + name + arguments))) > WIDTH:
            arguments = ")(\n    " + arguments.removeprefix(")(").replace(", ", ",\n    ")
        return f"{lead}{name}{html_of(arguments)}"

    def parameter(self, node, page):
        kind = self.inline(node.find("type"), page).strip()
        name = html_of(texts_of(node.find("declname")))
        value = html_of(texts_of(node.find("defval")).strip())
        text = f"{kind} {name}".strip() + html_of(texts_of(node.find("array")))
        return text + (f" = {value}" if value else "")

    def base(self, node, page):
        href = self.href(page, node.get("refid"))
        name = html_of(texts_of(node))
        return f'<a href="{href}">{name}</a>' if href else name

    @staticmethod
    def tidy(declaration):
        """Doxygen writes `Result< T >` and `char *`."""
        lines = re.sub(r"\s+&gt;", "&gt;", re.sub(r"&lt;\s+", "&lt;", declaration)).split("\n")
        for at, line in enumerate(lines):
            if not line.startswith("requires "):
                lines[at] = re.sub(r"(?<=[\w>;]) ((?:&amp;|[*])+) ?(?=[\w&<.,)])", r"\1 ", line).replace(" ,", ",")
        return "\n".join(lines)

    def code(self, entities, page, below=""):
        """Declarations; `below` is the anchor of a heading, which needs no second one here."""
        lines = []
        for each in entities:
            text = self.tidy(self.declaration(each, page))
            lines.append(text if each.anchor == below else f'<span id="{each.anchor}">{text}</span>')
        return '<pre class="api"><code>' + "\n".join(lines) + "</code></pre>"

    # Pages.

    def members(self, entity, page):
        """Members in the order of the header: those without a comment together, in one block."""
        out, plain, fields, heading = [], [], [], None
        has_fields = any(each.kind == "variable" and each.is_documented and not each.is_callable for each in entity.members)

        def close():
            if plain:
                out.append(self.code(plain, page))
                plain.clear()
            if fields:
                out.append('<dl class="api">\n' + "\n".join(fields) + "\n</dl>")
                fields.clear()

        for each in entity.members:
            if not each.is_documented and not (has_fields and each.kind == "variable"):
                if fields:
                    close()
                plain.append(each)
            elif each.is_callable or each.kind not in ("variable", "typedef"):
                close()
                # Overloads follow each other below one heading.
                if each.short != heading:
                    out.append(f"### `{each.short}` {{ #{each.anchor} }}")
                out.append(self.code([each], page, each.anchor if each.short != heading else ""))
                out += [*self.description(each, page), *self.values(each, page)]
                heading = each.short
            else:
                if plain:
                    close()
                text = self.tidy(self.declaration(each, page))
                body = "".join(self.description(each, page))
                fields.append(f'<dt id="{each.anchor}"><code>{text}</code></dt>' + (f"\n<dd>{body}</dd>" if body else ""))
        close()
        return out

    def values(self, entity, page):
        """The values of an enum."""
        rows = []
        for value in entity.node.findall("enumvalue"):
            code = html_of(f"{texts_of(value.find('name'))} {texts_of(value.find('initializer'))}".strip())
            body = "".join(b for each in ("brief", "detailed") for b in self.blocks(value.find(f"{each}description"), page))
            rows.append((code, body))
        if not any(body for _, body in rows):
            return ['<pre class="api"><code>' + "\n".join(code for code, _ in rows) + "</code></pre>"] if rows else []
        listed = (f"<dt><code>{code}</code></dt>" + (f"\n<dd>{body}</dd>" if body else "") for code, body in rows)
        return ['<dl class="api">\n' + "\n".join(listed) + "\n</dl>"]

    def header_page(self, header, entities):
        page = f"{header.removeprefix('tenon/')}.html"
        up = "../" * page.count("/")
        part = self.part_of(header)
        crumbs = f"[API reference]({up}index.md) / [{part}]({up}{part.replace('/', '-')}.md)" if part else \
            f"[API reference]({up}index.md)"
        out = ["---\nhide: [navigation]\n---", f"# {posixpath.basename(header)}", f"{crumbs}", f"`#include <{header}>`"]
        heading = None
        for entity in entities:
            # Overloads of one function follow each other.
            is_first = entity.name != heading
            if is_first:
                out.append(f"## `{entity.short}` {{ #{entity.anchor} }}")
                if entity.name != entity.short and "@" not in entity.name:
                    out.append(f'<p class="api-name"><code>{html_of(entity.name)}</code></p>')
            heading = entity.name
            out.append(self.code([entity], page, entity.anchor if is_first else ""))
            out += [*self.description(entity, page), *self.values(entity, page)]
            out += self.members(entity, page)
        return "\n\n".join(out) + "\n"

    def part_page(self, part):
        about, include = self.parts[part]
        out = ["---\nhide: [toc]\n---", f"# {part}", f"{about[:1].upper()}{about[1:]}."]
        if include:
            out.append(f"`#include <{include}>`")
        headers = sorted(each for each in self.headers if self.part_of(each) == part and self.headers[each])
        for folder, names in self.by_folder(headers).items():
            out.append(f"## {folder}")
            rows = ["| header | declares |", "|---|---|"]
            for header in names:
                place = f"{header.removeprefix('tenon/')}.md"
                listed = dict.fromkeys(self.listed(each, place) for each in self.headers[header])
                rows.append(f"| [{posixpath.basename(header)}]({place}) | {', '.join(listed)} |")
            out.append("\n".join(rows))
        return "\n\n".join(out) + "\n"

    @staticmethod
    def by_folder(headers):
        folders = collections.defaultdict(list)
        for each in headers:
            folders[posixpath.dirname(each)].append(each)
        return dict(sorted(folders.items()))

    def listed(self, entity, place):
        return f"[`{entity.short}`]({place}#{self.places[entity.refid][1]})".replace("|", "&#124;")

    def first_page(self, text):
        """`text`, with links for the names that it has in code, and the parts."""
        def link(found):
            if found[1] not in self.names:
                return found[0]
            page, anchor = self.places[self.names[found[1]]]
            return f"[{found[0]}]({page.removesuffix('.html')}.md#{anchor})"

        text = re.sub(r"`([\w:]+)`", link, text)
        rows = ["| part | |", "|---|---|"]
        rows += [f"| [{part}]({part.replace('/', '-')}.md) | {about} |" for part, (about, _) in self.parts.items()]
        for header in sorted(each for each in self.headers if self.headers[each] and not self.part_of(each)):
            place = f"{header.removeprefix('tenon/')}.md"
            listed = dict.fromkeys(self.listed(each, place) for each in self.headers[header])
            rows.append(f"| [{posixpath.basename(header)}]({place}) | {', '.join(listed)} |")
        return text.rstrip() + "\n\n## Parts\n\n" + "\n".join(rows) + "\n"

    def write(self, folder, first):
        pages = {"index.md": self.first_page(first)}
        pages |= {f"{part.replace('/', '-')}.md": self.part_page(part) for part in self.parts}
        for header, entities in self.headers.items():
            if entities:
                pages[f"{header.removeprefix('tenon/')}.md"] = self.header_page(header, entities)
        for name, text in pages.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return pages


def broken_links(pages):
    """Links between the pages, {name: text}, that lead nowhere."""
    anchors = {
        name.removesuffix(".md"): set(re.findall(r'id="([^"]+)"', text)) | set(re.findall(r"\{ #(\S+) \}", text))
        for name, text in pages.items()
    }
    for name, text in pages.items():
        for target in re.findall(r'href="([^"]+)"', text) + re.findall(r"\]\(([^)]+)\)", text):
            path, _, fragment = target.partition("#")
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            goal = re.sub(r"\.(md|html)$", "", goal)
            if goal.startswith("../"):
                continue  # Another page of the site, which check_site.py looks at.
            if goal not in anchors or fragment and fragment not in anchors[goal]:
                yield f"{name}: {target}"
