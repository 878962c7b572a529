# SPDX-License-Identifier: MIT
"""What all pictures share: colours for light and dark, and the few shapes that they are made of.

A picture is an SVG of 360 units, the width of a telephone: there a unit is a pixel, on a page it is shown up to 1.5 times
as large. Colours are names of PALETTE. In a file they follow the reader's preference; build.py puts pictures into the
pages of the site, where they follow the site's switch. Viewers without CSS variables, such as librsvg, show the light ones:
each attribute has the light colour, and a rule of the style replaces it by the variable.
"""

import dataclasses
import html
import re

WIDTH = 360

# name: (light, dark). Texts have a contrast of 4.5 to what they are on; check_site.py computes it.
PALETTE = {
    "paper": ("#ffffff", "#1c1f27"),
    "ink": ("#1c232b", "#e4e8ee"),
    "quiet": ("#4a5560", "#aab4c0"),
    "line": ("#8a94a0", "#6f7a87"),
    "shared": ("#eef0f3", "#2b303a"),
    "shared-line": ("#55606e", "#8d98a6"),
    "author": ("#e6f4ec", "#1d3a2c"),
    "author-line": ("#2f6f4f", "#5fae85"),
    "host": ("#e6eefa", "#1f3352"),
    "host-line": ("#2b5c9e", "#6f9fdd"),
    "tool": ("#f1eaf8", "#372a49"),
    "tool-line": ("#7a4fa3", "#b491d6"),
    "bridge": ("#fbf0e2", "#44311a"),
    "bridge-line": ("#a5641c", "#d79a56"),
    "screen": ("#f6f7f9", "#12141a"),
    "good": ("#1f6b43", "#6cc796"),
    "bad": ("#a3261f", "#f08c86"),
}
# What is written on what.
TEXT_ON = [
    *((text, ground) for text in ("ink", "quiet") for ground in
      ("paper", "shared", "author", "host", "tool", "bridge", "screen")),
    ("good", "screen"), ("bad", "screen"), ("host-line", "paper"), ("bridge-line", "paper"),
]
SANS = "ui-sans-serif,system-ui,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif"
MONO = "ui-monospace,'SF Mono','Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"


def variables(mode):
    return "".join(f"--{name}:{colours[mode]};" for name, colours in PALETTE.items())


def style(used):
    """The style of a file, with the colours in `used` alone."""
    def listed(mode):
        return "".join(f"--{name}:{PALETTE[name][mode]};" for name in PALETTE if name in used)

    return f"svg.tenon{{{listed(0)}}}@media(prefers-color-scheme:dark){{svg.tenon{{{listed(1)}}}}}"


def with_plain_colours(body):
    """The parts with light colours as attributes, and the rules that make variables of them."""
    used = sorted(set(re.findall(r'(fill|stroke)="var\(--([\w-]+)\)"', body)))
    rules = "".join(f'.tenon [{attribute}="{PALETTE[name][0]}"]{{{attribute}:var(--{name})}}' for attribute, name in used)
    return re.sub(r'(fill|stroke)="var\(--([\w-]+)\)"', lambda m: f'{m[1]}="{PALETTE[m[2]][0]}"', body), rules


def site_css():
    """The colours for pictures in pages of the site."""
    return (f"/* Made of docs/site/pictures/svg.py. */\n.picture{{{variables(0)}}}\n"
            f'[data-md-color-scheme="slate"] .picture{{{variables(1)}}}\n')


def width_of(text, size, mono=False, bold=False):
    """About as wide as DejaVu Sans, the widest of the fonts, draws a text."""
    if mono:
        return 0.603 * size * len(text)
    narrow = sum(text.count(letter) for letter in "iljtfr.,:;'|()[]/ ")
    return size * (0.61 * (len(text) - narrow) + 0.34 * narrow) * (1.1 if bold else 1)


def lines_of(text, width, size=11):
    """A text in lines of at most this width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


@dataclasses.dataclass
class Picture:
    title: str  # for those who do not see it: what it shows
    height: float
    width: float = WIDTH
    parts: list = dataclasses.field(default_factory=list)
    extra_style: str = ""

    def rect(self, x, y, width, height, fill, stroke="", radius=6, dash=""):
        line = f' stroke="var(--{stroke})"' if stroke else ""
        line += f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" fill="var(--{fill})"{line}/>')

    def text(self, x, y, content, size=13, colour="ink", anchor="start", weight="", mono=False, attributes=""):
        """A line of text, which fails when a common font would draw it out of the picture."""
        length = width_of(content, size, mono or "class" in attributes, bool(weight))
        left = x - {"start": 0, "middle": length / 2, "end": length}[anchor]
        if left < 0 or left + length > self.width:
            raise ValueError(f"{content!r} does not fit: from {left:.0f} to {left + length:.0f} of {self.width}")
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += f' font-weight="{weight}"' if weight else ""
        more += ' class="mono"' if mono else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="var(--{colour})"{more}{attributes}>'
                          f"{html.escape(content, quote=False)}</text>")

    def box(self, x, y, width, height, kind, lines, dash=""):
        """A box with centred lines; the first is its name. A line that begins with a backquote is code."""
        for number, line in enumerate(lines):
            if width_of(line.lstrip("`"), 11.5 if number else 13, line.startswith("`"), number == 0) > width - 6:
                raise ValueError(f"{line!r} does not fit into its box")
        self.rect(x, y, width, height, kind, f"{kind}-line", dash=dash)
        at = y + height / 2 - (len(lines) - 1) * 8.5 + 4.5
        for number, line in enumerate(lines):
            self.text(x + width / 2, at + number * 17, line.lstrip("`"), 13 if number == 0 else 11.5,
                      "ink" if number == 0 else "quiet", "middle", "600" if number == 0 else "", line.startswith("`"))

    def arrow(self, x1, y1, x2, y2, colour="line"):
        """A straight line with a head at its end."""
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        ends = [(x2 - 7 * dx - 4 * side * dy, y2 - 7 * dy + 4 * side * dx) for side in (1, -1)]
        head = " ".join(f"{x:g},{y:g}" for x, y in ((x2, y2), *((round(x, 1), round(y, 1)) for x, y in ends)))
        self.path(f"M{x1:g} {y1:g}L{x2 - 5 * dx:g} {y2 - 5 * dy:g}", colour)
        self.parts.append(f'<polygon points="{head}" fill="var(--{colour})"/>')

    def path(self, d, colour="line", width=1.5, dash=""):
        more = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{d}" fill="none" stroke="var(--{colour})" stroke-width="{width:g}"{more}/>')

    def render(self, scale=1.5):
        paper = f'<rect width="{self.width:g}" height="{self.height:g}" rx="6" fill="var(--paper)"/>'
        body, extra = with_plain_colours("\n".join([paper, *self.parts]))
        extra += self.extra_style
        if 'class="mono"' in body:
            extra += f".tenon .mono{{font-family:{MONO}}}"
        used = set(re.findall(r"var\(--([\w-]+)\)", body + extra)) | {"paper"}
        return (
            "<!-- SPDX-License-Identifier: MIT -->\n<!-- Made by docs/site/pictures/draw.py -->\n"
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tenon" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width * scale:g}" height="{self.height * scale:g}" role="img" font-family="{SANS}">\n'
            f"<title>{html.escape(self.title, quote=False)}</title>\n"
            f"<style>{style(used)}</style>\n"
            + (f"<style>{extra}</style>\n" if extra else "")
            + f"{body}\n</svg>\n"
        )


def for_page(text, alternative):
    """A picture's file as part of a page of the site: without the colours, which the site has."""
    svg = text[text.index("<svg"):]
    svg = re.sub(r"<style>svg\.tenon\{--.*?</style>\n", "", svg, count=1)
    return re.sub(r"<title>.*?</title>", f"<title>{html.escape(alternative, quote=False)}</title>", svg, count=1,
                  flags=re.DOTALL)
