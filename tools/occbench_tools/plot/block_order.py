# SPDX-License-Identifier: Apache-2.0
"""SMs over time: which blocks each SM ran, from block_order.csv."""

from matplotlib.figure import Figure

from occbench_tools.escape import picture
from occbench_tools.explain.block_order import Block, launches_of, split_waves
from occbench_tools.plot.sheet import sheet
from occbench_tools.plot.theme import BLUE, VERMILION


def block_order(blocks: list[Block]) -> Figure:
    """A panel for each grid, of its first launch."""
    found = launches_of(blocks)
    figure, axes, _ = sheet(len(found))
    for panel, (grid, launches) in zip(axes, found.items(), strict=True):
        first, later = split_waves(launches[0])
        for wave, colour in ((first, BLUE), ([block for _, block in later], VERMILION)):
            panel.barh(
                [block.sm for block in wave],
                [(block.end_ns - block.begin_ns) / 1e3 for block in wave],
                left=[block.begin_ns / 1e3 for block in wave],
                height=0.8, color=colour, edgecolor="white", linewidth=0.3,
            )  # fmt: skip
        panel.set_title(picture(f"{grid}: {len(launches[0])} blocks, later waves red"))
        panel.set_xlabel("time, us")
        panel.set_ylabel("SM")
    return figure
