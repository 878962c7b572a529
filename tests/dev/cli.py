# SPDX-License-Identifier: MIT
"""The commands of `./dev`."""

import argparse
import dataclasses
import functools
import os
import pathlib
import sys

from dev import all_tests, bench, demo, fuzz, gpu, live, packages, pages, processes, sources, suites
from dev.cross import command as cross
from dev.part import Failed, Part
from dev.progress import Progress
from dev.release import command as release
from dev.rest import command as rest
from dev.totals import FAILED

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABOUT = "Builds, tests, measures and releases Tenon. Build folders are build/NAME."
EPILOG = """Missing packages are installed with apt when that is possible (root or sudo); otherwise the command
says what to install.

examples:
  ./dev demo
  ./dev quick --suite lint
  ./dev rest --slice auto

exit codes:
  0  success
  1  something failed
  2  wrong usage"""
OF_MESON = "Takes arguments of `meson test`, and builds what suites of them need."


@dataclasses.dataclass(frozen=True)
class Command:
    """A command: `function` gets the part and what `arguments` adds to a parser, by name; without `arguments` all words,
    as a list, where `words` says what they are. What returns a status has it as its own; else the totals are printed."""

    function: object
    # What it does, in the list of commands.
    about: str
    # More, in the command's own help.
    more: str = ""
    words: str = ""
    arguments: object = None


def _fuzz_arguments(parser):
    parser.add_argument("target", nargs="?", metavar="TARGET",
                        help="an archive of tests/fuzz/corpus/*; default: all in turn")
    parser.add_argument("seconds", nargs="?", metavar="SECONDS", help="for each target (default: 60)")


def _gpu_arguments(parser):
    parser.add_argument("folder", nargs="?", metavar="DIR", default="docs/measurements", help="default: %(default)s")


COMMANDS = {
    "demo": Command(demo.demo, "build, then classify a handwritten digit with a model that PyTorch compiled"),
    "test": Command(all_tests.test,
                    "run what CI checks with every change: warnings, tests, sanitizers, format; end with totals",
                    "With arguments, run only the tests that they name, by clang without optimisation. " + OF_MESON,
                    words="[MESON_ARGUMENT]..."),
    "rest": Command(rest.rest, "run what `test` leaves out, in slices of minutes", rest.__doc__,
                    arguments=rest.add_arguments),
    "quick": Command(suites.quick, "build with one compiler and run its tests", OF_MESON, words="[MESON_ARGUMENT]..."),
    "slow": Command(suites.slow, "run tests that take minutes, in gcc's optimised build",
                    OF_MESON, words="[MESON_ARGUMENT]..."),
    "sanitized": Command(
        suites.sanitized, "run the sanitizers over all tests that can run with them",
        "Runs the address and undefined-behaviour sanitizers over all tests that can run with them, also tests of the\n"
        "programs and the conformance kit, which `test` leaves out; then the thread sanitizer over all tests with\n"
        "threads. --threads runs the latter alone. " + OF_MESON, words="[--threads] [MESON_ARGUMENT]..."),
    "live": Command(
        live.live, "run real models; installs PyTorch and ExecuTorch from PyPI into build/live (6 GB)",
        "Installs PyTorch and ExecuTorch from PyPI into build/live (6 GB), exports twenty-one models, runs them without\n"
        "libtorch, with it in the same process, and with another plugin loaded; ExecuTorch reads and runs programs that\n"
        "Tenon wrote; kernels of programs for CUDA run in Triton's interpreter.\n\n"
        f"--part {'|'.join(live.PARTS)} does one of these; after models, or\n"
        "without a part, --only MODEL exports this one alone.\n"
        "--operators [ARGUMENT]... runs ExecuTorch's suite of operators instead (minutes), with arguments of\n"
        "tests/live/checks/operator_suite.py, such as --dtype int64.\n"
        "--architectures [ARGUMENT]... runs small models of torchvision, timm, transformers and diffusers, with\n"
        "arguments of tests/live/checks/architectures.py, such as --speed.",
        words="[--part PART] [--only MODEL]... | --operators [ARGUMENT]... | --architectures [ARGUMENT]..."),
    "wheel": Command(pages.wheel, "make wheels for versions of Python in build/wheel/dist, and test them in fresh environments",
                     pages.WHEEL_HELP, arguments=pages.wheel_arguments),
    "release": Command(release.release, "make and check the files of a release: archive, Debian packages, wheel, SBOM, digests",
                       release.__doc__, arguments=release.add_arguments),
    "bench": Command(
        bench.bench, "run benchmarks against the stock ExecuTorch wheel (fetches it from PyPI)",
        "Takes arguments of tenon-bench: --only GROUP, --rounds N, --markdown, --json FILE, --case FOLDER, ...\n"
        "--compare A.json B.json says which rows of two runs differ by more than noise.\n"
        "--chart RUN.json PICTURE.svg draws a run: bars against stock ExecuTorch, for light and dark pages.",
        words="[ARGUMENT]... | --compare A.json B.json | --chart RUN.json PICTURE.svg"),
    "gpu": Command(gpu.gpu, "run all that needs an NVIDIA GPU, and write a report",
                   "Runs kernels, the conformance kit, real programs and compute-sanitizer, takes figures, and writes a report\n"
                   "to a folder in DIR.",
                   arguments=_gpu_arguments),
    "gpu-pack": Command(gpu.pack, "build what `gpu` needs into build/gpu-pack, for a machine without a network",
                        "tests/gpu/run_suite --prebuilt runs the pack, which takes less than 50 MB."),
    "bench-aoti": Command(bench.bench_aoti, "time real models against libtorch's own loader; --operators: single operators",
                          "Takes arguments of tests/live/benchmarks/bench_aoti.py, or of bench-operators.",
                          words="[ARGUMENT]... | --operators [ARGUMENT]..."),
    "fuzz": Command(fuzz.fuzz, "run libFuzzer with both sanitizers on one target, or on all in turn",
                    arguments=_fuzz_arguments),
    "cross": Command(cross.cross, "build for another platform (arm64, armhf, musl, windows, macos, trixie) or by other "
                     "compilers, and run what runs here; `all` of them, `quick` a part (docs/platforms.md)", cross.__doc__,
                     arguments=cross.add_arguments),
    "format": Command(sources.write, "rewrite the sources in the project's style"),
    "docs": Command(pages.docs, "draw the pictures; build and check the site of the pages with the API reference",
                    "The site is in build/docs/site, with search. TENON_REPOSITORY is the address of its link to the repository."),
    "tidy": Command(sources.tidy, "run clang-tidy on the headers of include/tenon/core, or on FILE (.clang-tidy)",
                    words="[FILE]..."),
    "setup": Command(lambda part: packages.setup(part) or 0, "install missing packages, and do nothing else"),
}


def parser_of_commands():
    """Of all commands, and each with a parser of its own."""
    layout = functools.partial(argparse.RawDescriptionHelpFormatter, max_help_position=17, width=112)
    parser = argparse.ArgumentParser(prog="./dev", description=ABOUT, epilog=EPILOG, formatter_class=layout)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        usage = f"./dev {name} [-h] {command.words}" if command.words else None
        one = commands.add_parser(name, help=command.about.replace("%", "%%"), usage=usage,
                                  description=command.more or command.about, formatter_class=layout)
        if command.arguments:
            command.arguments(one)
    return parser


def _parsed(argv):
    """The command's name, and the arguments of its function."""
    parser = parser_of_commands()
    if argv[:1] == ["help"]:
        argv = ["--help"]
    command = COMMANDS.get(argv[0]) if argv else None
    # Words that are another program's are not read here, whatever they are.
    if command and command.words and argv[1:2] not in (["-h"], ["--help"]):
        return argv[0], {"words": argv[1:]}
    if not argv:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    found = vars(parser.parse_args(argv))
    return found.pop("command"), found


def perform(command, arguments, progress, out=None):
    """The exit status of a command, which prints its totals last if it has any."""
    part = Part(out, progress)
    try:
        status = command.function(part, **arguments)
    except Failed as failure:
        print(f"dev: {failure}", file=sys.stderr, flush=True)
        if not part.checks:
            return 1
        # An aside that failed is counted already.
        if all(check.name != str(failure) for check in part.checks):
            part.add(str(failure), FAILED)
        status = None
    else:
        progress.keep()
    if status is not None:
        return status
    part.print_totals()
    return 1 if part.totals().failed else 0


def main(argv):
    """Runs a command in the repository's root and returns its exit status."""
    name, arguments = _parsed(argv)
    os.chdir(ROOT)
    progress = Progress(argv)
    return processes.guard(lambda: perform(COMMANDS[name], arguments, progress))
