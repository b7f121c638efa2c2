# SPDX-License-Identifier: Apache-2.0
"""Places the names of lines beside them, over no line, point, text or other name."""

import textwrap
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Bbox, ScaledTranslation
from textalloc.non_overlapping_boxes import find_nearest_point_on_box, get_non_overlapping_boxes

from occbench_tools.plot.theme import INK, letters

SIZE = 9
ANCHORS = 5  # points of a line beside which its name is tried
DISTANCES = (0.04, 0.1, 0.2)  # from there, in parts of the panel


class Place(NamedTuple):
    """A name's box, and the point of its line that it belongs to, in pixels."""

    box: Bbox
    point: np.ndarray
    word: str

    def tie(self) -> np.ndarray:
        """The line from the box to the point; of length 0 where the point is in the box."""
        near = find_nearest_point_on_box(*self.box.p0, *self.box.size, *self.point)
        return np.array([self.point if near[0] is None else near, self.point], float)


def name_lines(figure: Figure) -> float:
    """Names the lines of each panel beside them, or in a legend below it where one name finds no room.

    Needs the final limits. Returns the height of new legends, inch. If it is not 0, no line has a name yet:
    the caller grows the page by it and calls this again.
    """
    figure.get_layout_engine().execute(figure)  # without drawing what is in the panels
    panels = [axes for axes in figure.axes if axes.get_legend_handles_labels()[0] and not axes.get_legend()]
    places = {axes: beside(axes) for axes in panels}
    if full := [axes for axes, found in places.items() if found is None]:
        rows: dict[object, float] = {}
        for axes in full:
            row = (axes.figure, axes.get_subplotspec().rowspan.start)
            rows[row] = max(rows.get(row, 0), below(axes))
        return sum(rows.values())
    for axes, found in places.items():
        to_data = axes.transData.inverted()
        for line, place in zip(axes.get_legend_handles_labels()[0], found or [], strict=True):
            tie = place.tie()
            if np.hypot(*(tie[0] - tie[1])) > 0.7 * place.box.height:
                axes.plot(*to_data.transform(tie).T, color=line.get_color(), linewidth=0.6, zorder=1)
            left, bottom = to_data.transform(place.box.p0)
            axes.text(left, bottom, place.word, color=letters(line.get_color()), fontsize=SIZE, va="bottom")
    return 0


def below(axes: Axes) -> float:
    """Puts a legend under the panel's ticks and label; its height, inch."""
    lines, words = axes.get_legend_handles_labels()
    figure = axes.get_figure()
    under = axes.get_tightbbox().y0 - axes.bbox.y0
    shift = ScaledTranslation(0, under / figure.dpi - 0.04, figure.dpi_scale_trans)
    share = axes.bbox.width / figure.bbox.width
    room = int(108 * share)
    most = room // (7 + max(map(len, words)))
    words = [textwrap.fill(word, max(20, room - 7)) for word in words]
    legend = axes.legend(
        lines, words, fontsize=SIZE, frameon=False, ncols=max(1, min(4, most)), labelcolor=INK,
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=axes.transAxes + shift, borderaxespad=0,
        handlelength=1.2, columnspacing=1, handletextpad=0.5,
    )  # fmt: skip
    return legend.get_window_extent().height / figure.dpi


def beside(axes: Axes) -> list[Place] | None:
    """Places for the names of a panel's lines; None where one has no room."""
    lines, words = axes.get_legend_handles_labels()
    paths = {line: pixels(axes, line) for line in axes.lines}
    points = np.vstack([path for path in paths.values() if len(path)] or [np.empty((0, 2))])
    walls = [walls_of(path) for line, path in paths.items() if line.get_linestyle() != "None"]
    walls += [box_walls(text.get_window_extent()) for text in axes.texts]
    frame = axes.bbox
    found = []
    for line, word in zip(lines, words, strict=True):
        text = axes.text(0.5, 0.5, word, fontsize=SIZE, transform=axes.transAxes)
        size = text.get_window_extent()
        text.remove()
        rest = [path for other, path in paths.items() if other is not line and len(path)]
        place = None
        spots = anchors(paths[line], rest, line.get_linestyle() != "None")
        for distance, spot in ((distance, spot) for distance in DISTANCES for spot in spots):
            boxes, _ = get_non_overlapping_boxes(
                [(*spot, size.width, size.height, SIZE)], (frame.x0, frame.x1), (frame.y0, frame.y1),
                frame.width / frame.height, margin=0.004, min_distance=0.008, max_distance=distance,
                verbose=False, nbr_candidates=120, draw_all=False, scatter_xy=points,
                lines_xyxy=np.vstack(walls) if walls else None, scatter_sizes=None, scatter_plot_bbs=None,
                text_scatter_sizes=None, direction=None, draw_lines=False, avoid_label_lines_overlap=False,
                avoid_crossing_label_lines=False, priority_strategy=None,
            )  # fmt: skip
            place = Place(Bbox.from_bounds(*boxes[0][:4]), spot, word) if boxes else None
            if place and not any(Path(place.tie()).intersects_bbox(other.box) for other in found):
                break
            place = None
        if place is None:
            return None
        found.append(place)
        walls += [box_walls(place.box), walls_of(place.tie())]
    return found


def pixels(axes: Axes, line: object) -> np.ndarray:
    """A line's points that lie in the panel."""
    path = line.get_transform().transform(line.get_xydata())
    return path[np.isfinite(path).all(axis=1)]


def walls_of(path: np.ndarray) -> np.ndarray:
    """The segments of a path, which no name may cross: x, y, x, y."""
    return np.hstack([path[:-1], path[1:]]) if len(path) > 1 else np.empty((0, 4))


def box_walls(box: Bbox) -> np.ndarray:
    """Four sides and a diagonal of an occupied box."""
    x0, y0, x1, y1 = box.extents
    return walls_of(np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0), (x1, y1)]))


def anchors(own: np.ndarray, rest: list[np.ndarray], joined: bool) -> list[np.ndarray]:
    """Points of a line, in pixels, those farthest from all other lines first; the middle of a lone line."""
    if joined:
        own = np.vstack([own, (own[1:] + own[:-1]) / 2])
    if not rest:
        middle = len(own) // 2
        return [own[i] for i in sorted(range(len(own)), key=lambda i: abs(i - middle))][:ANCHORS]
    others = np.vstack([dense(path) for path in rest])
    free = np.min(np.hypot(*(own[:, None] - others[None]).transpose(2, 0, 1)), axis=1)
    return list(own[np.argsort(-free, kind="stable")[:ANCHORS]])


def dense(path: np.ndarray) -> np.ndarray:
    """Points on a path about ten pixels apart."""
    lengths = np.hypot(*np.diff(path, axis=0).T)
    counts = np.maximum(1, lengths // 10).astype(int)
    parts = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(path, path[1:], counts, strict=False)]
    return np.vstack([*parts, path[-1:]])
