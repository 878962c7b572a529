# SPDX-License-Identifier: MIT
"""Checks who includes whom: the table of docs and design, without exceptions to it.

An author's headers (abi, core, backend, aoti) and a host's (host) meet only in abi and core. The sources of the
conformance kit, which are no headers that ship, are checked as well.

    layering_test.py INCLUDE KIT
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lint.problems import leave  # noqa: E402  pylint: disable=wrong-import-position

# A directory or umbrella header: which parts of the SDK it may include, and which other headers.
C_TYPES = re.compile(r"stdint\.h|stddef\.h")
STANDARD = re.compile(r"[a-z_]+")
POSIX = re.compile(r"[a-z_]+|[a-z_0-9]+\.h|sys/[a-z_]+\.h")
# Definitions of the host, and all of what is above it.
HOST = re.compile(
    r"[a-z_]+|fmt/[a-z]+\.h|flatbuffers/[a-z_]+\.h|nlohmann/json\.hpp|CommonCrypto/CommonDigest\.h"
)
# The one folder of the host that asks the system.
PLATFORM = re.compile(HOST.pattern + "|" + POSIX.pattern)
# What a tool that compiles programs adds to that: it reads archives of PyTorch.
COMPILER = re.compile(PLATFORM.pattern + r"|zip\.h")
# The one folder of the kit that asks the system.
KIT_PLATFORM = re.compile(PLATFORM.pattern + r"|malloc/malloc\.h")
# The bridges: the real ExecuTorch headers, on each side of the boundary with its own half of ours.
BRIDGE = re.compile(POSIX.pattern + r"|executorch/[a-z_0-9/]+\.h")
# The layers of the host on its loader, and the layers that each uses. `host/c` uses all.
LAYERS = {
    "arrays": [],
    "async": ["cancel", "observed", "scheduling"],
    "budget": ["data", "inspect", "observed"],
    "cancel": ["observed"],
    "code": ["trust"],
    "data": [],
    "devices": [],
    "discovery": ["trust"],
    "external_memory": [],
    "inspect": ["code", "data", "kernels"],
    "isolation": ["discovery", "inspect", "trust", "variants"],
    "kernels": ["discovery"],
    "observed": [],
    "prepared": ["trust"],
    "progress": [],
    "prove": ["arrays", "devices", "isolation", "kernels", "prepared", "state", "trace", "trust", "variants"],
    "scheduling": [],
    "sessions": ["budget"],
    "signatures": ["discovery", "trust"],
    "state": ["budget", "data", "observed", "sessions", "trust"],
    "streams": ["devices", "sessions"],
    "trace": ["arrays", "data", "observed", "sessions"],
    "trust": [],
    "variants": ["code", "data", "devices", "discovery", "inspect", "kernels"],
}
LOADER = ["host/platform", "host/loader", "host/schema"]
LOADER_IMPL = [*LOADER, "host/platform/impl", "host/loader/impl"]
LAYER_PARTS = [f"host/layers/{name}" for name in LAYERS]
HOST_PARTS = [
    "loader.hpp",
    "host",
    "host/c",
    "host/plugindir.hpp",
    *LOADER_IMPL,
    *LAYER_PARTS,
    *(part + "/impl" for part in LAYER_PARTS),
]
HOST_API = ["host/plugindir.hpp", "loader.hpp", "host", *LOADER, *LAYER_PARTS]
RULES = {
    "abi": ({"abi"}, C_TYPES),
    "core": ({"abi", "core"}, STANDARD),
    "backend": ({"abi", "core", "backend"}, STANDARD),
    "tenon.hpp": ({"abi", "core", "backend"}, STANDARD),
    "executorch_names.hpp": ({"abi", "core", "backend", "tenon.hpp"}, STANDARD),
    "aoti": ({"abi", "core", "backend", "aoti"}, POSIX),
    "aoti.hpp": ({"abi", "core", "backend", "aoti"}, POSIX),
    "aot": ({"abi", "core", "backend", "aot"}, STANDARD),
    "aot.hpp": ({"abi", "core", "backend", "aot"}, STANDARD),
    # What an application includes: declarations, which need no other library.
    "aot/compiler": ({"abi", "core", *HOST_API, "aot", "aot/compiler"}, STANDARD),
    # The umbrella of the loader, its headers, and those that gather layers.
    "loader.hpp": ({"abi", "core", *LOADER}, STANDARD),
    "host/loader": ({"abi", "core", *LOADER}, STANDARD),
    "host/schema": ({"abi"}, STANDARD),
    "host/plugindir.hpp": (set(), STANDARD),
    "host": ({"abi", "core", *HOST_API}, STANDARD),
    "host.hpp": ({"abi", "core", *HOST_API}, STANDARD),
    # Below all of the host: it knows no plugin and no program.
    "host/platform": ({"abi", "core", "host/platform"}, PLATFORM),
    # Their definitions.
    "aot/compiler/impl": (
        {"abi", "core", *HOST_PARTS, "aot", "aot/compiler", "aot/compiler/impl"},
        COMPILER,
    ),
    # C11, like the boundary.
    "host/c": ({"abi", "host/c"}, C_TYPES),
    "host/c/impl": ({"abi", "core", "host.hpp", "host/c/impl", *HOST_PARTS}, HOST),
    "host/impl": ({"host/impl", *HOST_PARTS}, HOST),
    "host/loader/impl": ({"abi", "core", "loader.hpp", *LOADER_IMPL}, HOST),
    "host/platform/impl": ({"abi", "core", "host/platform", "host/platform/impl"}, PLATFORM),
    "executorch": ({"abi", "core", "executorch"}, BRIDGE),
    "executorch/adapter": (
        {"abi", "core", *HOST_API, "executorch", "executorch/adapter"},
        BRIDGE,
    ),
    "executorch/register_plugins.hpp": (
        {"abi", "core", *HOST_API, "executorch", "executorch/adapter"},
        BRIDGE,
    ),
    "executorch/backend": (
        {"abi", "core", "backend", "tenon.hpp", "executorch", "executorch/backend"},
        BRIDGE,
    ),
    "executorch/plugin.hpp": (
        {"abi", "core", "backend", "tenon.hpp", "executorch", "executorch/backend"},
        BRIDGE,
    ),
    # The bridge to ONNX Runtime, whose facts are its own.
    "onnxruntime": (
        {"abi", "core", *HOST_API, "aot", "aot/compiler", "onnxruntime", "onnxruntime/api"},
        STANDARD,
    ),
    "onnxruntime/api": ({"abi", "onnxruntime/api"}, STANDARD),
    # What authors of suites and cases include: declarations, which need no other library.
    "conformance": ({"abi", "core", *HOST_API, "conformance"}, STANDARD),
    # Their definitions, and all else of the kit (tests/conformance/kit).
    "kit": (
        {
            "abi",
            "core",
            *HOST_PARTS,
            "aot",
            "aot/compiler",
            "aot/compiler/impl",
            # The skeleton of a plugin that wraps a plugin.
            "backend",
            "conformance",
            "kit",
            "kit/platform",
        },
        HOST,
    ),
    # Below all of the kit: they know no rule and no test.
    "kit/platform": (
        {"abi", "core", "host/platform", "host/platform/impl", "kit/platform"},
        KIT_PLATFORM,
    ),
}
for layer, uses in LAYERS.items():
    used = [f"host/layers/{name}" for name in (layer, *uses)]
    RULES[f"host/layers/{layer}"] = ({"abi", "core", "host/plugindir.hpp", *LOADER, *used}, STANDARD)
    RULES[f"host/layers/{layer}/impl"] = (
        {"abi", "core", "host", "loader.hpp", *LOADER_IMPL, *used, *(part + "/impl" for part in used)},
        HOST,
    )
# Umbrella headers and the directories of which they include everything; the headers of one directory count together.
UMBRELLAS = {
    "abi/tenon.h": {"abi"},
    "tenon.hpp": {"core", "backend"},
    "aoti.hpp": {"aoti"},
    "aot.hpp": {"aot"},
    "loader.hpp": {"host/loader"},
    "host.hpp": {"host", *LAYER_PARTS},
    "host/arrays.hpp": {"host", *LAYER_PARTS},
    "host/inspect.hpp": {"host", *LAYER_PARTS},
    "host/isolation.hpp": {"host", *LAYER_PARTS},
    "host/async.hpp": {"host", *LAYER_PARTS},
    "host/discovery.hpp": {"host", *LAYER_PARTS},
    "host/prepared.hpp": {"host", *LAYER_PARTS},
    "host/prove.hpp": {"host", *LAYER_PARTS},
    "host/sequence.hpp": {"host", *LAYER_PARTS},
    "host/signatures.hpp": {"host", *LAYER_PARTS},
}
# What one header may include in addition: hashing has instructions of its own on x86-64 and arm64, and both sides share
# the reader of JSON.
ADDITIONAL = {
    "core/json.hpp": re.compile(r"nlohmann/json\.hpp"),
    "core/sha256.hpp": re.compile(r"(cpuid|immintrin|arm_neon)\.h"),
    "core/x86_features.hpp": re.compile(r"(cpuid|intrin)\.h"),
    # Linux alone has such files.
    "core/memory_file.hpp": POSIX,
    # Maps what another process allocated.
    "backend/mapped_memory.hpp": POSIX,
    # Exceptions that end a thread, floating-point control, and functions that replace glibc's.
    "conformance/interpose.hpp": POSIX,
    "kit/boundary/watch.hpp": re.compile(r"cxxabi\.h"),
    "kit/process/process_state.cpp": re.compile(r"xmmintrin\.h"),
    # The tests of the kit are tests of Catch2 as well.
    "conformance/catch.hpp": re.compile(r"catch2/catch(_all)?\.hpp"),
}
# Headers that an umbrella leaves out: most of its users do not need them, and all would pay for them.
LEFT_OUT = {
    "abi/private/changes.h",
    "aot/edge_description.hpp",
    "aot/edge_program_copy.hpp",
    "aot/edge_program_builder.hpp",
    "aot/owned_edge_program.hpp",
    "aot/program_data.hpp",
    "backend/cancel_flag.hpp",
    "backend/event_watcher.hpp",
    "backend/kernel_lookup.hpp",
    "backend/mapped_memory.hpp",
    "backend/prepared.hpp",
    "backend/static_libstdcxx.hpp",
    "backend/threads.hpp",
    "backend/wrapping_plugin.hpp",
    "core/aoti_names.hpp",
    "core/best_fit.hpp",
    "core/arm64_features.hpp",
    "core/elf/elf_class.hpp",
    "core/elf/elf_image.hpp",
    "core/elf/elf_symbols.hpp",
    "core/file_bytes.hpp",
    "core/hex.hpp",
    "core/json.hpp",
    "core/json_limits.hpp",
    "core/lists.hpp",
    "core/memory_file.hpp",
    "core/object/elf.hpp",
    "core/object/format.hpp",
    "core/object/mach_o.hpp",
    "core/object/pe.hpp",
    "core/object/pe_header.hpp",
    "core/sanitizer.hpp",
    "core/sha256.hpp",
    "core/application/thread_pool.hpp",
    "core/x86_features.hpp",
    "host/executorch_names.hpp",
    "host/platform/environment.hpp",
    "host/platform/list_directory.hpp",
    "host/platform/new_file.hpp",
    "host/loader/files/quoted.hpp",
    "host/loader/files/shortened.hpp",
    "host/layers/isolation/isolated_object.hpp",
    "host/layers/cancel/cancel_flag_table.hpp",
    "host/layers/code/code_permission.hpp",
    "host/layers/prepared/prepare_table.hpp",
    "host/layers/scheduling/threads_table.hpp",
    "host/loader/plugin/calls.hpp",
    "host/loader/plugin/last_error.hpp",
    "host/loader/plugin/peek.hpp",
    "host/loader/plugin/platform.hpp",
    "host/loader/plugin/tensor_storage.hpp",
    "host/layers/trace/debug_handles.hpp",
    "host/loader/program/file_header.hpp",
    "host/loader/registry/plugin_slot.hpp",
}
# Headers that open their own or another directory; they are above it in the graph.
ENTRIES = set(UMBRELLAS) | {
    "backend/mixins.hpp",
    "executorch_names.hpp",
    "executorch/plugin.hpp",
    "executorch/register_plugins.hpp",
    "host/executorch_names.hpp",
    "host/platform/impl/new_file.hpp",
    "host/platform/impl/opened_file.hpp",
    "host/platform/impl/pages.hpp",
    "host/platform/impl/sealed_copy.hpp",
    "host/platform/impl/system_library.hpp",
    "host/platform/impl/trusted_path.hpp",
    "host/platform/environment.hpp",
    "host/platform/list_directory.hpp",
    "host/platform/new_file.hpp",
    "host/platform/file.hpp",
    "host/platform/path_text.hpp",
    "host/platform/signals_blocked.hpp",
    "host/platform/trusted_path.hpp",
    "kit/platform/make_temporary_directory.hpp",
    "kit/platform/output_of_program.hpp",
    "kit/platform/system.hpp",
    "kit/platform/test_server.hpp",
}
# Parts whose headers declare. Their definitions are in the same place below `impl`.
IMPLEMENTED = ["aot/compiler", "host/c", "host/loader", "host/platform", *LAYER_PARTS, "host"]
MAX_FILES = 25
# Public headers of the kit: a folder that an author reads as a whole.
MAX_KIT_HEADERS = 12
# These headers are generated; who may include them is said by the directory they are in.
# What the loader still includes of layers, and a layer of those that it does not use: each line has a header and
# what it includes. A line that is not needed any more is a failure.
WOVEN = pathlib.Path(__file__).with_name("woven.txt")
GENERATED = re.compile(r"host/schema/[a-z_]+_generated\.h|host/plugindir\.hpp")
# Says the name of the release. The schemas' classes are generated, and declared beside them.
RELEASE = "abi/version.h"
RELEASED = "namespace tenon { inline namespace TENON_RELEASE {"
OF_NO_RELEASE = re.compile(r"^ *namespace tenon\b(?! \{ inline namespace TENON_RELEASE \{|::\w*schema\b).*$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<form>["<])(?P<name>[^">]+)[">]', re.M)


def is_implementation(header):
    """Whether a program includes it in exactly one of its sources."""
    return header.endswith("/implementation.hpp")


def part_of(header):
    """The rule that applies to a header: its own, or the rule of the nearest directory above it.

    The headers that put definitions into one source of a program are among the definitions.
    """
    if is_implementation(header):
        return next(root + "/impl" for root in IMPLEMENTED if header.startswith(root + "/"))
    part = header
    while part not in RULES and "/" in part:
        part = part.rpartition("/")[0]
    return part


def reachable(graph):
    """For each node of a graph all nodes that it reaches."""
    out = {}
    for node in graph:
        found, open_ends = set(), list(graph[node])
        while open_ends:
            name = open_ends.pop()
            if name not in found:
                found.add(name)
                open_ends.extend(graph.get(name, ()))
        out[node] = found
    return out


def check_directories(roots, includes, woven):
    """No directory reaches itself, and none holds more files than a reader takes in at once.

    Entry headers are not counted: they stand above the directories that they open.
    """
    problems = []
    graph = {}
    for header, names in includes.items():
        if header in ENTRIES or is_implementation(header):
            continue
        here = header.rpartition("/")[0]
        graph.setdefault(here, set()).update(
            there
            for name in names
            if (there := name.rpartition("/")[0]) != here and (header, name) not in woven
        )
    for directory, reached in reachable(graph).items():
        if directory in reached:
            problems.append(f"{directory}: includes itself in a circle of directories")
    for directory in sorted(path for root in roots for path in root.rglob("*") if path.is_dir()):
        count = sum(path.is_file() for path in directory.iterdir())
        if count > MAX_FILES:
            problems.append(f"{directory}: {count} files, expected at most {MAX_FILES}")
    print(f"{len(graph)} directories, {sum(map(len, graph.values()))} arrows between them")
    return problems


def check_definitions(includes, reached):
    """Each definition is in exactly one of the sources that a program may have of them."""
    problems = []
    everything = [header for header in includes if is_implementation(header)]
    # Not those that are others together.
    implementations = [one for one in everything if not any(map(is_implementation, reached[one]))]
    for header in includes:
        root = next((root for root in IMPLEMENTED if header.startswith(root + "/impl/")), None)
        if root is None:
            continue
        if root + header.removeprefix(root + "/impl") not in includes :
            continue
        users = [one for one in implementations if header in reached[one]]
        if len(users) != 1:
            problems.append(f"{header}: is included by {users}, expected one implementation.hpp")
    if len(implementations) < 7:
        problems.append(f"found only {len(implementations)} headers with all definitions of a part")
    return problems


def check_release(sources, reached):
    """Every namespace of the SDK is its release's, which is defined before it is first used."""
    problems = []
    for header, path in sources:
        text = path.read_text()
        for match in OF_NO_RELEASE.finditer(text):
            problems.append(f"{header}: `{match[0].strip()}`, expected {RELEASED}")
        if "TENON_RELEASE" not in text or header == RELEASE:
            continue
        before = text[: text.index("TENON_RELEASE")]
        first = {match["name"].removeprefix("tenon/") for match in INCLUDE.finditer(before)}
        if RELEASE not in first.union(*(reached.get(name, ()) for name in first)):
            problems.append(f"{header}: uses TENON_RELEASE, expected tenon/{RELEASE} before that")
    return problems


def files_of(root, kit):
    """The files that are checked: (name, path), as includes write the name, without `tenon/`."""
    for path in sorted(root.rglob("*.h*")):
        yield path.relative_to(root).as_posix(), path
    for path in sorted(kit.rglob("*.[ch]pp")):
        yield path.relative_to(kit.parent).as_posix(), path


def main():
    root, kit = pathlib.Path(sys.argv[1]) / "tenon", pathlib.Path(sys.argv[2])
    problems = []
    includes = {}
    woven = {tuple(line.split()) for line in WOVEN.read_text().splitlines() if not line.startswith("#")}
    needed = set()
    for header, path in files_of(root, kit):
        part = part_of(header)
        includes[header] = set()
        if part not in RULES:
            problems.append(f"{header}: there is no rule for {part}; add one to {__file__}")
            continue
        parts, others = RULES[part]
        for match in INCLUDE.finditer(path.read_text()):
            name = match["name"]
            of_kit = name.startswith("kit/")
            if not name.startswith("tenon/") and not of_kit:
                more = ADDITIONAL.get(header)
                allowed = others.fullmatch(name) or (more and more.fullmatch(name))
                if match["form"] != "<" or not allowed:
                    problems.append(f"{header}: may not include {name}")
                continue
            if match["form"] != '"':
                problems.append(f"{header}: writes <{name}>, expected quotes")
            name = name.removeprefix("tenon/")
            if part_of(name) not in parts:
                needed.add((header, name))
            if part_of(name) not in parts and (header, name) not in woven:
                problems.append(f"{header}: may not include {match['name']}")
            if GENERATED.fullmatch(name):
                continue
            if not ((kit.parent if of_kit else root) / name).is_file():
                problems.append(f"{header}: includes {match['name']}, which does not exist")
            includes[header].add(name)
    problems += [f"{WOVEN.name}: {' '.join(line)}: is not needed any more" for line in woven - needed]
    if len(includes) < 40 or not any(name.startswith("kit/") for name in includes):
        problems.append(f"found only {len(includes)} headers under {root} and {kit}")
    public = [name for name in includes if name.startswith("conformance/")]
    if len(public) > MAX_KIT_HEADERS:
        problems.append(f"conformance: {len(public)} headers, expected at most {MAX_KIT_HEADERS}")

    reached = reachable(includes)
    problems += [
        f"{header}: includes itself in a circle" for header in includes if header in reached[header]
    ]
    problems += check_directories([root, kit], includes, woven)
    problems += check_definitions(includes, reached)
    problems += check_release(files_of(root, kit), reached)

    for parts in {frozenset(parts) for parts in UMBRELLAS.values()}:
        umbrellas = [umbrella for umbrella, all_of in UMBRELLAS.items() if all_of == parts]
        included = set().union(*(reached[umbrella] for umbrella in umbrellas))
        for header in includes:
            inside = part_of(header) in parts and header not in UMBRELLAS
            if inside and header not in included | LEFT_OUT:
                problems.append(f"{' and '.join(umbrellas)}: do not include {header}")

    leave(problems, f"{len(includes)} headers, {len(woven)} includes that are woven, {len(problems)} problems")


if __name__ == "__main__":
    main()
