# SPDX-License-Identifier: Apache-2.0
"""The opening of a comparison: throughput over theoretical occupancy in both runs, as words and a picture."""

import pandas as pd

from occbench_tools.compare.comparison import Comparison
from occbench_tools.escape import html
from occbench_tools.opening import curves, least_occupancy

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 330, 60, 40, 28, 52  # of the picture and its margins
COLOURS = ("#0072b2", "#d55e00")  # of the kernel that memory bounds, and the other


def common_curves(one: Comparison) -> list[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each kernel's description, and its curve in base and candidate; none where a run lacks them."""
    base, candidate = curves(one.base.valid), curves(one.candidate.valid)
    return [(words, base[words], candidate[words]) for words in base if candidate]


def sentence(one: Comparison) -> str:
    """'Occupancy for 90 % of the best: loads of 4 bytes 62.5 % -> 65 %, ...'; empty without the curves."""
    parts = []
    for words, base, candidate in common_curves(one):
        ends = list(dict.fromkeys(map(least_occupancy, (base, candidate))))
        parts.append(f"{words} {' -> '.join(ends)}")
    return f"Occupancy for 90 % of the best: {', '.join(parts)}." if parts else ""


def points(line: pd.DataFrame, best: float, top: float) -> str:
    """A curve as an SVG's points: occupancy to the right, throughput upwards as a share of `best`."""
    x = LEFT + line["occupancy_theoretical"] * (WIDTH - LEFT - RIGHT)
    y = HEIGHT - BOTTOM - line["throughput"] / best / top * (HEIGHT - TOP - BOTTOM)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def axes(top: float) -> list[str]:
    """The grid and its labels, in the page's own colour."""
    elements = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        elements.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" class="grid"/>')
        elements.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{100 * share:g} %</text>'
        )
    for tick in range(5 if top <= 1.1 else int(4 * top) + 1):
        y = HEIGHT - BOTTOM - tick / 4 / top * (HEIGHT - TOP - BOTTOM)
        elements.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" class="grid"/>')
        elements.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{25 * tick} %</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    elements.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">theoretical occupancy</text>')
    return elements


def picture(one: Comparison) -> str:
    """An SVG: both kernels in both runs, as a share of base's best; empty without the curves."""
    lines = common_curves(one)
    if not lines:
        return ""
    top = max(1.05, *(1.05 * new["throughput"].max() / old["throughput"].max() for _, old, new in lines))
    elements = axes(top)
    for place, (words, base, candidate) in enumerate(lines):
        colour, best, x = COLOURS[place], base["throughput"].max(), LEFT + 200 * place
        for line, dash in ((base, ' stroke-dasharray="5 4"'), (candidate, "")):
            style = f'fill="none" stroke="{colour}" stroke-width="2"{dash}'
            elements.append(f'<polyline points="{points(line, best, top)}" {style}/>')
        elements.append(f'<path d="M{x} 14h24" stroke="{colour}" stroke-width="2"/>')
        elements.append(f'<text x="{x + 30}" y="18">{html(words)}</text>')
    elements.append(
        f'<text x="{LEFT}" y="34">throughput, share of base\'s best; dashed: base, solid: candidate</text>'
    )
    alt = html(f"Throughput over theoretical occupancy. {sentence(one)}")
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">{"".join(elements)}</svg>'
