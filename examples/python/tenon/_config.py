# SPDX-License-Identifier: MIT
"""tenon-config: where the installed package keeps what other builds need."""

from __future__ import annotations

import argparse
import pathlib
import sys

from ._tenon import __version__
from ._prefix import plugin_folder, prefix

_FOLDERS = {
    "prefix": ("", "the prefix, which has the folders below"),
    "bindir": ("bin", "programs"),
    "includedir": ("include", "headers"),
    "cmakedir": ("lib/cmake/Tenon", "for CMake: -DTenon_DIR=$(tenon-config --cmakedir)"),
    "pkgconfigdir": ("lib/pkgconfig",
                     "for pkg-config: PKG_CONFIG_PATH=$(tenon-config --pkgconfigdir)"),
    "templatesdir": ("share/tenon/templates", "templates of tenon-new"),
    "schemasdir": ("share/tenon/schemas", "schemas of the JSON that programs print"),
}


def _flags(root: pathlib.Path) -> dict[str, list[str]]:
    """What compiles and links a plugin, besides -std=c++20; one argument a line."""
    exports = root / "share/tenon/tenon-plugin.map"
    return {
        "cflags": [f"-I{root / 'include'}", "-fPIC", "-fvisibility=hidden",
                   "-fvisibility-inlines-hidden"],
        "ldflags": ["-shared", "-Wl,-z,defs", f"-Wl,--version-script={exports}"],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tenon-config",
        description="Prints where the installed package keeps headers, files for CMake and "
                    "pkg-config, templates and plugins.")
    parser.add_argument("--version", action="version", version=__version__)
    for name, (_, about) in _FOLDERS.items():
        parser.add_argument(f"--{name}", dest="wanted", action="append_const", const=name, help=about)
    for name, about in {
        "plugindir": "plugins and manifests; any C++ host finds them with "
                     "TENON_PLUGIN_PATH=$(tenon-config --plugindir)",
        "cflags": "arguments that compile a plugin, one a line",
        "ldflags": "arguments that link a plugin, one a line",
    }.items():
        parser.add_argument(f"--{name}", dest="wanted", action="append_const", const=name, help=about)
    wanted = parser.parse_args(arguments).wanted
    if not wanted:
        parser.print_usage(sys.stderr)
        return 2
    root = prefix()
    if root is None:
        print("tenon-config: this package is in a build directory, not installed", file=sys.stderr)
        return 1
    values = {name: [str(root / folder)] for name, (folder, _) in _FOLDERS.items()}
    values |= {"plugindir": [str(plugin_folder())]} | _flags(root)
    for name in wanted:
        print("\n".join(values[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
