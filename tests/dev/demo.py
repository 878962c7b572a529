# SPDX-License-Identifier: MIT
"""`./dev demo`: a handwritten digit, classified by a network that PyTorch compiled."""

import pathlib

from dev import builds, packages

DIGITS = "examples/applications/digits"
# For tenon-run, besides the plugin; README.md shows what it prints with them (tests/docs/demo_test.py).
ARGUMENTS = [f"{DIGITS}/model.pte", "--input", f"{DIGITS}/input.npy", "--expect", f"{DIGITS}/expected.npy", "--top", "3"]


def demo(part):
    """Builds what it needs, and shows it."""
    program, plugin = "examples/programs/tenon-run/tenon-run", "reference_backends/cpu_aoti/cpu_aoti.so"
    packages.setup(part)
    part.say("building tenon-run and CpuAotiBackend")
    builds.configure(part, builds.DEMO)
    builds.compile_in(part, builds.DEMO.folder, [program, plugin])
    part.say("a handwritten digit that the model never saw")
    part.print(pathlib.Path(DIGITS, "image.txt").read_text(encoding="utf-8").rstrip("\n"))
    part.say("tenon-run: a network that AOTInductor compiled, run by CpuAotiBackend, without libtorch")
    return part.call([f"build/demo/{program}", "--plugin", f"build/demo/{plugin}", *ARGUMENTS])
