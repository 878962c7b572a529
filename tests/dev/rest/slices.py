# SPDX-License-Identifier: MIT
"""What CI leaves out, as slices: each takes at most twelve minutes of two idle cores where the build that it uses is
there, and `.ci/run` runs one for which it has time. A new slice is added here and nowhere else."""

import dataclasses
import shlex

MAX_MINUTES = 12


@dataclasses.dataclass(frozen=True)
class Slice:
    """One part of what `./dev test` leaves out."""

    name: str
    # What it checks, in one line.
    about: str
    # Command lines without a shell, run in the repository's root. A word NAME=VALUE before the program is a variable.
    # A command that ends with totals (../totals.py) is counted by them, another one as one check.
    commands: tuple[str, ...]
    # On two idle cores, where the folder that it builds in has what earlier slices compiled. Commands are ended after
    # three times as long.
    minutes: float
    # Number of commits on main when the slice was added: the age of a slice that never ran.
    since: int = 718

    def words(self):
        """For each command: its variables, and its words."""
        for command in self.commands:
            words = shlex.split(command)
            variables = {}
            while "=" in words[0]:
                name, _, value = words.pop(0).partition("=")
                variables[name] = value
            yield variables, words

    @property
    def needs_gcc(self):
        """Whether it runs in gcc's build, which a machine of CI would have to compile from nothing first."""
        return any(words[:2] in (["./dev", "slow"], ["./dev", "live"]) for _, words in self.words())

    @property
    def timeout(self):
        """Seconds after which the slice is ended: room for a machine that is three times slower."""
        return self.minutes * 60 * 3


def _models(*names):
    return "./dev live --part models " + " ".join(f"--only {name}" for name in names)


SLICES = (
    Slice("gcc-library", "gcc, optimised: the library, the ahead-of-time half, both bridges to ExecuTorch, headers",
          ("./dev slow --suite unit --suite headers --suite abi --no-suite programs --no-suite backends "
           "--no-suite conformance --no-suite slow",), 12, since=1415),
    Slice("gcc-programs", "gcc, optimised: the programs, other applications, Python, pages",
          ("./dev slow --suite programs --suite python --suite docs --no-suite backends --no-suite slow",), 12, since=1415),
    Slice("gcc-backends", "gcc, optimised: backends of all devices, and kernels one by one",
          ("./dev slow --suite backends --suite kernels --suite gpu --no-suite slow",), 12, since=1415),
    Slice("gcc-kit", "gcc, optimised: the conformance kit, and what it judges of each plugin",
          ("./dev slow --suite conformance --no-suite zoo --no-suite slow",), 12, since=1415),
    Slice("gates", "instructions of the hot paths, and sizes of what users get, beside their records",
          ("./dev slow --suite gates",), 5, since=1415),
    Slice("slow", "the kit at levels 9 and 10, work that grows with a file, failing calls of the C library (others each "
          "day), headers by clang, the Metal plugin for macOS", ("./dev slow --suite slow --no-suite package",), 10),
    Slice("packages", "each way to install and to use a template",
          ("./dev slow --suite package --suite install",), 10),
    Slice("sanitized-programs", "programs with the address and undefined-behaviour sanitizers",
          ("./dev sanitized --suite programs --no-suite slow",), 12),
    Slice("sanitized-backends", "backends with the address and undefined-behaviour sanitizers",
          ("./dev sanitized --suite backends --suite kernels --no-suite slow",), 12),
    Slice("sanitized-kit", "the conformance kit with the address and undefined-behaviour sanitizers",
          ("./dev sanitized --suite conformance --no-suite slow",), 12),
    Slice("sanitized-compiler", "the ahead-of-time half, and what `./dev test` leaves out of the library, with the address "
          "and undefined-behaviour sanitizers",
          ("./dev sanitized --suite compiler --suite rest --no-suite programs --no-suite backends --no-suite conformance "
           "--no-suite gates",), 8, since=1240),
    Slice("sanitized-slow", "slow tests with the address and undefined-behaviour sanitizers",
          ("./dev sanitized --suite slow",), 12),
    Slice("sanitized-bridges", "both bridges to ExecuTorch and the inputs of the fuzz targets with the address and "
          "undefined-behaviour sanitizers", ("./dev sanitized --suite bridges --suite fuzz",), 10, since=829),
    Slice("sanitized-threads", "all with threads, kernels, CudaBackend, bridges and workers too, with the thread sanitizer",
          ("./dev sanitized --threads --suite threads --suite kernels --suite bridges --suite isolation",), 12),
    Slice("quick-library", "each source of the library and its tests compiled by itself, without optimisation",
          ("./dev quick --suite unit --no-suite programs --no-suite backends --no-suite conformance --no-suite slow",), 10),
    Slice("quick-programs", "the same for the programs", ("./dev quick --suite programs --no-suite slow",), 12),
    Slice("quick-backends", "the same for the backends", ("./dev quick --suite backends --no-suite slow",), 8),
    Slice("quick-kit", "the same for the conformance kit",
          ("./dev quick --suite conformance --no-suite zoo --no-suite judged --no-suite slow",), 12),
    Slice("quick-judged", "the same for plugins that the kit judges", ("./dev quick --suite judged --no-suite slow",), 12,
          since=1537),
    Slice("quick-zoo", "the same for the broken plugins of the zoo", ("./dev quick --suite zoo --no-suite slow",), 12,
          since=1537),
    Slice("quick-headers", "each header by itself with each option of both compilers; the boundary, abidiff; pages; the "
          "Python package", ("./dev quick --suite headers --suite abi --suite docs --suite lint --suite python --suite gpu "
                      "--no-suite ages",), 10),
    Slice("zoo", "the zoo at the kit's default level: each broken plugin is caught by its rule, and by no other",
          ("TENON_ZOO_LEVEL=5 ./dev slow --suite zoo",), 10),
    Slice("live-models-1", "models that PyTorch exports, run without libtorch and beside it (first third)",
          (_models("tiny_addmul", "small_mlp", "dynamic_mlp", "stateful", "kv_cache", "external_weights", "resnet18"),),
          10),
    Slice("live-models-2", "the second third",
          (_models("gpt2", "bert", "mobilenet_v3_small", "vit", "lstm", "embedding", "topk_sort"),), 10),
    Slice("live-models-3", "the last third",
          (_models("unet", "bfloat16_block", "conv1d_audio", "conv3d_video", "channels_last_cnn", "selection",
                   "pooling"),), 10),
    Slice("live-programs", "archives of PyTorch compiled by tenon-compile; stock Python with plugins",
          ("./dev live --part programs",), 10),
    Slice("live-cuda", "programs for CUDA in Triton's interpreter", ("./dev live --part cuda",), 10),
    Slice("live-openvino", "the OpenVINO plugin with models of ExecuTorch's exporter", ("./dev live --part openvino",), 10),
    Slice("live-upstream", "archives, programs and operators compared with PyTorch's and ExecuTorch's own readers and "
          "kernels", ("./dev live --part upstream",), 12),
    Slice("live-executorch", "plugins in ExecuTorch's exporter; models for XNNPACK in both runtimes",
          ("./dev live --part executorch",), 10),
    Slice("architectures", "a sample of the architectures of torchvision, timm, transformers and diffusers",
          ("./dev live --architectures --only llama --only mamba --only whisper --only swin --only mobilevit --only lstm "
           "--only dlrm --only linear_int4",), 10),
    Slice("operators", "a sample of ExecuTorch's suite of operators", ("./dev live --operators --sample 480",), 10),
    Slice("wheel", "wheels for versions of Python, in fresh environments, with a vendor's package", ("./dev wheel",), 12),
    Slice("ray", "batch inference by two workers of Ray Data, one of which is killed",
          ("build/python/venv/bin/python -m venv build/ray/venv",
           "build/ray/venv/bin/pip install --quiet --disable-pip-version-check ray[data]==2.60.0 numpy==2.4.6",
           "./dev slow python-batch_inference_test"), 4, since=1109),
    Slice("docs", "the site of the pages and the API reference", ("./dev docs",), 3),
    Slice("fuzz", "each reader of outside bytes against random input, for a time", ("./dev fuzz 15",), 10),
    Slice("cross-windows", "programs, plugins, unit tests and the kit under Wine", ("./dev cross windows",), 12),
    Slice("cross-arm64", "the same on arm64, by qemu", ("./dev cross arm64",), 12),
    Slice("cross-trixie", "the demo, and tests by gcc 14 and clang 19, in a root of Debian 13", ("./dev cross trixie",), 12,
          since=748),
    Slice("cross-zoo", "the zoo of the kit on arm64, by qemu", ("./dev cross zoo",), 12),
    Slice("cross-others", "musl, armhf, macOS, plugins of other compilers, and plugins of one platform in hosts of "
          "another", ("./dev cross musl", "./dev cross armhf", "./dev cross compilers", "./dev cross macos",
                      "./dev cross refusals"), 12),
    Slice("bench", "the benchmarks, one round each; what a source pays for the headers that it includes",
          ("./dev bench --rounds 1", "python3 tests/headers/compile_cost.py --build build/bench --rounds 1"), 10),
)
