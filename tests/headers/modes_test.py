# SPDX-License-Identifier: MIT
"""Runs each application with each plugin: modes_test.py [--library LIBRARY] MODEL APPLICATION... -- PLUGIN...

The model adds 1, 2, 3, 4 to the four numbers that examples/embed gives it (0.1, 0.2, 0.3, 0.4). It
was made as docs/snippets/write_program.cpp makes one. The first application is header-only: it must not
have what is compiled only where it is used. The library of the host has all of it: a name that it does not have is
out of date.
"""

import subprocess
import sys

EXPECTED = "1.1\n2.2\n3.3\n4.4\n"
USED = "tenon::host::Method::execute("
UNUSED = [
    "tenon::host::Trace::add_entry(",
    "tenon::host::BackendRegistry::run_searches(",
    "tenon::host::BackendRegistry::list_search_paths(",
    "tenon::host::PluginSource::call_factory(",
    "tenon::host::Plugin::from_static(",
    "tenon::host::detail::TrustedWalk::",
    "tenon::detail::sha256_blocks(",
]


def symbols_of(path):
    return subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout


def check_names(library):
    """Number of the functions in UNUSED that the library of the host does not have."""
    symbols = symbols_of(library)
    unknown = [name for name in UNUSED if name not in symbols]
    for name in unknown:
        print(f"not ok: {library} has no {name}, so that no application can have it")
    return len(unknown)


def check_unused(application):
    """Number of the functions in an application that has no use for them: of traces, searches,
    factories, linked plugins, paths that others answer for, and hashes."""
    symbols = symbols_of(application)
    if USED not in symbols:
        sys.exit(f"modes_test.py: nm does not list {USED} of {application}")
    found = [name for name in UNUSED if name in symbols]
    for name in found:
        print(f"not ok: {application} has no use for {name}, and has it")
    return len(found)


def main():
    arguments = sys.argv[1:]
    failed = 0
    if arguments[0] == "--library":
        failed += check_names(arguments[1])
        arguments = arguments[2:]
    model, *rest = arguments
    split = rest.index("--")
    applications, plugins = rest[:split], rest[split + 1 :]
    failed += check_unused(applications[0])
    for application in applications:
        for plugin in plugins:
            done = subprocess.run(
                [application, plugin, model], capture_output=True, text=True, check=False
            )
            if done.returncode != 0 or done.stdout != EXPECTED:
                failed += 1
                print(f"not ok: {application} {plugin}\n{done.stdout}{done.stderr}")
    print(f"{len(applications)} applications with {len(plugins)} plugins, {failed} failures")
    sys.exit(1 if failed or not applications or not plugins else 0)


if __name__ == "__main__":
    main()
