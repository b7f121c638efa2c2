# SPDX-License-Identifier: Apache-2.0
"""occbench explain, of a folder of `occbench attach`: which kernels to work on, and what is not worth it."""

from __future__ import annotations

import pandas as pd

from occbench_tools.attached import caps
from occbench_tools.attached.folder import Attached
from occbench_tools.attached.text import (
    NO_CHANGE,
    WORTH_IT,
    are_graphs,
    counted,
    grid,
    in_graphs,
    name_of,
    percent,
    sentence,
    short_name,
    skipped,
)
from occbench_tools.attached.verdicts import L1, LITTLE, LOWER, NEEDS, SATURATED, UNKNOWN, WAVES

ROOM = 60  # signs of a kernel's name in a sentence


def whole(folder: Attached) -> str:
    """One sentence or two on the program."""
    if folder.caps is not None:
        return caps.whole(folder)
    if folder.env.get("observe"):
        return "Only observed (--observe): nothing was changed, so no kernel is judged."
    return sentence(folder.kernels)


def sentences(folder: Attached) -> dict[str, list[str]]:
    """By heading, sentences with the most GPU time first; a heading without any is left out."""
    graphs = graph_sentences(folder)
    kernels = folder.kernels[~are_graphs(folder.kernels) & ~in_graphs(folder.kernels)]
    rows = {verdict: kernels[kernels["verdict"] == verdict] for verdict in kernels["verdict"].unique()}
    none = kernels.iloc[:0]
    needing = rows.get(NEEDS, none)
    stepless = needing[needing["gain"].isna()]
    needing = needing.assign(saves=needing["gpu_time_share"] * needing["gain"]).dropna(subset="saves")
    needing = needing.sort_values("saves", ascending=False, kind="stable")
    unsure = needing["gain_low"] <= 0
    said = {
        "the whole program": [
            *filter(None, [whole(folder)]),
            *lower_in_all(folder),
            *output(folder),
            *folder.env["complaints"],
        ],
        "caps on registers": caps.sentences(folder, ROOM),
        "work on first": [
            f"{named(row)}: {row['next_step']} would save about {percent(row['gain'])} of its time "
            f"({100 * row['gain_low']:.1f} to {100 * row['gain_high']:.1f}), {percent(row['saves'])} of all."
            for _, row in needing[~unsure].iterrows()
        ],
        "in CUDA graphs": graphs,
        "faster with fewer warps": [lower(row, folder) for _, row in rows.get(LOWER, none).iterrows()],
        "keep the L1": [
            f"{named(row)} takes {percent(row['l1_change'])} longer without its L1: add no shared memory."
            for _, row in rows.get(L1, none).iterrows()
        ],
        "not worth it": [
            *group("Nothing adds a block", stepless),
            *group("The next step may bring nothing", needing[unsure]),
            *group(f"The next step gains under {percent(WORTH_IT, 0)}", rows.get(LITTLE, none)),
            *group(f"A step down costs under {percent(NO_CHANGE, 0)}", rows.get(SATURATED, none)),
            *group("Whole waves of blocks explain the steps, not occupancy", rows.get(WAVES, none)),
        ],
        "not known": [
            *group("Unknown: run longer, or see `why` in kernels.csv", rows.get(UNKNOWN, none)),
            *(
                f"Skipped, {row.why}: {counted(row.kernels, 'kernel')}, {percent(row.share)} of GPU time."
                for row in skipped(folder.kernels).itertuples()
            ),
        ],
    }
    return {heading: words for heading, words in said.items() if words}


def output(folder: Attached) -> list[str]:
    """What --check-output found, where that is for people to act on."""
    if folder.env.get("same_stdout") is False:
        return ["The program's stdout DIFFERS with caps, and not between plain runs: take none unseen."]
    return []


def graph_sentences(folder: Attached) -> list[str]:
    """Of each graph, and of each kernel that its time depends on: the largest changes first."""
    kernels = folder.kernels
    said = []
    for _, graph in kernels[are_graphs(kernels)].iterrows():
        levels = folder.levels_of(graph["kernel_id"])
        if levels.empty or graph["verdict"] == UNKNOWN:
            continue
        first = levels.iloc[0]
        name = f"`{short_name(graph['kernel'], ROOM)}` ({percent(graph['gpu_time_share'])} of GPU time)"
        said.append(
            f"{name} takes {graph_change(first)} with {percent(first['warps'], 0)} of its kernels' warps."
        )
        found = []
        for _, row in kernels[kernels["graph_id"] == graph["kernel_id"]].iterrows():
            own = folder.levels_of(row["kernel_id"])
            if row["verdict"] in (NEEDS, LOWER) and not own.empty:
                found.append((row, own.loc[own["slowdown"].abs().idxmax()]))
        for row, level in sorted(found, key=lambda each: -abs(each[1]["slowdown"])):
            kernel = short_name(row["kernel"], ROOM).replace("`", "'")
            step = (
                f": {row['next_step']} would add a block"
                if row["next_step"] and level["slowdown"] > 0
                else ""
            )
            held = f"{row['graph_kernels']:.0f} of {graph['graph_kernels']:.0f} kernels"
            said.append(
                f"`{kernel}` (grid {grid(row)}, {held}): with {percent(level['warps'], 0)} "
                f"of its warps the graph takes {graph_change(level)}{step}."
            )
    return said


def graph_change(level: pd.Series) -> str:
    """'4.2 % longer (3.9 to 4.5)', '1.0 % less (0.8 to 1.2)'"""
    sign = 1 if level["slowdown"] >= 0 else -1
    low, high = sorted(100 * sign * level[end] for end in ("low", "high"))
    return f"{percent(sign * level['slowdown'])} {'longer' if sign > 0 else 'less'} ({low:.1f} to {high:.1f})"


def named(row: pd.Series) -> str:
    """'`softmax` (grid 64x32, 9.2 % of GPU time)'"""
    name = name_of(row).replace("`", "'")
    return f"`{name}` (grid {grid(row)}, {percent(row['gpu_time_share'])} of GPU time)"


def group(what: str, rows: pd.DataFrame) -> list[str]:
    """'...: 5 kernels, 3.1 % of GPU time, the largest `gelu`.'; nothing of none."""
    if rows.empty:
        return []
    largest = name_of(rows.iloc[0]).replace("`", "'")
    share = percent(rows["gpu_time_share"].sum())
    return [f"{what}: {counted(len(rows), 'kernel')}, {share} of GPU time, the largest `{largest}`."]


def best_level(row: pd.Series, folder: Attached) -> pd.Series:
    """Of a kernel that is faster with fewer warps: its level, and how much `less` time that takes."""
    levels = folder.levels_of(row["kernel_id"])
    best = levels.loc[levels["slowdown"].idxmin()]
    return pd.Series({**best, "less": 1 - (1 + best["slowdown"]) * (1 + row["l1_change"])})


def lower(row: pd.Series, folder: Attached) -> str:
    """Of such a kernel, and how its own launch would have it."""
    best = best_level(row, folder)
    warps = percent(best["warps"], 0)
    return (
        f"{named(row)} takes {percent(best['less'])} less time with {warps} of its warps: "
        f"{best['added_smem_bytes']:,.0f} B more dynamic shared memory, at a carve-out of 100 %."
    )


def lower_in_all(folder: Attached) -> list[str]:
    """What all such kernels would gain the program, and the command that shows it; nothing without any."""
    kernels = folder.kernels[~are_graphs(folder.kernels) & ~in_graphs(folder.kernels)]
    kernels = kernels[(kernels["verdict"] == LOWER) & kernels["after"].isna()]  # --apply leaves these alone
    if kernels.empty:
        return []
    held = kernels["gpu_time_share"].sum()
    gain = sum(row["gpu_time_share"] * best_level(row, folder)["less"] for _, row in kernels.iterrows())
    return [
        f"Kernels that run faster with fewer warps hold {percent(held)} of GPU time; the best level of each "
        f"would gain {percent(gain)}: `occbench attach --apply best --from {folder.path}`"
    ]
