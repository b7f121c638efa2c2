# SPDX-License-Identifier: Apache-2.0
"""Sentences on everyday kernels whose threads take elements: work per thread, warps, registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, is_curve, many
from occbench_tools.explain.phrases import (
    ABSENT,
    caps,
    each_need,
    fastest,
    gains,
    listed,
    needs,
    number_in,
    speed,
    suffices,
    times,
)

Form = Callable[[pd.Series], str]


def number_of(one: str, several: str = "") -> Form:
    """'1 body per thread', '4 bodies per thread'"""
    return lambda row: f"{row['ilp']:g} {one if row['ilp'] == 1 else several or one + 's'} per thread"


def number(row: pd.Series) -> str:
    """The number per thread alone."""
    return f"{row['ilp']:g}"


def accesses(row: pd.Series) -> str:
    """'4 x 16 B per thread'"""
    return f"{row['ilp']:g} x {row['bytes_per_access']:g} B per thread"


def bare_accesses(row: pd.Series) -> str:
    """'4 x 16 B'"""
    return accesses(row).removesuffix(" per thread")


def in_blocks(form: Form) -> Form:
    """The fastest row's words: its form, its blocks, its registers if the compiler did not choose them."""

    def words(row: pd.Series) -> str:
        free = row["register_route"] == "free"
        registers = "" if free else f" with {row['registers_per_thread']:.0f} registers"
        return f"{form(row)} in blocks of {row['block_size']:g}{registers}"

    return words


def larger_blocks(rows: pd.DataFrame) -> Iterator[str]:
    """What blocks of another size than the usual make of the rate at equal warps."""
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    for block, larger in rows[rows["block_size"] > rows["block_size"].min()].groupby("block_size"):
        pairs = larger.merge(usual, on=["variant", "warps_per_sm"], suffixes=("", "_usual"))
        if len(pairs):
            ratios = times(pairs["rate"] / pairs["rate_usual"])
            yield f"blocks of {block:g} instead of {usual['block_size'].iloc[0]:g}: {ratios} at equal warps"


def work_per_thread(
    rows: pd.DataFrame, form: Form, short: Form = number, by: tuple[str, ...] = ("ilp",), *more: str
) -> Iterator[str]:
    """What work per thread saves in warps, `more` on it, the fastest, the caps on registers, all forms.

    The forms are told apart by the columns `by`; `form` says one, and `short` one after another.
    """
    top, free = best(rows), rows[rows["register_route"] == "free"]
    found = needs(free, list(by), top["rate"])
    if words := suffices(found, form, short):
        yield words
    yield from filter(None, more)
    yield fastest(top, in_blocks(form)(top))
    yield from caps(rows, free, form)
    yield from each_need(found, form)


def coarsened(rows: pd.DataFrame, several: str) -> str:
    """What the most elements per thread gain on one at equal warps; empty where there are not both."""
    free = rows[(rows["register_route"] == "free") & (rows["block_size"] == 128)]
    most = free["ilp"].max()
    words = gains(free[free["ilp"] == most], free[free["ilp"] == 1]) if most > 1 else ""
    return f"{most:g} {several} per thread instead of 1: {words}" if words else ""


def nbody(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Bodies per thread against warps, and the caps."""
    yield from work_per_thread(rows, number_of("body", "bodies"))


def electrostatic(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """As of `nbody`, and what coarsening gains at equal warps."""
    yield from work_per_thread(rows, number_of("point"), number, ("ilp",), coarsened(rows, "points"))


def mri(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `electrostatic`."""
    yield from electrostatic(rows, env)


def monte_carlo(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """As of `nbody`, and what registers to interleave paths in gain at equal warps."""
    most = rows[(rows["ilp"] == rows["ilp"].max()) & (rows["block_size"] == 128)]
    free = most[most["register_route"] == "free"]
    given = most[most["registers_per_thread"] == most["registers_per_thread"].max()]
    words = ""
    if free["ilp"].max() > 1 and given["register_route"].ne("free").all() and (ratios := gains(given, free)):
        counts = [f"{each['registers_per_thread'].iloc[0]:.0f}" for each in (given, free)]
        words = f"{free['ilp'].iloc[0]:g} paths in {counts[0]} registers instead of {counts[1]}: {ratios}"
    yield from work_per_thread(rows, number_of("path"), number, ("ilp",), words)


def black_scholes(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Options per thread against warps, and larger blocks."""
    yield from work_per_thread(rows, number_of("option"))
    yield from larger_blocks(rows)


def adam(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Accesses of each array per thread against warps, and larger blocks."""
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    yield from work_per_thread(usual, accesses, bare_accesses, ("bytes_per_access", "ilp"))
    yield from larger_blocks(rows)


def dequantize(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """As of `adam`, and what one wide load is worth instead of as many bytes in narrow ones."""
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    free = usual[usual["register_route"] == "free"]
    wide, narrow = (
        free[(free["bytes_per_access"] == width) & (free["ilp"] == loads)]
        for width, loads in ((16, 1), (4, 4))
    )
    ratios = gains(wide, narrow)
    words = f"1 load of 16 B instead of 4 loads of 4 B: {ratios}" if ratios else ""
    yield from work_per_thread(usual, accesses, bare_accesses, ("bytes_per_access", "ilp"), words)
    yield from larger_blocks(rows)


def lattice_boltzmann(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """As of `black_scholes` on either lattice, and what more arrays are worth at equal warps."""
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    lattices = {
        lattice: usual[usual["variant"].str.startswith(f"{lattice}-")] for lattice in ("d2q9", "d3q19")
    }
    said = {
        name: list(work_per_thread(part, number_of("site"))) if len(part) else [ABSENT]
        for name, part in lattices.items()
    }
    for lattice, words in said.items():
        yield f"{lattice.upper()}: {words[0]}"
    plane, space = (
        part[(part["register_route"] == "free") & (part["ilp"] == 1)] for part in lattices.values()
    )
    if words := gains(space, plane):
        yield f"19 arrays instead of 9, one site per thread: {words}"
    for lattice, words in said.items():
        yield from (f"{lattice.upper()}: {each}" for each in words[1:])
    yield from larger_blocks(rows)


def sha256(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Chains per thread against warps, unrolled rounds, the fastest, the caps."""
    free = rows[rows["register_route"] == "free"]
    rolled = free[free["variant"].str.endswith("-rounds16")]
    unrolled = free[free["variant"].str.endswith("-rounds64")]
    top, chains = best(rows), number_of("chain")
    found = needs(rolled, ["ilp"], top["rate"])
    if words := suffices(found, chains, number):
        yield words
    pairs = unrolled.merge(rolled, on=["ilp", "block_size", "warps_per_sm"], suffixes=("", "_rolled"))
    if len(pairs):
        ratios = times(pairs["rate"] / pairs["rate_rolled"])
        yield f"all 64 rounds unrolled instead of 16: {ratios} at equal warps"
    rounds = number_in(r"-rounds(\d+)", top["variant"])
    yield fastest(top, in_blocks(chains)(top) + (f", {rounds} rounds unrolled" if rounds else ""))
    yield from caps(rows, rolled, chains)
    yield from each_need(found, chains)


# Where a sample comes from, by the beginning of the variant's name.
MEMORIES = {
    "constant": "constant memory",
    "shared": "shared memory",
    "indexed": "constant memory by each lane's address",
}


def constant_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Where constant memory is fastest and what more warps leave of it, beside the other memories."""
    usual = rows[(rows["register_route"] == "free") & (rows["block_size"] == 128)]
    parts = {kind: usual[usual["variant"].str.startswith(kind)] for kind in MEMORIES}
    if parts["constant"].empty:
        yield f"samples from constant memory: {ABSENT}"
    falls = [
        (best(line, "warps_per_sm")["rate"] / best(line)["rate"], line)
        for _, line in parts["constant"].groupby("variant")
        if is_curve(line["warps_per_sm"])
    ]
    if falls:
        left, line = min(falls, key=lambda fall: fall[0])
        top, last = best(line), best(line, "warps_per_sm")
        words = f"samples from constant memory are fastest with {many(top['warps_per_sm'], 'warp')} per SM"
        if left < 1:
            words += f"; {last['warps_per_sm']:g} warps keep {100 * left:.0f} % of that"
        yield words
    for points in sorted(usual["ilp"].unique()):
        constant, shared, indexed = (part[part["ilp"] == points] for part in parts.values())
        where = f"{many(points, 'point')} per thread"
        if words := gains(constant, shared):
            yield f"constant memory instead of shared, {where}: {words}"
        if words := gains(indexed, constant):
            yield f"each lane's address instead of the warp's, {where}: {words}"
    tops = [(kind, best(part)) for kind, part in parts.items() if len(part)]
    if tops:
        yield "best rates: " + listed([f"{speed(row)} from {MEMORIES[kind]}" for kind, row in tops])
