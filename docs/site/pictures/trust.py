# SPDX-License-Identifier: MIT
"""The trust boundaries of docs/SECURITY.md: what comes from outside, where its code runs, and what checks it."""

import re

from svg import WIDTH, Picture, lines_of

# What each number in the picture means: the check at a boundary, its facts as docs/SECURITY.md has them.
CHECKS = (
    "The host verifies a program as a whole before it uses it: every offset, index and size. Limits bound time and memory.",
    "Before any code of a plugin runs, the host reads its record from the file and checks the owner of each part of the path, "
    "and a pin or a signature where the application asks for one.",
    "No check: code that was let in has all rights of the process. The rules of the ABI find faults, not attacks.",
    "EmbeddedCodePolicy decides: allow, which is the default, deny, or a list of hashes.",
    "Sealed copies go in. A profile, off by default, takes rights away before the plugin is loaded. The host checks each "
    "message that comes back. The outputs may still be wrong.",
)
# The words of a check that the page has to have, so that the picture cannot promise more than the page.
WORDS = ("Program::open", "EmbeddedCodePolicy", "signature", "pin", "sealed cop", "all rights of the process", "profile")
LINE, EDGE = 15, 10


def number(picture, at, x, y):
    picture.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="9" fill="var(--paper)" stroke="var(--bad)" stroke-width="1.5"/>')
    picture.text(x, y + 4.2, str(at), 12, "ink", "middle", "600")


def boundary(picture, y):
    picture.path(f"M{EDGE} {y}H{WIDTH - EDGE}", "bad", dash="5 4")


def trust():
    lines = [(at, lines_of(text, WIDTH - 2 * EDGE - 26)) for at, text in enumerate(CHECKS, 1)]
    legend = sum(LINE * len(each) + 6 for _, each in lines)
    picture = Picture("Trust boundaries. From outside come the bytes of a program and the file of a plugin. In the process of the "
                      "application are the host, which is trusted, and, with all rights of the process, the code of plugins and "
                      "code that a program carries. A worker is a process of its own. "
                      + " ".join(f"{at}: {text}" for at, text in enumerate(CHECKS, 1)), 434 + legend)
    # From outside.
    picture.text(EDGE, 20, "from outside", 11, "quiet")
    picture.box(10, 28, 165, 50, "bridge", ["bytes of a file", ".pte, .ptd, .pt2, .npy"])
    picture.box(185, 28, 165, 50, "bridge", ["a plugin's file", "with its manifest"])
    boundary(picture, 98)
    # The process of the application.
    picture.rect(10, 116, 340, 206, "screen", "host-line")
    picture.text(180, 134, "process of the application", 11, "quiet", "middle")
    picture.box(20, 142, 320, 48, "host", ["application and host", "trusted: reads, verifies, loads"])
    picture.box(20, 258, 152, 50, "author", ["code of a plugin", "what dlopen loaded"])
    picture.box(188, 258, 152, 50, "bridge", ["code of a program", "compiled into the .pte"])
    picture.text(180, 247, "one process: no boundary", 11, "quiet", "middle")
    # The worker.
    boundary(picture, 340)
    picture.rect(10, 358, 340, 62, "screen", "line")
    picture.text(170, 376, "worker: another process", 11, "quiet", "end")
    picture.text(190, 376, "with a profile, if it is set", 11, "quiet")
    picture.box(20, 382, 320, 32, "author", ["a plugin, or the code of a program"])
    for at, x, y1, y2, y in ((1, 92, 78, 142, 98), (2, 268, 78, 142, 98), (3, 96, 190, 258, 214), (4, 264, 190, 258, 214)):
        picture.arrow(x, y1, x, y2)
        number(picture, at, x, y)
    # Into the worker and back, between the boxes of the process.
    picture.path("M180 190V236", "line")
    picture.path("M180 251V376", "line")
    picture.arrow(180, 370, 180, 382)
    picture.arrow(180, 196, 180, 190)
    number(picture, 5, 180, 340)
    y = 448
    for at, text in lines:
        number(picture, at, EDGE + 9, y - 4)
        for line in text:
            picture.text(EDGE + 26, y, line, 11, "ink")
            y += LINE
        y += 6
    return picture


def draw(root):
    page = (root / "docs/SECURITY.md").read_text(encoding="utf-8")
    page = " ".join(re.sub(r"^!\[.*$", "", page, flags=re.MULTILINE).split())  # Without the picture's own text.
    if missing := [word for word in WORDS if word not in page]:
        raise ValueError(f"docs/SECURITY.md does not say {', '.join(missing)}")
    return {"trust": trust().render()}
