# SPDX-License-Identifier: MIT
"""What pytest loads of Tenon in each of its runs: the options. The rest is imported once one is given.

It is a module of its own, and not a part of the package `tenon`, so that a run without the options imports nothing
of that.
"""

import pathlib

import pytest

LEVELS = range(1, 11)


def pytest_addoption(parser):
    group = parser.getgroup("tenon", "conformance of Tenon plugins")
    group.addoption("--tenon-plugin", action="append", default=[], metavar="FILE", type=pathlib.Path,
                    help="test a plugin: adds the tests of tenon-conformance, an item each")
    group.addoption("--tenon-subject", action="append", default=[], metavar="FILE", type=pathlib.Path,
                    help="declarations of the plugin's author: cases, options, unsupported tests (JSON)")
    group.addoption("--tenon-cases", action="append", default=[], metavar="DIR", type=pathlib.Path,
                    help="a directory of cases, or one case")
    group.addoption("--tenon-level", default=None, metavar="N", type=int, choices=LEVELS,
                    help="how much to test, 1 to 10 (default: 5)")


def pytest_configure(config):
    config.addinivalue_line("markers", "tenon: a test of the conformance kit (--tenon-plugin)")
    if not config.getoption("tenon_plugin") and not config.getoption("tenon_subject"):
        return
    try:
        from tenon import _pytest
    except ImportError as failure:
        raise pytest.UsageError(f"--tenon-plugin: the package tenon cannot be imported: {failure}") from failure
    _pytest.register(config)
