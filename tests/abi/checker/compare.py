# SPDX-License-Identifier: MIT
"""What a change of headers breaks: each finding is one line with the struct, the member, what was expected and found."""

import re

from checker import frozen as frozen_texts
from checker import headers, layout


def compare(frozen, include):
    """Findings about the headers of today, which must only append to a frozen text."""
    return Comparison(frozen, frozen_texts.of_headers(frozen.interface, include), frozen_texts.read_all(include)).run()


def state(include):
    """Findings about the headers of today by themselves."""
    everything = frozen_texts.read_all(include)
    found = [finding for name, struct in sorted(everything.structs.items()) if "/private/" not in everything.headers[name]
             for finding in padding(name, struct, everything, everything.headers[name])]
    for interface in frozen_texts.INTERFACES.values():
        found += foreign_types(frozen_texts.read(interface, include), everything)
    return found


def padding(name, aggregate, everything, header):
    """Bytes of a struct or union that no member has. Between members of 8 bytes and pointers of 4 they cannot be avoided,
    so that holes are looked for on 64 bits alone."""
    layouts = {target.name: layout.of_aggregate(aggregate, target, everything) for target in layout.TARGETS}
    tails = [f"{target} {one.tail}" for target, one in layouts.items() if one.tail]
    if tails:
        mend = [f"`{text};`" for text in layout.mend(aggregate, everything)] if name in everything.structs else []
        yield (f"{name}: hidden padding at the end: expected 0 bytes, found {', '.join(tails)} (bytes by target)"
               + (": append " if mend else "") + f"{' and '.join(mend)} ({header})")
    for size, member in layouts["LP64"].holes:
        yield (f"{name}.{member}: hidden padding before the member: expected 0 bytes, found LP64 {size} (bytes by target) "
               f"({header})")
    for member in aggregate.members:
        if isinstance(member.base, headers.Aggregate):
            yield from padding(f"{name}.{member.name}", member.base, everything, header)


def _declarations(boundary):
    """(what it is about, its text) of everything that names types."""
    for name, struct in boundary.structs.items():
        for member in struct.members:
            yield f"{name}.{member.name}", member.declaration
    yield from boundary.types.items()
    yield from boundary.functions.items()


def foreign_types(boundary, everything):
    """Types of drafts and of private headers in what is frozen."""
    drafts = tuple(f"{interface.folder}/{draft}/" for interface in frozen_texts.INTERFACES.values()
                   for draft in interface.drafts)
    for about, text in _declarations(boundary):
        for word in sorted(set(re.findall(r"\btenon_\w+", text))):
            header = everything.headers.get(word, "")
            if (word in everything.structs or word in everything.types) and header.startswith(drafts):
                yield f"{about}: expected types of frozen headers, found `{word}` of {header}"


def holders_by_value(name, everything):
    """Each place that holds a struct itself and not a pointer to it, in words."""
    by_value = re.compile(rf"\b{name}\b(?! ?(?:const ?)?\*)")
    for holder, struct in everything.structs.items():
        for member in struct.members:
            if by_value.search(member.declaration):
                yield (f"as `{member.name}`, the last member of {holder}" if member == struct.members[-1]
                       else f"as {holder}.{member.name}")
    for about, text in _declarations(everything):
        if "(" in text and by_value.search(text):
            yield f"in `{about}`"


def _without_name(member):
    return re.sub(rf"\b{member.name}\b", "", member.declaration, count=1)


class Comparison:
    """Of a frozen text with the headers of today; `found` and `added` have what was found."""

    def __init__(self, frozen, today, everything):
        self.frozen, self.today, self.everything = frozen, today, everything
        self.found, self.added = [], []
        # Other interfaces that it uses have their own file.
        self.then = headers.Boundary(structs={**everything.structs, **frozen.boundary.structs},
                                     types={**everything.types, **frozen.boundary.types},
                                     constants={**everything.constants, **frozen.boundary.constants})

    def run(self):
        """The findings."""
        before, now = self.frozen.boundary, self.today.boundary
        for name, struct in before.structs.items():
            if name in now.structs:
                self.struct(name, struct.members, now.structs[name].members)
            else:
                self.found.append(f"{name}: expected a struct of {len(struct.members)} members, found none")
        self.added += [f"the struct {name}" for name in now.structs if name not in before.structs]
        for table in ("constants", "macros", "types", "functions"):
            self.table(getattr(before, table), getattr(now, table), table.removesuffix("s"))
        for name, value in before.rules.items():
            if name not in now.rules:
                self.found.append(f"{name}: the rule was removed: expected its text with the hash {value}, found none")
            elif now.rules[name] != value:
                self.found.append(f"{name}: the text of the rule changed: expected the hash {value}, found {now.rules[name]} "
                                  f"of \"{now.rule_texts[name]}\": a rule with another meaning takes a new number")
        self.version()
        return self.found

    def table(self, before, now, singular):
        for name, value in before.items():
            if now.get(name) != value:
                found = f"`{now[name]}`" if name in now else "none"
                self.found.append(f"{name}: expected the {singular} `{value}`, found {found}")
        self.added += [f"the {singular} {name}" for name in now if name not in before]

    def version(self):
        (major, minor), (now_major, now_minor) = self.frozen.version, self.today.version
        names = self.frozen.interface.macros
        if now_major != major:
            self.found.append(f"{names[0]}: expected {major}, found {now_major}")
        elif now_minor < minor:
            self.found.append(f"{names[1]}: expected {minor} or more, found {now_minor}")
        elif now_minor == minor:
            self.found += [f"{names[1]}: expected {minor + 1} or more, as {one} was added to {self.frozen.shown}, found "
                           f"{now_minor}" for one in self.added]

    def struct(self, name, before, now):
        for at, member in enumerate(before):
            if at >= len(now) or now[at].declaration != member.declaration:
                self.found.append(self.changed(name, before, now, at))
                return
        if len(now) > len(before):
            self.grown(name, before, now)

    def changed(self, name, before, now, at):
        """The first difference of the members that were there."""
        expected, found = before[at], now[at] if at < len(now) else None
        names, now_names = [member.name for member in before], [member.name for member in now]
        about, what, sizes = expected.name, "the member was removed", ""
        if found is None:
            pass
        elif expected.name == found.name:
            sizes = self.sizes(name, at)
            what = "the member was resized" if sizes else "the member was changed"
        elif expected.name in now_names and found.name in names:
            what = "the members were reordered"
        elif expected.name in now_names:
            about, what = found.name, "the member was inserted"
        elif found.name not in names and _without_name(expected) == _without_name(found):
            what = "the member was renamed"
        return (f"{name}.{about}: {what}: expected `{expected.declaration}`, found "
                + (f"`{found.declaration}`" if found else "the end") + (f" ({sizes})" if sizes else ""))

    def sizes(self, name, at):
        """"LP64: 4 and 8 bytes", where the sizes of a member differ."""
        pairs = {target.name: [layout.of(name, target, boundary).places[at].size for boundary in (self.then, self.everything)]
                 for target in layout.TARGETS}
        return ", ".join(f"{target}: {before} and {now} bytes" for target, (before, now) in pairs.items() if before != now)

    def grown(self, name, before, now):
        new = now[len(before)]
        reasons = ["it has no struct_size"] if before[0].declaration != "uint32_t struct_size" else []
        reasons += [f"it is held by value {place}" for place in holders_by_value(name, self.everything)]
        self.found += [f"{name}.{new.name}: the struct must not grow, as {reason}: expected no member after "
                       f"`{before[-1].declaration}`, found `{new.declaration}`" for reason in reasons]
        for target in layout.TARGETS:
            size = layout.of(name, target, self.then).size
            place = layout.of(name, target, self.everything).places[len(before)]
            if place.offset < size:
                self.found.append(f"{name}.{new.name}: the member is hidden in the tail padding of {self.frozen.shown} on "
                                  f"{target.name}: expected an offset of {size} or more, found {place.offset}")
        self.added += [f"{name}.{member.name}" for member in now[len(before):]]
