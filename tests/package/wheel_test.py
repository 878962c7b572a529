# SPDX-License-Identifier: MIT
"""The wheel that `./dev wheel` made for the system's Python, as its users have it: wheel_test.py SOURCE [BUILD]

In fresh environments, with nothing of this tree on any path: installs the wheel, runs its programs and a model, makes a
vendor's package with `tenon-new --python`, builds that into a wheel, installs it too, finds its backend in Python, in
C++ and in stock ExecuTorch, and uninstalls all of it. The tenon-run of the build directory BUILD is a host elsewhere;
stock ExecuTorch comes from build/live/venv.

Exit status 77: there is no wheel, or no PyPI for the tools that build a vendor's package.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "examples/python/packaging"))
import pythons  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
DIST = SOURCE / "build/wheel/dist"
LIVE = SOURCE / "build/live/venv/bin/python"
DIGITS = SOURCE / "examples/applications/digits"
PROGRAMS = ["compile", "conformance", "doctor", "inspect", "list", "new", "run"]
EMPTY_DIRECTORIES = {"share", "lib/cmake", "libexec"}
DIGITS_MB = 45  # Resident after running examples/applications/digits: 41 with Debian 13's oneDNN 3.7.
SKIPPED = 77


def run(*command, env, cwd=None, expect=0):
    done = subprocess.run([str(word) for word in command], env=env, cwd=cwd, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != expect:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}, expected "
                             f"{expect}\n{done.stdout[-6000:]}")
    return done.stdout


class Environment:
    """A virtual environment, and what a shell has in which it alone is active."""

    def __init__(self, folder):
        self.path = folder
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
        self.env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder / "home"),
                    "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                    "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run(self, *command, expect=0, cwd=None, **more):
        return run(*command, env=self.env | more, cwd=cwd, expect=expect)

    def python(self, text, **more):
        return self.run("python", "-c", text, cwd=self.path, **more)

    def install(self, *arguments):
        self.run("pip", "install", "--quiet", *arguments)

    def entries(self):
        """All files and directories, without those that this test makes."""
        return {path.relative_to(self.path) for path in self.path.rglob("*")
                if "home" not in path.relative_to(self.path).parts[:1]}


def check_programs(there, version):
    for name in PROGRAMS:
        shown = there.run(f"tenon-{name}", "--version")
        assert shown == f"tenon-{name} {version}\n", shown
    shown = json.loads(there.run("tenon-list", "--all", "--json"))
    ids = {one["id"] for one in shown["backends"]}
    assert ids == {"CpuAotiBackend", "GraphBackend", "QuantizedKernels"}, ids
    assert str(there.path) in json.dumps(shown), shown
    for wheel_plugin in sorted((there.path / "share/tenon/plugins-1").glob("*.so")):
        there.run("tenon-inspect", wheel_plugin)
    there.run("tenon-new", "--list")
    print("programs and plugins:", ", ".join(sorted(ids)))


def check_licences(there):
    """The texts of what is in the wheel: of this machine's libraries, not of another processor's."""
    [folder] = (there.path / "lib").glob("python3*/site-packages/tenon_ml-*.dist-info/licenses")
    names = {path.name for path in folder.iterdir()}
    wanted = {"LICENSE", "NOTICE", "libgomp1.txt", "libflatbuffers-dev.txt", "nlohmann-json3-dev.txt",
              "nanobind.txt", "robin-map.txt"}
    assert wanted <= names, wanted - names
    assert "Wenzel Jakob" in (folder / "nanobind.txt").read_text(encoding="utf-8")
    assert "Thibaut Goetghebuer-Planchon" in (folder / "robin-map.txt").read_text(encoding="utf-8")
    assert not any("-cross" in name for name in names), names


def check_digits(there):
    command = ("tenon-run", DIGITS / "model.pte", "--input", DIGITS / "input.npy", "--expect",
               DIGITS / "expected.npy", "--top", "1")
    print(there.run(*command).strip())
    shown = there.run(*command, LD_DEBUG="files")
    [used] = set(re.findall(r"calling init: (\S*libdnnl\S*)", shown))
    assert pathlib.Path(used).parent == there.path / "share/tenon/plugins-1", used
    # A refusal is a line and a number, as everywhere.
    shown = there.run(*command, expect=4, TENON_DISABLE="CpuAotiBackend")
    assert "disabled by TENON_DISABLE" in shown, shown


def check_models(there):
    """The commands of docs/getting-started/from-pytorch.md, with the plugins of the wheel."""
    folder = there.path / "home/models"
    folder.mkdir()
    exported, packed, kernels = (SOURCE / "tests" / each for each in (
        "fixtures/pt2/mlp", "fixtures/aoti_package", "conformance/cases/quantized_kernels/operators"))
    there.run("tenon-compile", exported / "model.pt2", "--backend", "GraphBackend", "-o", "model.pte", cwd=folder)
    there.run("tenon-run", "model.pte", "--input", exported / "input_0.npy", "--expect", exported / "expected_0.npy", cwd=folder)
    there.run("tenon-compile", packed / "model.pt2", "--aoti", packed / "compiled.pt2", "-o", "packed.pte", cwd=folder)
    there.run("tenon-run", "packed.pte", "--input", packed / "in0.npy", "--expect", packed / "out0.npy", cwd=folder)
    words = [word for i in range(10) for word in ("--expect", kernels / f"out0_{i}.npy")]
    there.run("tenon-run", kernels / "model.pte", "--input", kernels / "in0_0.npy", *words)
    print("models of GraphBackend, CpuAotiBackend and QuantizedKernels run")
    [site] = (there.path / "lib").glob("python3*/site-packages")
    if not LIVE.exists():
        print("tenon.aoti.compile: not tried: no build/live/venv")
        return
    # PyTorch's environment is not written to: the wheel's packages are on its path for one run.
    run(LIVE, SOURCE / "docs/snippets/compile_cpu.py", folder, env=there.env | {"PYTHONPATH": str(site)})
    there.run("tenon-run", "model.pte", "--input", "x.npy", "--expect", "expected.npy", cwd=folder)
    run(LIVE, SOURCE / "docs/snippets/export_cpu.py", "model.pte", "x.npy", "y.npy", cwd=folder,
        env=there.env | {"PYTHONPATH": str(site)})
    there.run("tenon-run", "model.pte", "--input", "x.npy", "--expect", "y.npy", cwd=folder)
    print("tenon.aoti.compile and ExecuTorch's exporter compile for the wheel's plugin")


def check_python(there):
    there.python("import tenon, sys; assert 'torch' not in sys.modules")
    there.python("import torch", expect=1)
    there.python("import numpy", expect=1)
    names = there.python("from importlib.metadata import entry_points\n"
                         "print(*sorted(entry_points(group='torch_dynamo_backends').names))")
    assert names.split() == ["GraphBackend", "tenon"], names
    milliseconds = min(float(there.python(
        "import time; begun = time.process_time(); import tenon; print(1e3 * (time.process_time() - begun))"))
        for _ in range(5))

    # The digit again, without NumPy: the numbers follow a header of 128 bytes.
    shown = there.python(
        "import tenon\n"
        f"numbers = bytearray(open({str(DIGITS / 'input.npy')!r}, 'rb').read()[128:])\n"
        f"method = tenon.load({str(DIGITS / 'model.pte')!r})['forward']\n"
        "y = memoryview(method(memoryview(numbers).cast('f', shape=[1, 1, 8, 8]))).tolist()[0]\n"
        "[resident] = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')]\n"
        "print(y.index(max(y)), int(resident) * 1024 / 1e6)\n")
    digit, megabytes = shown.split()
    assert digit == "7", shown
    assert float(megabytes) <= DIGITS_MB, megabytes
    print(f"tenon.load runs digits: class {digit}; import {milliseconds:.1f} ms, {megabytes} MB resident")


def check_authors(there):
    """Headers and files for builds serve a plugin, three ways."""
    config = {name: there.run("tenon-config", f"--{name}").strip()
              for name in ("includedir", "cmakedir", "pkgconfigdir", "plugindir", "templatesdir")}
    for name, folder in config.items():
        assert pathlib.Path(folder).is_dir(), (name, folder)
    assert there.run("tenon-config", expect=2).startswith("usage: tenon-config")
    hello = SOURCE / "examples/backends/hello/hello.cpp"
    flags = there.run("tenon-config", "--cflags", "--ldflags").split()
    there.run("c++", "-std=c++20", *flags, hello, "-o", there.path / "home/hello.so")
    there.run("tenon-inspect", there.path / "home/hello.so")
    found = there.run("pkg-config", "--variable=plugindir", "tenon",
                      PKG_CONFIG_PATH=config["pkgconfigdir"]).strip()
    assert pathlib.Path(found).resolve() == pathlib.Path(config["plugindir"]), found
    work = there.path / "home/cmake"
    work.mkdir()
    (work / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.17)\nproject(hello CXX)\nfind_package(Tenon 0.1 REQUIRED)\n"
        f"tenon_add_plugin(hello {hello})\n")
    there.run("cmake", "-B", "build", f"-DTenon_DIR={config['cmakedir']}", cwd=work)
    there.run("cmake", "--build", "build", cwd=work)
    there.run("tenon-inspect", work / "build/hello.so")
    print("a plugin was built with tenon-config, and with CMake")

    # The folder to copy, as docs/python/packages.md says.
    work = there.path / "home/consumer"
    shutil.copytree(SOURCE / "examples/applications/consumer", work)
    there.run("c++", "-std=c++20", *flags, "scale.cpp", "-o", "scale.so", cwd=work)
    shown = there.run("python", "run.py", cwd=work)
    assert shown == "[2.5, 5.0, 7.5, 10.0]\n", shown


def build_vendor(folder, wheel):
    """The wheel of a package that tenon-new made, built where nothing else is."""
    tools = Environment(folder / "tools")
    try:
        tools.run("pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "meson-python")
    except AssertionError as failure:
        print(f"skipped: no meson-python from PyPI: {failure}", file=sys.stderr)
        sys.exit(SKIPPED)
    tools.install("--no-index", "--no-deps", wheel)
    print(tools.run("tenon-new", "acme", "--python", cwd=folder).strip())
    begun = time.monotonic()
    tools.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "vendor",
              folder / "acme")
    [made] = (folder / "vendor").iterdir()
    print(f"{made.name}: {made.stat().st_size / 1e3:.0f} kB, built in "
          f"{time.monotonic() - begun:.0f} s")
    return made


def check_vendor(there, folder):
    model = folder / "acme/tests/scale.pte"
    shown = json.loads(there.run("tenon-list", "--all", "--json"))
    [acme] = [one for one in shown["backends"] if one["id"] == "AcmeBackend"]
    assert str(there.path / "lib") in json.dumps(acme), acme
    assert "acme.json" in json.dumps(shown), shown
    print(there.run("tenon-run", model, "--input", folder / "input.npy").strip())
    there.run("tenon-conformance", there.python("import acme; print(acme.plugin())").strip(),
              "--level", "1")
    # By name in Python; nothing of the package is imported before it is used.
    there.python(
        "import sys\n"
        "from tenon._entry_points import offered, plugin_file\n"
        "[offer] = offered()['AcmeBackend']\n"
        "assert (offer.distribution, offer.version) == ('acme', '0.1.0'), offer\n"
        "assert 'acme' not in sys.modules\n"
        "path = plugin_file('AcmeBackend')\n"
        "assert path.endswith('/acme/acme.so') and 'acme' in sys.modules, path\n"
        "assert plugin_file('NoBackend') is None\n")
    print("AcmeBackend is found in tenon-list, tenon-run and Python")


def check_package_test(there, folder):
    """The tests that the template brings."""
    if there.python("import tenon; print(hasattr(tenon, 'load'))").strip() != "True":
        raise AssertionError("the module has no tenon.load")
    there.run("python", "-m", "unittest", "discover", folder / "acme/tests")


def check_other_hosts(there, folder):
    """A C++ host that is not in the environment, and stock ExecuTorch."""
    plugins = there.run("tenon-config", "--plugindir").strip()
    model = folder / "acme/tests/scale.pte"
    other = {name: value for name, value in there.env.items() if name != "PATH"}
    other |= {"PATH": "/usr/bin:/bin", "TENON_PLUGIN_PATH": plugins}
    if BUILD and (BUILD / "examples/programs/tenon-run/tenon-run").is_file():
        run(BUILD / "examples/programs/tenon-run/tenon-run", model, "--input", folder / "input.npy", env=other)
        print("a host elsewhere finds AcmeBackend by TENON_PLUGIN_PATH")
    [site] = (there.path / "lib").glob("python3*/site-packages")
    if not LIVE.exists() or not (site / "tenon/executorch/libtenon_executorch.so").is_file():
        print("stock ExecuTorch: not tried: no build/live/venv, or a wheel without the bridge")
        return
    text = ("import torch\n"
            "from executorch.runtime import Runtime\n"
            "from tenon.executorch import errors, register_plugins\n"
            "ids = register_plugins()\n"
            "assert 'AcmeBackend' in ids and 'GraphBackend' in ids, ids\n"
            "with errors():\n"
            f"  method = Runtime.get().load_program({str(model)!r}).load_method('forward')\n"
            "  [y] = method.execute([torch.ones(2, 3)])\n"
            "assert torch.equal(y, torch.full((2, 3), 1.5)), y\n"
            "print('stock ExecuTorch runs', *ids)")
    del other["TENON_PLUGIN_PATH"]
    # ExecuTorch's environment is not written to: the wheel's packages are on its path for one run.
    shown = run(LIVE, "-c", text, env=other | {"PYTHONPATH": str(site)})
    print(shown.strip().splitlines()[-1])


def check_duplicate(there, folder):
    """Two packages with one id: an error that names both, where the backend is used."""
    info = folder / "second/beta-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beta\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[tenon.plugins]\nAcmeBackend = beta:plugin\n")
    shown = there.python(
        "from tenon._error import Error\n"
        "from tenon._entry_points import offered, plugin_file\n"
        "assert len(offered()['AcmeBackend']) == 2\n"
        "try: plugin_file('AcmeBackend')\n"
        "except Error as error: print(error)\n", PYTHONPATH=str(info.parent))
    for part in ("RegistrationAlreadyRegistered", "acme 0.1.0 (acme:plugin)", "beta 2.0 (beta:plugin)"):
        assert part in shown, shown
    print(shown.strip())


def write_input(path):
    """Six float32 in the format of NumPy, which is not installed."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    header += " " * (117 - len(header)) + "\n"
    data = b"\x00\x00\x80\x3f" * 6
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)


def main():
    wheel = pythons.wheel_for(pythons.read("/usr/bin/python3"), DIST.glob("tenon_ml-*.whl"))
    if not wheel:
        print("skipped: there is no wheel for /usr/bin/python3 (./dev wheel)", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="tenon-wheel-") as name:
        folder = pathlib.Path(name).resolve()
        write_input(folder / "input.npy")
        there = Environment(folder / "user")
        before = there.entries()
        begun = time.monotonic()
        there.install("--no-index", wheel)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installed in "
              f"{time.monotonic() - begun:.1f} s, {len(there.entries() - before)} entries")
        (there.path / "home").mkdir(exist_ok=True)
        check_programs(there, wheel.name.split("-")[1])
        check_licences(there)
        check_digits(there)
        check_models(there)
        check_python(there)
        check_authors(there)
        there.install("--no-index", "--no-deps", build_vendor(folder, wheel))
        check_vendor(there, folder)
        check_duplicate(there, folder)
        check_package_test(there, folder)
        check_other_hosts(there, folder)
        there.run("pip", "uninstall", "--yes", "acme", "tenon-ml")
        after = there.entries()
        assert before <= after, before - after
        # pip does not remove a directory that held directories alone.
        left = {str(path) for path in after - before}
        assert left <= EMPTY_DIRECTORIES, sorted(left)
        assert all((there.path / path).is_dir() for path in left), left
        print("uninstalled: no file is left; empty directories:", *sorted(left))
    return 0


if __name__ == "__main__":
    sys.exit(main())
