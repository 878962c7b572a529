# SPDX-License-Identifier: MIT
"""Where the installed package keeps its files."""

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def plugin_paths() -> "list[str]":
    """Plugins, manifests and directories of them that come with the package, as absolute paths."""
    plugins = os.path.join(PACKAGE, "plugins")
    return [plugins] if os.path.isdir(plugins) else []
