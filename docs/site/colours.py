# SPDX-License-Identifier: MIT
"""Computes the contrast of the site's texts, in light and dark, from the custom properties of its style sheets."""

import colorsys
import re

import svg

LEAST = 4.5  # WCAG 2.2, level AA, for texts.

# Text and what it is on, by the theme's properties.
THEME = [
    *((f"--md-{text}", "--md-default-bg-color") for text in
      ("default-fg-color", "default-fg-color--light", "typeset-color", "typeset-a-color", "accent-fg-color")),
    *((f"--md-code-{text}-color", "--md-code-bg-color") for text in
      ("fg", "hl-number", "hl-special", "hl-function", "hl-constant", "hl-keyword", "hl-string", "hl-name", "hl-operator",
       "hl-punctuation", "hl-comment", "hl-generic", "hl-variable")),
    ("--md-typeset-a-color", "--md-code-bg-color"),
    ("--md-primary-bg-color", "--md-primary-fg-color"),
    ("--md-primary-bg-color--light", "--md-primary-fg-color"),
    *((f"--md-footer-fg-color{text}", "--md-footer-bg-color") for text in ("", "--light", "--lighter")),
]


def pairs():
    return [*THEME, *((f"--{text}", f"--{ground}") for text, ground in svg.TEXT_ON)]


def properties(sheets, scheme):
    """The custom properties in force for a scheme, the later sheets over the earlier ones."""
    wanted = {":root", ".picture", f"[data-md-color-scheme={scheme}]", f"[data-md-color-scheme={scheme}] .picture"}
    found = {}
    for sheet in sheets:
        sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
            if wanted & {each.strip().replace('"', "") for each in selectors.split(",")}:
                found |= {name: value.strip() for name, value in re.findall(r"(--[\w-]+)\s*:([^;]+)", body)}
    return found


def resolve(value, found):
    """A colour as (red, green, blue, alpha), each from 0 to 1."""
    for _ in range(8):
        value = re.sub(r"var\((--[\w-]+)\)", lambda m: found[m[1]], value)
    if hexadecimal := re.fullmatch(r"#([0-9a-fA-F]{3,8})", value):
        digits = hexadecimal[1]
        if len(digits) in (3, 4):
            digits = "".join(2 * each for each in digits)
        parts = [int(digits[at:at + 2], 16) / 255 for at in range(0, len(digits), 2)]
        return (*parts[:3], parts[3] if len(parts) == 4 else 1.0)
    if hsla := re.fullmatch(r"hsla?\((\d+)(?:deg)?, ?(\d+)%, ?(\d+)%(?:, ?([\d.]+))?\)", value):
        hue, saturation, lightness = int(hsla[1]) / 360, int(hsla[2]) / 100, int(hsla[3]) / 100
        return (*colorsys.hls_to_rgb(hue, lightness, saturation), float(hsla[4] or 1))
    raise ValueError(f"{value!r} is no colour that is known here")


def over(front, back):
    """A colour with alpha on an opaque one."""
    return tuple(f * front[3] + b * (1 - front[3]) for f, b in zip(front[:3], back[:3]))


def luminance(colour):
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def problems(site):
    sheets = [path for kind in ("main", "palette") for path in sorted(site.glob(f"assets/stylesheets/{kind}.*.css"))]
    sheets = [path.read_text(encoding="utf-8") for path in [*sheets, site / "site.css", site / "pictures.css"]]
    out = []
    for scheme in ("default", "slate"):
        found = properties(sheets, scheme)
        page = resolve(found["--md-default-bg-color"], found)
        for text, ground in pairs():
            back = over(resolve(found[ground], found), page)
            ratio = contrast(over(resolve(found[text], found), back), back)
            if ratio < LEAST:
                out.append(f"colours, {scheme}: {text} on {ground} has a contrast of {ratio:.2f}, below {LEAST}")
    return out
