#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a stranger does: `tenon-new acme_npu` in an empty folder, with nothing but an installed
Tenon, and then the commands of the README it made: three builds, tests, conformance kit.

usage: template_test.py BUILD SOURCE TEMPLATE COMPILER...
"""

import json
import pathlib
import re
import shutil
import sys

from prefix import Prefix, Stopwatch, run

build, source, template, *compiler = sys.argv[1:]
# The template of wrappers is made for an id that programs have already.
ID = "Acme.Npu" if template == "wrapper" else "AcmeNpuBackend"
LARGEST = {"minimal": 6, "wrapper": 14}  # Without cases, which are data.
PLACEHOLDERS = [word.encode() for word in ("my_npu", "MyNpu", "MY_NPU")]


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def commands_of(readme):
    """The lines of the first block of commands: each is one way to build."""
    lines = re.findall(r"```sh\n(.*?)```", readme.read_text(), re.DOTALL)[0].splitlines()
    if not shutil.which("cmake"):
        print("there is no cmake: its build is left out")
        lines = [line for line in lines if "cmake" not in line]
    return lines


def check_nothing_else_was_used(folder):
    """No file that a build made knows of Tenon's own sources or build folder."""
    for path in files_of(folder):
        data = path.read_bytes()
        for place in (source, build):
            assert place.encode() not in data, f"{path} names {place}"


def check_names(folder):
    for path in files_of(folder):
        for word in PLACEHOLDERS:
            assert word.decode() not in str(path.relative_to(folder)), path
            assert word not in path.read_bytes(), f"{path} still has {word.decode()}"


def check_plugin(prefix, plugin, env):
    record = json.loads(run("tenon-inspect", plugin, "--json", env=env).stdout)["record"]
    assert record["backends"][0]["id"] == ID, record
    assert record["version"] == "0.1.0", record
    there = {"TENON_PLUGIN_PATH": str(plugin.parent)}
    shown = json.loads(run("tenon-list", "--json", env=env | there).stdout)
    # The prefix has plugins of its own, which its programs find wherever it was moved to.
    assert [one["id"] for one in shown["backends"]].count(ID) == 1, shown


def check_without_runtime(folder, env):
    """The plugin of a wrapper is loaded and says what is missing, where its runtime is not."""
    case = folder / "test/cases/float"
    plugin = folder / "build-make/acme_npu.so"
    shown = run("tenon-doctor", case / "model.pte", "--plugin", plugin, env=env, expect=None).stdout
    assert "libnpu_runtime.so" in shown and "or set ACME_NPU_LIB to its file" in shown, shown
    env = env | {"ACME_NPU_LIB": str(folder / "build-make/libnpu_runtime.so")}
    run("tenon-doctor", case / "model.pte", "--plugin", plugin, env=env)


def check_switched_off(folder, env):
    """Where it is switched off nothing is looked for, also no Tenon."""
    without = {name: value for name, value in env.items() if name != "PKG_CONFIG_PATH"}
    without["CMAKE_PREFIX_PATH"] = "/nonexistent"
    run("make ACME_NPU=0 BUILD=off-make all check", env=without, cwd=folder)
    run("meson setup off-meson -Dacme_npu=disabled && ninja -C off-meson", env=without, cwd=folder)
    assert not (folder / "off-make").exists()
    assert not list((folder / "off-meson").rglob("*.so"))
    if shutil.which("cmake"):
        run("cmake -B off-cmake -DBUILD_ACME_NPU=OFF && cmake --build off-cmake", env=without,
            cwd=folder)
        assert not list((folder / "off-cmake").rglob("*.so"))


def check_compile_test(prefix, folder, env):
    """The template's own test makes a program from the exported model in each build; where there is
    no tenon-compile it says that it was skipped. A wrong backend makes it fail."""
    if not (prefix.path / "bin/tenon-compile").exists():
        return
    script = ["sh", "test/compile_test.sh", prefix.path / "bin/tenon-conformance"]
    plugin = folder / "build-make/acme_npu.so"
    shown = run(*script, plugin, folder / "test/golden", env=env, cwd=folder).stdout
    assert shown.count("no difference") == 6, shown
    other = prefix.path / "share/doc/tenon/examples/hello.so"
    run(*script, other, folder / "test/golden", env=env, cwd=folder, expect=4)
    log = (folder / "build-meson/meson-logs/testlog.txt").read_text()
    assert "4 of 4 nodes in 1 delegate" in log, log[-3000:]


def check_installed(prefix, folder, env):
    """Installed with its manifest into the prefix, hosts find it by the id in a program."""
    run("make", "install", env=env, cwd=folder)
    there = {"TENON_PLUGIN_PATH": prefix.pkg_config("--variable=plugindir", "tenon")}
    shown = json.loads(run("tenon-list", "--json", "--all", env=env | there).stdout)
    [found] = [one for one in shown["backends"] if one["id"] == "AcmeNpuBackend"]
    assert found["hidden_as"] is None, found
    manifest = prefix.pkg_config("--variable=plugindir", "tenon") + "/acme_npu.json"
    assert manifest in json.dumps(shown), shown
    case = folder / "test/golden/relu_of_sums"
    run(f"tenon-run model.pte --input a0.npy --input b0.npy --input c0.npy "
        f"--expect relu0.npy --expect difference0.npy", env=env | there, cwd=case)


def check_compiled(prefix, folder, env):
    """A model that PyTorch exported becomes a program for the new backend, which gives PyTorch's
    numbers: what the overview says."""
    text = (folder / "acme_npu-overview.md").read_text()
    [block] = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
               if block.startswith("tenon-compile")]
    if not (prefix.path / "bin/tenon-compile").exists():
        print("there is no tenon-compile: the page's commands are left out")
        return
    shown = run("set -e\n" + block, env=env, cwd=folder).stdout
    assert "AcmeNpuBackend, 4 nodes" in shown, shown
    assert shown.count("no difference") == 2, shown


def check_workflow(folder, commands):
    """The workflow runs what the README says."""
    text = (folder / ".github/workflows/ci.yml").read_text()
    runs = re.findall(r"^ +run: (.*)$", text, re.MULTILINE)
    assert runs[-len(commands):] == commands, (runs, commands)


def main():
    with Prefix(build, compiler) as prefix:
        env = prefix.environment()
        work = prefix.folder / "empty"
        work.mkdir()
        watch = Stopwatch()
        commands = [f"tenon-new acme_npu --template {template}"]
        if template == "wrapper":
            commands[0] += f" --id {ID}"
        print(run(commands[0], env=env, cwd=work).stdout, end="")
        folder = work / "acme_npu"
        check_names(folder)
        made = files_of(folder)
        commands += commands_of(folder / "README.md")
        # A user reads what follows.
        print(f"  {watch.read()[0]:.1f} s")
        for command in commands[1:]:
            step = Stopwatch()
            shown = run(command, env=env, cwd=folder).stdout
            print("$", command)
            print("  {:.1f} s, {:.1f} s of CPU".format(*step.read()))
            totals = re.findall(r"^.*(?:tests passed|Ok: |All tests|test cases|passed, ).*$", shown,
                                re.MULTILINE)
            print("\n".join(f"  {line.strip()}" for line in totals))
        wall, cpu = watch.read()
        parts = sum(line.count("&&") + 1 for line in commands)
        print(f"{template}: {len(made)} files, {len(commands)} lines with {parts} commands, no edit, "
              f"{wall:.0f} s, {cpu:.0f} s of CPU")

        plugins = [path for path in files_of(folder) if path.name == "acme_npu.so"]
        assert len(plugins) == len(commands) - 1, plugins
        for plugin in plugins:
            check_plugin(prefix, plugin, env)
        check_nothing_else_was_used(folder)
        if template == "full":
            check_workflow(folder, commands_of(folder / "README.md"))
            check_switched_off(folder, env)
            check_compiled(prefix, folder, env)
            check_compile_test(prefix, folder, env)
            check_installed(prefix, folder, env)
        else:
            if template == "wrapper":
                check_without_runtime(folder, env)
            sources = [path for path in made if folder / "test/cases" not in path.parents]
            assert len(sources) <= LARGEST[template], sources


if __name__ == "__main__":
    main()
