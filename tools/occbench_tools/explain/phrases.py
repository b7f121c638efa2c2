# SPDX-License-Identifier: Apache-2.0
"""What the sentences of all experiments share: how a number is said, and what suffices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pandas as pd

from occbench_tools.analysis import best, is_curve, many

ABSENT = "not in this run"
NOTHING = 0.005  # a change below the precision of a case is none
NEAR = 0.9  # of the best: what suffices


def speed(row: pd.Series, unit: bool = True) -> str:
    """'4,418 GB/s', '65.8 TFLOP/s'"""
    return f"{row['rate']:,.{0 if row['rate'] >= 100 else 1}f}" + (f" {row['unit']}" if unit else "")


def warps_of(count: float, full: float) -> str:
    """'31 warps (49 % occupancy)', of an SM that holds `full`"""
    return f"{count:.0f} warps ({100 * count / full:.0f} % occupancy)"


def occupancy(row: pd.Series) -> str:
    """'12.5 % occupancy'"""
    return f"{100 * row['occupancy_theoretical']:.3g} % occupancy"


def fastest(row: pd.Series, words: str) -> str:
    """'fastest is 2 bodies per thread, 36.3 TFLOP/s at 50 % occupancy'"""
    return f"fastest is {words}, {speed(row)} at {occupancy(row)}"


def span(values: pd.Series) -> str:
    """'189 to 190', or '209'"""
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return f"{low} to {high}" if low != high else low


def times(values: pd.Series) -> str:
    """'0.98 to 1.02 x', or '1.00 x'"""
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return f"{low} to {high} x" if low != high else f"{low} x"


def cost(after: float, before: float) -> str:
    """What a throughput that went from `before` to `after` says."""
    loss = 1 - after / before
    if abs(loss) < NOTHING:
        return "costs nothing"
    return f"costs {100 * loss:.1f} %" if loss > 0 else f"gains {-100 * loss:.1f} %"


def listed(words: list[str]) -> str:
    """'a', 'a and b', 'a, b and c'"""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def kernel(variant: str) -> str:
    """A variant of the plain kernels in words, '4-byte reads', 'FMA chains at ILP 4'; others by name."""
    if found := re.fullmatch(r"(read|copy|triad)-f32-(\d+)B-ilp(\d+)", variant):
        kind, width, ilp = found.groups()
        kinds = {"read": "reads", "copy": "copies", "triad": "triads"}
        return f"{width}-byte {kinds[kind]}" + (f" at ILP {ilp}" if ilp != "1" else "")
    if found := re.fullmatch(r"(two|three)-operand-ilp(\d+)", variant):
        return f"{'three-operand ' * (found[1] == 'three')}FMA chains at ILP {found[2]}"
    if found := re.fullmatch(r"mma-acc(\d+)", variant):
        return f"mma.sync with {found[1]} accumulators"
    return f"`{variant}`"


def number_in(pattern: str, variant: str) -> int:
    """The number that a variant's name gives a dial; 0 where it has none."""
    return int(found[1]) if (found := re.search(pattern, variant)) else 0


def gains(rows: pd.DataFrame, usual: pd.DataFrame) -> str:
    """'5.00 x at 8 warps, 1.25 x at 64': `rows` over `usual` at their fewest warps in common and most.

    Empty where they have fewer than two numbers of warps in common.
    """
    pairs = rows.merge(usual, on="warps_per_sm", suffixes=("", "_usual")).sort_values("warps_per_sm")
    if len(pairs) < 2:
        return ""
    ratios, warps = pairs["rate"] / pairs["rate_usual"], pairs["warps_per_sm"]
    return (
        f"{ratios.iloc[0]:.2f} x at {many(warps.iloc[0], 'warp')}, {ratios.iloc[-1]:.2f} x at "
        f"{warps.iloc[-1]:g}"
    )


def needs(rows: pd.DataFrame, by: list[str], top: float) -> pd.DataFrame:
    """The forms of a kernel, by the columns `by`: the fewest `warps` that reach NEAR of the rate `top`.

    NaN where no number of them does; `share` is the form's best over `top`. Forms of too few points to be a
    curve are left out.
    """
    found = []
    for form, line in rows.groupby(by):
        if is_curve(line["warps_per_sm"]):
            warps = line.loc[line["rate"] >= NEAR * top, "warps_per_sm"].min()
            found.append((*form, warps, line["rate"].max() / top))
    return pd.DataFrame(found, columns=[*by, "warps", "share"])


def suffices(found: pd.DataFrame, form: Callable[[pd.Series], str], short: Callable[[pd.Series], str]) -> str:
    """'with 4 bodies per thread, 90 % of the best takes 16 warps; with 1, 32': needs(), plainest first.

    The form that takes the fewest warps, in `form`'s words, against the plainest, in `short`'s. Empty where
    no form comes so far.
    """
    if found["warps"].isna().all():
        return ""
    plain, few = found.iloc[0], found.loc[found["warps"].idxmin()]
    words = f"with {form(few)}, 90 % of the best takes {many(few['warps'], 'warp')}"
    if plain.name == few.name:
        more = len(found) > 1 and found["warps"].iloc[1:].min() >= plain["warps"]
        return words + ("; more per thread takes no fewer" if more else "")
    return f"{words}; with {short(plain)}, {reach(plain)}"


def reach(row: pd.Series) -> str:
    """'32', or 'at most 64 % is reached', of needs()."""
    return f"{row['warps']:g}" if row["warps"] > 0 else f"at most {100 * row['share']:.0f} % is reached"


def each_need(found: pd.DataFrame, form: Callable[[pd.Series], str]) -> Iterator[str]:
    """A clause for each of needs()."""
    for _, row in found.iterrows():
        if row["warps"] > 0:
            yield f"with {form(row)}, 90 % of the best takes {many(row['warps'], 'warp')}"
        else:
            yield f"with {form(row)}, at most {100 * row['share']:.0f} % of the best is reached"


def change(after: float, before: float) -> str:
    """'-68.1 %', '+2.8 %' or 'no change'"""
    share = after / before - 1
    return f"{100 * share:+.1f} %" if abs(share) >= NOTHING else "no change"


def instead(line: pd.DataFrame, free: pd.DataFrame) -> str:
    """'32 registers instead of 47, 64 B spilled': what a cap made of a kernel."""
    count, before = (f"{each['registers_per_thread'].max():.0f}" for each in (line, free))
    spilled = line["local_bytes"].max()
    return f"{count} registers instead of {before}" + (f", {spilled:.0f} B spilled" if spilled > 0 else "")


def caps(rows: pd.DataFrame, free: pd.DataFrame, form: Callable[[pd.Series], str]) -> Iterator[str]:
    """What each cap on registers makes of the best rate, the dearest first; `free`: those without a cap.

    A cap is held against the free rows of as many elements, and bytes, per thread.
    """
    found = []
    for _, line in rows[rows["register_route"] != "free"].groupby("variant"):
        row = best(line)
        alike = free["ilp"] == row["ilp"]
        if row["bytes_per_access"] > 0:
            alike &= free["bytes_per_access"] == row["bytes_per_access"]
        if len(usual := free[alike]):
            found.append((row["rate"] / best(usual)["rate"], row, line, usual))
    for ratio, row, line, usual in sorted(found, key=lambda each: each[0]):
        words = f"with {form(row)}, {instead(line, usual)}: {change(ratio, 1)} at best"
        yield words + (f", {ratios}" if (ratios := gains(line, usual)) else "")
