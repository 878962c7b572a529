# SPDX-License-Identifier: MIT
"""What a change of headers breaks: each finding is one line with the struct, the member, what was expected and found."""

import re

from checker import frozen as frozen_texts
from checker import headers, layout


def compare(frozen, include):
    """Findings about the headers of today, which must only append to a frozen text."""
    today = frozen_texts.of_headers(frozen.interface, include)
    comparison = Comparison(frozen, today, frozen_texts.read_all(include))
    comparison.run()
    return comparison.found


def state(include):
    """Findings about the headers of today by themselves."""
    everything = frozen_texts.read_all(include)
    public = headers.Boundary(structs={name: struct for name, struct in everything.structs.items()
                                       if "/private/" not in everything.headers[name]}, headers=everything.headers)
    found = padding(public, everything)
    for interface in frozen_texts.INTERFACES.values():
        found += foreign_types(frozen_texts.read(interface, include), everything)
    return found


def padding(boundary, everything):
    """Bytes of structs that no member has. Between members of 8 bytes and pointers of 4 they cannot be avoided, so that
    holes are looked for on 64 bits alone."""
    found = []
    for name in sorted(boundary.structs):
        layouts = {target.name: layout.of(name, target, everything) for target in layout.TARGETS}
        tails = [f"{target} {one.tail}" for target, one in layouts.items() if one.tail]
        if tails:
            mend = " and ".join(f"`{text};`" for text in layout.mend(name, everything))
            found.append(f"{name}: hidden padding at the end: expected 0 bytes, found {', '.join(tails)} "
                         f"(bytes by target): append {mend} ({boundary.headers[name]})")
        for size, member in layouts["LP64"].holes:
            found.append(f"{name}.{member}: hidden padding before the member: expected 0 bytes, found LP64 {size} "
                         f"(bytes by target) ({boundary.headers[name]})")
        found += _inside(name, boundary.structs[name], everything, boundary.headers[name])
    return found


def _inside(name, aggregate, everything, header):
    """The same for unions and structs that are declared in a struct."""
    found = []
    for member in aggregate.members:
        if isinstance(member.base, headers.Aggregate):
            tails = [f"{target.name} {one.tail}" for target in layout.TARGETS
                     if (one := layout.of_aggregate(member.base, target, everything)).tail]
            if tails:
                found.append(f"{name}.{member.name}: hidden padding at the end: expected 0 bytes, found {', '.join(tails)} "
                             f"(bytes by target) ({header})")
            found += _inside(f"{name}.{member.name}", member.base, everything, header)
    return found


def _declarations(boundary):
    """(what it is about, its text) of everything that names types."""
    for name, struct in boundary.structs.items():
        for member in struct.members:
            yield f"{name}.{member.name}", member.declaration
    yield from boundary.types.items()
    yield from boundary.functions.items()


def foreign_types(boundary, everything):
    """Types of drafts and of private headers in what is frozen."""
    found = []
    for about, text in _declarations(boundary):
        for word in sorted(set(re.findall(r"\btenon_\w+", text))):
            header = everything.headers.get(word)
            if header and (word in everything.structs or word in everything.types) and _is_draft(header):
                found.append(f"{about}: expected types of frozen headers, found `{word}` of {header}")
    return found


def _is_draft(header):
    return any(header.startswith(f"{interface.folder}/{draft}/")
               for interface in frozen_texts.INTERFACES.values() for draft in interface.drafts)


def holders_by_value(name, everything):
    """(struct or function, member, whether it is the last one) for each place that holds a struct itself."""
    for holder, struct in everything.structs.items():
        for member in struct.members:
            if _by_value(name, member.declaration):
                yield holder, member.name, member == struct.members[-1]
    for about, text in _declarations(everything):
        if "(" in text and _by_value(name, text):
            yield about, None, False


def _by_value(name, text):
    """Not a pointer to it."""
    return re.search(rf"\b{name}\b(?! ?(?:const ?)?\*)", text) is not None


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
        before, now = self.frozen.boundary, self.today.boundary
        for name, struct in before.structs.items():
            if name in now.structs:
                self.struct(name, struct.members, now.structs[name].members)
            else:
                self.found.append(f"{name}: expected a struct of {len(struct.members)} members, found none")
        self.added += [f"the struct {name}" for name in now.structs if name not in before.structs]
        for table, singular in (("constants", "constant"), ("macros", "macro"), ("types", "type"), ("functions", "function")):
            self.table(getattr(before, table), getattr(now, table), singular)
        self.rules(before.rules, now)
        self.version()

    def table(self, before, now, singular):
        for name, value in before.items():
            if name not in now:
                self.found.append(f"{name}: expected the {singular} `{value}`, found none")
            elif now[name] != value:
                self.found.append(f"{name}: expected the {singular} `{value}`, found `{now[name]}`")
        self.added += [f"the {singular} {name}" for name in now if name not in before]

    def rules(self, before, now):
        for name, value in before.items():
            if name not in now.rules:
                self.found.append(f"{name}: the rule was removed: expected its text with the hash {value}, found none")
            elif now.rules[name] != value:
                self.found.append(f"{name}: the text of the rule changed: expected the hash {value}, found {now.rules[name]} "
                                  f"of \"{now.rule_texts[name]}\": a rule with another meaning takes a new number")

    def version(self):
        (major, minor), (now_major, now_minor) = self.frozen.version, self.today.version
        names = self.frozen.interface.macros
        if now_major != major:
            self.found.append(f"{names[0]}: expected {major}, found {now_major}")
        elif now_minor < minor:
            self.found.append(f"{names[1]}: expected {minor} or more, found {now_minor}")
        elif self.added and now_minor == minor:
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
        expected = before[at]
        found = now[at] if at < len(now) else None
        names, now_names = [member.name for member in before], [member.name for member in now]
        shown = f"expected `{expected.declaration}`, found " + (f"`{found.declaration}`" if found else "the end")
        if found is None or expected.name not in now_names and found.name in names:
            return f"{name}.{expected.name}: the member was removed: {shown}"
        if expected.name == found.name:
            sizes = self.sizes(name, at)
            if sizes:
                return f"{name}.{expected.name}: the member was resized: {shown} ({sizes})"
            return f"{name}.{expected.name}: the member was changed: {shown}"
        if expected.name in now_names and found.name in names:
            return f"{name}.{expected.name}: the members were reordered: {shown}"
        if expected.name in now_names:
            return f"{name}.{found.name}: the member was inserted: {shown}"
        if _without_name(expected) == _without_name(found):
            return f"{name}.{expected.name}: the member was renamed: {shown}"
        return f"{name}.{expected.name}: the member was removed: {shown}"

    def sizes(self, name, at):
        """"LP64: 4 and 8 bytes", where the sizes of a member differ."""
        out = []
        for target in layout.TARGETS:
            before = layout.of(name, target, self.then).places[at].size
            now = layout.of(name, target, self.everything).places[at].size
            if before != now:
                out.append(f"{target.name}: {before} and {now} bytes")
        return ", ".join(out)

    def grown(self, name, before, now):
        new = now[len(before)]
        shown = f"expected no member after `{before[-1].declaration}`, found `{new.declaration}`"
        if before[0].declaration != "uint32_t struct_size":
            self.found.append(f"{name}.{new.name}: the struct must not grow, as it has no struct_size: {shown}")
        for holder, member, is_last in holders_by_value(name, self.everything):
            place = (f"as `{member}`, the last member of {holder}" if is_last else f"as {holder}.{member}" if member
                     else f"in `{holder}`")
            self.found.append(f"{name}.{new.name}: the struct must not grow, as it is held by value {place}: {shown}")
        for target in layout.TARGETS:
            size = layout.of(name, target, self.then).size
            place = layout.of(name, target, self.everything).places[len(before)]
            if place.offset < size:
                self.found.append(f"{name}.{new.name}: the member is hidden in the tail padding of {self.frozen.shown} on "
                                  f"{target.name}: expected an offset of {size} or more, found {place.offset}")
        self.added += [f"{name}.{member.name}" for member in now[len(before):]]
