#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the build into a fresh prefix, moves the prefix, and builds a plugin and an application
against it with pkg-config alone, as a stranger would."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source, *compiler = sys.argv[1:]

APPLICATION = """
#include <cstdio>
#include <tenon/host.hpp>
#include <tenon/host/discovery.hpp>
int main(int, char** argv) {
  tenon::host::BackendRegistry registry;
  if (!registry.register_backend(argv[1]).ok()) return 1;
  std::puts(tenon::host::installed_plugin_directory().c_str());
  const auto backend = registry.lookup_backend("Add");
  if (!backend.ok()) return 2;
  std::puts((*backend)->is_available().ok() ? "Add is available" : "Add is not available");
}
"""


def run(*command, **kwargs):
    done = subprocess.run(command, text=True, capture_output=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


with tempfile.TemporaryDirectory(prefix="tenon-install-") as folder:
    staging = pathlib.Path(folder) / "staging"
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", staging)
    [pkgconfig] = {path.parent for path in staging.rglob("tenon.pc")}
    installed = pkgconfig.parents[1] if pkgconfig.parents[1].name != "lib" else pkgconfig.parents[2]
    while not (installed / "include").is_dir():
        installed = installed.parent
    prefix = pathlib.Path(folder) / "moved"
    shutil.move(installed, prefix)
    [pkgconfig] = {path.parent for path in prefix.rglob("tenon.pc")}

    # The installed headers are exactly the tree's and the generated ones.
    tree = pathlib.Path(source) / "include"
    ours = {p.relative_to(tree) for ext in ("*.h", "*.hpp") for p in tree.rglob(ext)}
    there = {
        p.relative_to(prefix / "include")
        for ext in ("*.h", "*.hpp")
        for p in (prefix / "include").rglob(ext)
    }
    generated = {
        pathlib.Path("tenon/host/schema") / f"{name}_generated.h"
        for name in ("enums", "flat_tensor", "flat_tensor_objects", "program", "program_objects")
    } | {pathlib.Path("tenon/host/plugindir.hpp")}
    assert there == ours | generated, f"installed headers differ: {there ^ (ours | generated)}"

    environment = dict(os.environ, PKG_CONFIG_PATH=str(pkgconfig))

    def pkg_config(*arguments):
        return run(
            "pkg-config", f"--define-variable=prefix={prefix}", *arguments, env=environment
        ).split()

    [export_map] = pkg_config("--variable=plugin_map", "tenon")
    [plugins] = pkg_config("--variable=plugindir", "tenon")
    # Hosts offer what is in the directory of plugins to every application. Examples are not there.
    found = {path.name for path in pathlib.Path(plugins).iterdir()}
    assert found <= {f"{name}.so" for name in ("cpu_aoti", "cuda_aoti", "metal_aoti")}, found
    examples = prefix / "share/doc/tenon/examples"
    there = {path.name for path in examples.iterdir()}
    assert there == {f"{name}.so" for name in ("hello", "demo_backend", "graph_backend", "opencl", "openvino")}, there
    lister = prefix / "bin/tenon-list"
    if lister.is_file():
        names = run(lister, "--all", env=dict(os.environ, TENON_PLUGIN_PATH=plugins))
        for example in ("Add", "BackendWithCompilerDemo", "GraphBackend"):
            assert example not in names.split(), names
        # Programs find the plugins of the prefix that they are in, also after it was moved.
        without = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
        listed = run(lister, "--all", "--json", env=without)
        assert f'"{plugins}"' in listed, listed
    hello = pathlib.Path(source) / "examples/backends/hello/hello.cpp"
    plugin = pathlib.Path(folder) / "hello.so"
    run(*compiler, "-std=c++20", "-fPIC", "-shared", *pkg_config("--cflags", "tenon"), hello,
        f"-Wl,--version-script={export_map}", "-o", plugin)

    application = pathlib.Path(folder) / "application.cpp"
    application.write_text(APPLICATION)
    program = pathlib.Path(folder) / "application"
    run(*compiler, "-std=c++20", *pkg_config("--cflags", "tenon-host"), application,
        *pkg_config("--libs", "tenon-host"), "-o", program)
    # The prefix was moved, so the folder that the headers know is the one of the build.
    folder_text, available = run(program, plugin).splitlines()
    assert pathlib.Path(folder_text).name == pathlib.Path(plugins).name, folder_text
    assert available == "Add is available"

    # In C, by the library that the host is in.
    fixture = pathlib.Path(source) / "tests/fixtures/demo_sin_inline"
    sines = pathlib.Path(folder) / "sines"
    run("cc", "-std=c11", pathlib.Path(source) / "examples/applications/c_host/sines.c",
        *pkg_config("--cflags", "--libs", "tenon-c"), "-o", sines)
    [library] = prefix.rglob("libtenon.so")
    printed = run(sines, examples / "demo_backend.so", fixture / "model.pte",
                  env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
    assert printed.split() == ["0.0998334", "0.198669", "0.29552", "0.389418"], printed

    runner = prefix / "bin/tenon-run"
    if runner.is_file():
        fixture = pathlib.Path(source) / "tests/fixtures/demo_sin_seg"
        run(runner, fixture / "model.pte", "--plugin", examples / "demo_backend.so",
            "--input", fixture / "c0_in0.npy", "--expect", fixture / "c0_out0.npy")
