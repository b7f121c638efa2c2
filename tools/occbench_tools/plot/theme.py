# SPDX-License-Identifier: Apache-2.0
"""Colours on light and dark backgrounds: an SVG has both, and follows the reader's setting."""

from collections.abc import Hashable, Iterable, Sequence

# Okabe and Ito's colours, distinct for every kind of colour vision. Grey is the model's alone.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
)  # fmt: skip
BLACK, INK, FAINT, GREY, PAPER = "#000000", "#404040", "#e4e4e4", "#9a9a9a", "#ffffff"
# Of one scale, for numbers in order: viridis, whose yellow end is left out, since paper is white.
SHADES = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#7fc31c")

DARK = {
    BLUE: "#4c9fe0", VERMILION: "#ff8a3d", GREEN: "#2fc99a", PURPLE: "#e8a3cb", ORANGE: "#f2b632",
    SKY: "#a9dcfb", BLACK: "#ffffff", INK: "#c9ccd1", FAINT: "#32363c", GREY: "#8a8d92", PAPER: "#15181c",
    "#440154": "#c9a0e8", "#443983": "#9aa2ee", "#31688e": "#6cb0e0", "#21918c": "#4fd0c6",
    "#35b779": "#7fe08f", "#7fc31c": "#d9ec5a",
}  # fmt: skip
LEGIBLE = 4.5  # the least contrast of small letters to their paper: WCAG 2.2, 1.4.3


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, 0 to 1: WCAG 2.2, 'relative luminance'."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def letters(colour: str) -> str:
    """A line's colour as its name is written on white: darker where it would be too light to read."""
    shade = colour
    for part in range(99, 0, -1):
        if 1.05 / (luminance(shade) + 0.05) >= LEGIBLE:
            break
        shade = "#" + "".join(f"{int(colour[at : at + 2], 16) * part // 100:02x}" for at in (1, 3, 5))
    return shade


DARK |= {letters(colour): DARK[colour] for colour in (*COLOURS, *SHADES)}


def shades(count: int) -> list[str]:
    """`count` of SHADES, evenly from the dark end on; all of them, repeated, for a larger count."""
    if count > len(SHADES):
        return [SHADES[i % len(SHADES)] for i in range(count)]
    return [SHADES[round(i * (len(SHADES) - 1) / max(1, count - 1))] for i in range(count)]


def distinct_colours(panels: Iterable[Sequence[Hashable]], numbers: bool = False) -> dict[Hashable, str]:
    """A colour for each curve, the same in all panels; no two alike in a panel of at most six.

    panels: the keys of each one's curves, names or (numbers) numbers of one column.
    """
    panels = [list(dict.fromkeys(panel)) for panel in panels]
    keys = list(dict.fromkeys(key for panel in panels for key in panel))
    if numbers:
        keys.sort()
        if len(keys) <= len(SHADES):
            return dict(zip(keys, shades(len(keys)), strict=True))
    palette = SHADES if numbers else COLOURS
    found: dict[Hashable, int] = {}
    for rank, key in enumerate(keys):
        taken = {found[other] for panel in panels if key in panel for other in panel if other in found}
        free = [i for i in range(len(palette)) if i not in taken] or list(range(len(palette)))
        # Numbers keep near their place on the scale; names share no colour while there is one left.
        place = rank * (len(palette) - 1) / max(1, len(keys) - 1)
        used = list(found.values())
        found[key] = min(free, key=lambda i: (abs(i - place) if numbers else used.count(i), i))
    return {key: palette[i] for key, i in found.items()}


def style() -> str:
    """The CSS of a picture for dark screens: matplotlib writes each colour into a style of its own."""
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
