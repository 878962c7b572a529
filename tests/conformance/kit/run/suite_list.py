# SPDX-License-Identifier: MIT
"""The suites of the kit, which are its sources in suites/ and below: each begins with TENON_KIT_SUITE of its name.

    suite_list.py FOLDER
        prints the paths of the sources in FOLDER, without `.cpp`: what Meson builds
    suite_list.py FOLDER BUILT TEMPLATE OUTPUT DEPFILE
        fills TEMPLATE (suites.cpp.in) with a call for each suite. Fails where FOLDER has others now than BUILT, the paths
        that Meson builds, with commas between them. DEPFILE names the folders, which ninja must watch.
"""

import pathlib
import re
import sys

SUITE = re.compile(r"^TENON_KIT_SUITE\((\w+)\)", re.M)


def read_suites(folder):
    """The paths of all suites in `folder`, sorted, without `.cpp`."""
    paths = {}
    for source in sorted(folder.rglob("*.cpp")):
        found = SUITE.findall(source.read_text(encoding="utf-8"))
        if found != [source.stem]:
            sys.exit(f"{source}: expected one line TENON_KIT_SUITE({source.stem}), found {found or 'none'}")
        if source.stem in paths:
            sys.exit(f"{source}: a suite of that name is in {paths[source.stem]}.cpp")
        paths[source.stem] = source.relative_to(folder).with_suffix("").as_posix()
    return sorted(paths.values())


def main():
    if len(sys.argv) not in (2, 6):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    there = read_suites(folder)
    if len(sys.argv) == 2:
        print("\n".join(there))
        return
    built = sys.argv[2].split(",")
    template, output, depfile = map(pathlib.Path, sys.argv[3:])
    wrong = [f"{path}.cpp is new" for path in there if path not in built]
    wrong += [f"{path}.cpp is missing" for path in built if path not in there]
    if wrong:
        sys.exit(f"{folder}: {', '.join(wrong)}: run `meson setup --reconfigure` in this build's folder")
    names = [path.rpartition("/")[2] for path in there]
    text = template.read_text(encoding="utf-8")
    text = text.replace("@declarations@", "\n".join(f"void link_suite_of_{name}() noexcept;" for name in names))
    text = text.replace("@calls@", "\n  ".join(f"link_suite_of_{name}();" for name in names))
    output.write_text(text, encoding="utf-8")
    folders = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    watched = " ".join(path.as_posix().replace(" ", "\\ ") for path in folders)
    depfile.write_text(f"{sys.argv[4]}: {watched}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
