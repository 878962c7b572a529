# SPDX-License-Identifier: MIT
"""How a call grows with a method's delegates, with its kernels and with threads, from the tables of
docs/project/performance-notes.md: a picture for each."""

import tables
from svg import WIDTH, Picture

LEFT, RIGHT, TOP, BOTTOM = 46, 20, 66, 34
HEIGHT = 240


def curves(title, note, points, sides, highest):
    """`sides` are (name, figures, colour)."""
    said = "; ".join(f"{name}: " + ", ".join(f"{value:g} ns at {point}" for point, value in zip(points, values))
                     for name, values, _ in sides)
    picture = Picture(f"{title}. {said}.", HEIGHT)
    picture.text(14, 22, title, 14, weight="600")
    picture.text(14, 39, note, 11, "quiet")

    def x_of(at):
        return LEFT + 16 + (WIDTH - LEFT - RIGHT - 32) * at / (len(points) - 1)

    def y_of(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / highest

    for step in range(5):
        value = highest * step / 4
        picture.path(f"M{LEFT} {y_of(value):.1f}H{WIDTH - RIGHT}", "shared", 1)
        picture.text(LEFT - 6, y_of(value) + 4, f"{value:g}", 11, "quiet", "end")
    picture.text(14, 58, "ns", 11, "quiet")
    for at, point in enumerate(points):
        picture.text(x_of(at), HEIGHT - BOTTOM + 18, point, 11.5, "quiet", "middle")
    legend = LEFT
    for name, values, colour in sides:
        line = "L".join(f"{x_of(at):.1f} {y_of(value):.1f}" for at, value in enumerate(values))
        picture.path(f"M{line}", colour, 2)
        for at, value in enumerate(values):
            picture.parts.append(f'<circle cx="{x_of(at):.1f}" cy="{y_of(value):.1f}" r="3" fill="var(--{colour})"/>')
            # Above the curve, or below it where another one is above.
            is_above = value == max(figures[at] for _, figures, _ in sides)
            picture.text(x_of(at), y_of(value) + (-8 if is_above else 17), f"{value:g}", 11, colour, "middle")
        picture.rect(legend, 51, 14, 4, colour, radius=2)
        picture.text(legend + 19, 58, name, 11.5, colour)
        legend += 140
    return picture.render()


def draw(root):
    page = (root / "docs/project/performance-notes.md").read_text(encoding="utf-8")
    methods = tables.table_of(page, "what | 1 | 10 | 100 | 1,000")
    threads = tables.table_of(page, "what | 1 thread | 2 | 4 | 8")

    def figures(rows, what):
        return [tables.figure(cell) for name, cell in tables.row_of(rows, "what", what).items() if name != "what"]

    def sides(what):
        return [("stock ExecuTorch", figures(methods, f"{what}, stock"), "bridge-line"),
                ("Tenon", figures(methods, f"{what}, ours"), "host-line")]

    points = [name for name in methods[0] if name != "what"]
    return {
        "growth-delegates": curves("A delegate call, many delegates", "time of a run by its calls; delegates of the method",
                                   points, sides("a delegate call"), 28),
        "growth-kernels": curves("A kernel call, many kernels", "time of a run by its calls; kernels of the method",
                                 points, sides("a kernel call"), 100),
        "growth-threads": curves("A delegate call on many threads",
                                 "processor time of a call; threads, each with its own method",
                                 [name.removesuffix(" thread") for name in threads[0] if name != "what"],
                                 [("Tenon", figures(threads, "a delegate call, ours"), "host-line")], 6),
    }
