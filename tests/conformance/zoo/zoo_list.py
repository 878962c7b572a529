# SPDX-License-Identifier: MIT
"""The plugins of the zoo: a section `#ifdef ZOO_name` of a source each, and good.c. A section says in its first lines what
the plugin breaks, and where.

    zoo_list.py FOLDER SYSTEM
        prints the names of those that SYSTEM, as Meson names it, can have, with their sources: what Meson builds
    zoo_list.py FOLDER SYSTEM BUILT OUTPUT DEPFILE
        writes OUTPUT, which the tests read: a line for each plugin with the rule that it breaks, with the level, or "-".
        Fails where FOLDER has others now than BUILT, the list of what Meson builds. DEPFILE names what ninja must watch.
"""

import pathlib
import re
import sys

BREAKS = re.compile(r"// Breaks (?:(?P<nothing>nothing)[.:]|(?P<rule>TN-[A-Z]{3}-\d+(?: at level \d+)?): )")
SECTION = re.compile(r"^#ifdef ZOO_(\w+)\n", re.M)
ONLY = re.compile(r"// Only (.*)")
SYSTEMS = {"on Linux.": lambda system: system == "linux", "in ELF.": lambda system: system != "darwin"}


def read(place, text, system):
    """What the plugin whose text begins `text` breaks, "-" for nothing; None where `system` cannot have it."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line)
    breaks = [found for found in map(BREAKS.match, lines) if found]
    if len(breaks) != 1:
        sys.exit(f"{place}: expected one line \"// Breaks RULE: \", \"// Breaks RULE at level N: \" or \"// Breaks nothing.\" "
                 "in the first comment")
    only = [found[1] for found in map(ONLY.match, lines) if found]
    if any(each not in SYSTEMS for each in only):
        sys.exit(f"{place}: found \"// Only {only[0]}\", expected {' or '.join(SYSTEMS)}")
    return breaks[0]["rule"] or "-" if all(SYSTEMS[each](system) for each in only) else None


def sections(path):
    """(name, text that begins with its comment) of each plugin in the source at `path`."""
    text = path.read_text(encoding="utf-8")
    found = [(match[1], text[match.end():]) for match in SECTION.finditer(text)]
    return found or [(path.stem, text)]


def zoo(folder, system):
    """{name: (what it breaks, source)} of the plugins that `system` can have."""
    out = {}
    for path in sorted(folder.glob("*.c")):
        for name, text in sections(path):
            if name in out:
                sys.exit(f"{path}: {name} is in {out[name][1]} too")
            out[name] = (read(f"{path}: {name}", text, system), path.name)
    return {name: out[name] for name in sorted(out) if out[name][0]}


def main():
    if len(sys.argv) not in (3, 6):
        sys.exit(__doc__)
    folder, system = pathlib.Path(sys.argv[1]), sys.argv[2]
    there = zoo(folder, system)
    if len(sys.argv) == 3:
        print("\n".join(f"{name}:{source}" for name, (_, source) in there.items()))
        return
    built = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8").split()
    output, depfile = sys.argv[4:]
    # The good one in another language is no source of the list.
    in_rust = {path.stem: ("-", path.name) for path in folder.glob("rust/*.rs") if path.stem in built}
    wrong = [f"{name} is new" for name in there if name not in built]
    wrong += [f"{name} is gone" for name in built if name not in there and name not in in_rust]
    if wrong:
        sys.exit(f"{folder}: {', '.join(wrong)}: run `meson setup --reconfigure` in this build's folder")
    lines = [f"{name} {breaks}\n" for name, (breaks, _) in {**there, **in_rust}.items()]
    pathlib.Path(output).write_text("".join(lines), encoding="utf-8")
    watched = [folder, *sorted(folder.glob("*.c"))]
    names = " ".join(path.as_posix().replace(" ", "\\ ") for path in watched)
    pathlib.Path(depfile).write_text(f"{output}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
