# SPDX-License-Identifier: Apache-2.0
"""occbench explain on rows made by known laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import analysis, explain

NAMES = [finding.__name__ for finding in explain.FINDINGS]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write(tmp_path_factory.mktemp("run"), made_up.cases())


def rows_of(folder: Path, experiment: str) -> pd.DataFrame:
    cases, _ = analysis.read_folder(folder)
    return analysis.scaled(cases[cases["experiment"] == experiment])


def said(rows: pd.DataFrame, experiment: str) -> str:
    finding = next(f for f in explain.FINDINGS if f.__name__ == experiment)
    return explain.sentences(finding(rows, made_up.ENV))


def test_sentences_of_a_folder(run: Path) -> None:
    """Every experiment that is known, its sentences apart; those without rows have none."""
    found = explain.sentences_of(run)
    assert list(found) == NAMES and all(found.values())
    assert " ".join(found["divergence"]) == said(rows_of(run, "divergence"), "divergence")
    assert len(found["divergence"]) == 5


def test_turnover_is_found_whatever_the_passes(run: Path) -> None:
    """700 cycles, though the long blocks make up to 1 % fewer passes than the short ones together."""
    found = analysis.turnover(rows_of(run, "waves"))
    assert list(found["block_us"]) == [1, 4, 16, 64, 256, 1024]
    assert list(found["cycles"]) == pytest.approx([made_up.TURNOVER_CYCLES] * 6, rel=1e-6)
    assert (found["low"] < found["cycles"]).all() and (found["cycles"] < found["high"]).all()
    # Two medians of 0.2 % each, in quadrature, over 1023 turnovers.
    first = found.iloc[0]
    width = (first["high"] - first["low"]) * 1023 / made_up.CLOCK
    many_s = (2048 * made_up.PASS_CYCLES + 1023 * made_up.TURNOVER_CYCLES) / made_up.CLOCK
    one_s = 2030 * made_up.PASS_CYCLES / made_up.CLOCK
    assert width == pytest.approx(2 * 0.002 * (many_s**2 + one_s**2) ** 0.5, rel=1e-6)


def test_turnover_needs_one_wave_of_as_much_work(run: Path) -> None:
    rows = rows_of(run, "waves")
    short = rows[~rows["case_id"].str.contains("t1024us|t2048us")]
    assert analysis.turnover(short).empty
    assert "Turnover: not in this run" in said(short[short["waves"] > 1], "waves").replace(
        "turnover", "Turnover"
    )


def test_sawtooth(run: Path) -> None:
    grids = analysis.sawtooth(rows_of(run, "waves")).set_index("grid_size")["off"]
    whole = 400 * made_up.PASS_CYCLES
    assert grids[[1, 66, 132]].abs().max() < 1e-9
    assert grids[133] == pytest.approx(made_up.TURNOVER_CYCLES / whole / 2)
    assert grids[265] == pytest.approx(1.01 * (1 + 2 * made_up.TURNOVER_CYCLES / whole / 3) - 1)
    words = said(rows_of(run, "waves"), "waves")
    assert "waves rounded up, at worst +1.1 % (2.01 waves). One block alone takes 100.0 % of a wave" in words
    assert "The turnover from block to block takes 700 cycles (95 % interval 693 to 707) at 1 block" in words


def test_teeth_of_a_full_sm() -> None:
    """One block beyond w waves of 160 blocks, 16 on each of 10 SMs, runs alone and four times as fast."""
    rows = pd.DataFrame(
        [
            dict(case_id=f"waves.r16.g{grid}", blocks_per_sm=16, grid_size=grid, waves=grid / 160,
                 time_median_s=1e-3 * (grid // 160 + 0.25 * (grid % 160)))
            for grid in (160, 161, 320, 321)
        ]
    )  # fmt: skip
    assert dict(analysis.tooth(analysis.sawtooth(rows))) == pytest.approx({1: 0.25, 2: 0.25})


def test_turnovers_that_say_nothing(run: Path) -> None:
    """The interval of one turnover of 1,024 us is thousands of cycles wide."""
    turns = analysis.turnover(rows_of(run, "waves")).set_index("block_us")
    assert turns["sure"].to_dict() == {1: True, 4: True, 16: True, 64: False, 256: False, 1024: False}
    rows = rows_of(run, "waves")
    long = rows[rows["case_id"].str.contains("t256us|t1024us|t2048us")]
    assert "Turnover: too few to tell" in said(long, "waves")


def test_knee(run: Path) -> None:
    """The least that reaches a share of the best, which need not be the first point above it in the file."""
    rows = pd.DataFrame(dict(warps_per_sm=[8, 2, 4, 16], throughput=[95.0, 60.0, 90.0, 100.0]))
    assert analysis.least(rows, "warps_per_sm", 0.9) == 4
    words = said(rows_of(run, "bulk_copy"), "bulk_copy")
    assert "One warp per SM (1.56 % occupancy) reads 4,547 GB/s, 94.7 % of the theoretical rate" in words
    assert "95 % of that takes 128 KiB. Ordinary loads at best 4,394 GB/s, at 48 warps per SM: full" in words


def test_cusp() -> None:
    """In proportion to the warps up to a best that is the lowest where most warps are needed for it."""
    needs = {0: (10, 90), 16: (32, 67), 64: (5, 95)}  # warps that the best takes, and its share of the roof
    rows = pd.DataFrame(
        [
            dict(ilp=4, fma_per_load=fmas, warps_per_sm=warps, occupancy_theoretical=warps / 64,
                 ceiling_kind="fp32", percent_of_ceiling=best * min(1, warps / need),
                 throughput=1e12 * min(1, warps / need))
            for fmas, (need, best) in needs.items()
            for warps in (*range(1, 33), 64)
        ]
    )  # fmt: skip
    found = analysis.cusp(rows)
    assert set(found["share"]) == {65} and analysis.has_cusp(found)
    assert list(found["warps"]) == pytest.approx([65 / 9, 32 * 65 / 67, 65 / 19])
    assert said(rows, "intensity") == (
        "4 loads in flight: 65 % of the roof takes 7 warps at 0 FMAs per load, 31 at 16 (most: the cusp), 3 "
        "at 64; at the cusp no number of warps passes 67 %. With 64 FMAs 95 % of the best takes 5 warps (7 % "
        "occupancy), as the course says (25-50 %)."
    )
    level = rows[rows["fma_per_load"] != 16]
    assert said(level, "intensity").startswith("4 loads in flight: 90 % of the roof takes 10 warps at 0 FMAs")
    assert "(too few counts to see a cusp)" in said(level, "intensity")
    low = rows.assign(percent_of_ceiling=2.0)
    assert said(low, "intensity") == "Share of the roof: not in this run."


def test_reached() -> None:
    rows = pd.DataFrame(dict(x=[8.0, 4.0, 16.0, 32.0], y=[30.0, 20.0, 10.0, 50.0]))
    assert [analysis.reached(rows, "x", "y", level) for level in (10, 20, 25, 40)] == [2, 4, 6, 28]
    assert pd.isna(analysis.reached(rows, "x", "y", 51))


def test_divergence(run: Path) -> None:
    rows = rows_of(run, "divergence")
    parted = analysis.parted(rows)
    split = parted[parted["variant"] == "split-lane-1"]
    assert list(split["ratio"]) == pytest.approx([2.01] * 3)
    image = parted[parted["variant"] == "image-62-rows-76-columns"]
    assert list(image["outside"]) == pytest.approx([0.08] * 2)
    assert list(image["loss"]) == pytest.approx([1 - 0.92 / 1.01] * 2)
    words = said(rows, "divergence")
    assert (
        "1 lane of 32 apart takes 2.01 x the time, 16 take 2.01 x (ratio 1.000) at 64 warps per SM" in words
    )
    assert (
        "Whole warps or blocks that part ways: at worst +0.2 % time (`branch-on-warp`, 4 warps per SM), "
        "below 1 %." in words
    )
    slow = rows.assign(cycles_per_pass=rows["cycles_per_pass"].mask(rows["variant"] == "branch-on-warp", 1e9))
    assert "warps per SM), not below 1 %" in said(slow, "divergence")
    assert (
        "1 lane against 16: not in this run" in said(rows[rows["variant"] == "uniform"], "divergence").lower()
    )


def test_meetings(run: Path) -> None:
    rows = analysis.meetings(rows_of(run, "barriers"))
    uneven = rows[(rows["variant"] == "exchange-uneven") & (rows["warps_per_sm"] == 16)]
    assert list(uneven["ratio"]) == pytest.approx([1.264, 1.712])
    assert list(uneven["cycles_per_round"]) == pytest.approx([4000 * 1.264 / 8, 4000 * 1.712 / 8])
    words = said(rows, "barriers")
    assert "32 -> 4 blocks of 64 threads per SM, 3.2 x slower." in words
    assert (
        "up to 71 % at 16 warps per SM (blocks of 512) and 71 % at 64 warps per SM (blocks of 512)." in words
    )
    slow = rows[rows["variant"] == "named-runtime"].assign(variant="exchange", rate=lambda r: r["rate"] * 2)
    assert "At equal residency, 4 of 64, its code alone costs 50.0 %." in said(
        pd.concat([slow, rows]), "barriers"
    )


def test_l1_that_is_left() -> None:
    def left(capability: str, carveout: float, blocks: int = 1, smem: int = 0) -> float:
        row = dict(
            carveout_percent=carveout, dynamic_smem_bytes=smem, static_smem_bytes=0, blocks_per_sm=blocks
        )
        env: dict[str, Any] = dict(gpu=dict(compute_capability=capability))
        return analysis.l1_kib(pd.DataFrame([row]), env).iloc[0]

    assert left("9.0", 50) == 256 - 132
    assert left("9.0", 0, blocks=32) == 256 - 32  # each block takes the driver's KiB
    assert left("9.0", -1, blocks=2, smem=40 << 10) == 256 - 100
    assert left("8.0", 100) == 192 - 164
    assert pd.isna(left("1.0", 50))


def test_picks(run: Path) -> None:
    found = analysis.picks(rows_of(run, "block_size_pick")).set_index("family")
    assert found.loc["stream", "loss"] == 0
    assert tuple(found.loc["barriers", ["pick", "best"]]) == (1024, 32)
    assert found.loc["barriers", "loss"] == pytest.approx(1 - 0.92 / 0.9975)


def test_routes(run: Path) -> None:
    rows = analysis.routes(rows_of(run, "same_occupancy"))
    assert set(rows["kernel"]) == {"load", "fma", "L1, 1 KiB per warp"}  # in blocks of 96 and of 128 threads
    seen = rows.groupby("route")["block_size"].unique().map(list)
    assert dict(seen) == {"shared memory": [128], "block size": [96], "registers": [128]}
    losses = analysis.behind_routes(rows[rows["kernel"] == "load"]).groupby("route")["loss"].max()
    assert dict(losses) == pytest.approx(
        {"registers": 0, "shared memory": 1 - 1 / 1.01, "block size": 1 - 0.99 / 1.01}
    )
    assert (
        "`L1, 1 KiB per warp`, routes at equal L1: block size up to 2.0 % slower (25 % occupancy), shared "
        "memory up to 1.0 % slower (25 % occupancy); a large L1 is worth 1.40 to 1.40 x."
        in words_of_routes(run)
    )
    assert "`load`, routes at equal L1" in words_of_routes(run) and "changes nothing" in words_of_routes(run)


def words_of_routes(run: Path) -> str:
    return said(rows_of(run, "same_occupancy"), "same_occupancy")


def test_per_joule(run: Path) -> None:
    rows = rows_of(run, "energy")
    assert list(analysis.per_joule(rows)) == pytest.approx(list(rows["throughput"] / rows["power_w"]))


def test_a_device_that_waits_is_not_measured(run: Path) -> None:
    """Launches of 1 ms every 4 ms: the energy is that of idling. At the power limit it is the work's."""
    rows = rows_of(run, "energy")
    assert list(analysis.busy(rows)) == pytest.approx([1.0] * len(rows))
    words = said(rows, "energy")
    assert "`two-operand-ilp4`: 65.9 TFLOP/s in single launches, 65.9 TFLOP/s back to back at 262 W" in words
    slow = rows.assign(energy_per_launch_j=4 * rows["energy_per_launch_j"])
    assert said(slow, "energy").startswith(
        "No figure: in 10 of 10 cases the device worked only 25 to 25 % of"
    )
    limited = slow.assign(power_w=690.0, energy_per_launch_j=0.69 * 1.25)
    env: dict[str, Any] = dict(gpu=dict(power_limit_w=700.0))
    assert not analysis.waited(limited, env).any()
    assert "65.9 TFLOP/s in single launches, 52.7 TFLOP/s back to back at 690 W" in explain.sentences(
        explain.energy(limited, env)
    )


def test_conflicts_of_a_transpose(run: Path) -> None:
    """A conflict of 32 lanes caps the rate at 60 / 33 TB/s, which fewer warps come to."""
    words = said(rows_of(run, "transpose"), "transpose")
    assert "32 lanes on one bank: best 1,818 GB/s at 25 % occupancy with 8 elements" in words
    assert words.endswith("90 % of it from 32 warps with 4, 16 warps with 8.")


def test_bodies_per_thread(run: Path) -> None:
    words = said(rows_of(run, "nbody"), "nbody")
    assert words.startswith("`tile128-bodies4` is fastest, 46.8 TFLOP/s at 12.5 % occupancy.")
    assert "with 1 to a thread takes 32 warps" in words
    assert "`tile128-bodies4-maxnreg40`: costs 28.6 % (40 registers instead of 48)" in words


def test_row_sums(run: Path) -> None:
    """Larger blocks lose 2.5 % per 128 threads by the made-up law: those of 512 need more warps for it."""
    words = said(rows_of(run, "reduction"), "reduction")
    assert words.startswith("`row128-16B-ilp4` is fastest, 4,303 GB/s at 100 % occupancy.")
    assert "1 x 4 B in flight per thread: at most 25 % of that." in words
    assert words.endswith(
        "4 x 16 B in flight per thread: 90 % of that from 32 warps in blocks of 128, 32 warps in blocks of "
        "256, 64 warps in blocks of 512."
    )


def test_prices_by_options_and_registers(run: Path) -> None:
    words = said(rows_of(run, "black_scholes"), "black_scholes")
    assert words.startswith("`options4-maxnreg40` is fastest, ")
    assert "`options1` (32 registers): at most 64 % of that." in words
    assert "`options4` (32 registers): 90 % of that from 32 warps." in words
    assert words.endswith("Blocks of 256 instead of 128 at equal warps: 0.98 to 0.98 x.")


def test_an_optimizers_step_by_accesses_and_registers(run: Path) -> None:
    """By the made-up law the cap lets a thread have a third more bytes in flight, of use at few warps."""
    words = said(rows_of(run, "adam"), "adam")
    assert words.startswith("`16B-ilp4-maxnreg80` is fastest, ")
    assert "`16B-ilp4` (72 registers): 90 % of that from 8 warps." in words
    assert "`4B-ilp1` (28 registers): at most 64 % of that." in words
    assert "Blocks of 256 instead of 128 at equal warps: 0.98 to 0.98 x." in words
    assert words.endswith("-maxnreg80`, 80 registers instead of 72: 1.06 x at 8 warps, 1.00 x at 16.")


def test_weights_by_loads_and_registers(run: Path) -> None:
    """By the made-up law narrow loads cost 1 - 0.9 / 0.975, and what a cap makes spill costs a ninth."""
    words = said(rows_of(run, "dequantize"), "dequantize")
    assert words.startswith("`16B-ilp4-maxnreg64` is fastest, 3,872 GB/s at 50 % occupancy.")
    assert "`16B-ilp1` (32 registers): 90 % of that from 64 warps." in words
    assert "`4B-ilp1` (24 registers): at most 43 % of that." in words
    assert "-maxnreg40`, 32 B spilled, 40 registers instead of 55: 0.89 x at 8 warps, 0.89 x at 32" in words
    assert words.endswith("1 x 16 B instead of 4 x 4 B: 1.08 x at 8 warps, 1.08 x at 64.")
    rows = rows_of(run, "dequantize")
    assert "1 x 16 B" not in said(rows[rows["bytes_per_access"] == 16], "dequantize")


def test_fluids_by_lattice_sites_and_registers(run: Path) -> None:
    """By the made-up law arrays, sites or loads at once stand in for warps; spills cost 1 - 0.7 / 0.9."""
    words = said(rows_of(run, "lattice_boltzmann"), "lattice_boltzmann")
    assert words.startswith("D2Q9: `d2q9-sites2-maxnreg48` is fastest, 3,888 GB/s at 50 % occupancy; ")
    assert "`d2q9-sites2-maxnreg48`, 46 registers instead of 40: 1.86 x at 8 warps, 1.21 x at 32; " in words
    assert "-maxnreg64`, 256 B spilled, 64 registers instead of 96: 0.78 x at 8 warps, 0.78 x at 16." in words
    assert " D3Q19: `d3q19-sites2` is fastest, 3,907 GB/s at 50 % occupancy; " in words
    assert words.endswith("instead of 9 with one site to a thread: 2.06 x at 8 warps, 1.63 x at 32.")
    rows = rows_of(run, "lattice_boltzmann")
    plane = said(rows[rows["variant"].str.startswith("d2q9")], "lattice_boltzmann")
    assert plane.endswith("D3Q19: not in this run.")


def test_points_per_thread(run: Path) -> None:
    """By the made-up law several points are worth a quarter more, and at 8 warps five times one point."""
    words = said(rows_of(run, "electrostatic"), "electrostatic")
    assert words.startswith("`block128-points8` is fastest, ")
    assert "With 1 to a thread takes more warps than were tried" in words.replace("90 % of that with", "With")
    assert "`block128-points8-maxnreg24`: costs 10.0 % (24 registers instead of 31)" in words
    assert words.endswith("8 points to a thread instead of 1: 5.00 x at 8 warps, 1.25 x at 64.")


def test_paths_per_thread(run: Path) -> None:
    """By the made-up law all need 32 warps, but where 48 registers let four be interleaved; 24 cost."""
    words = said(rows_of(run, "monte_carlo"), "monte_carlo")
    assert words.startswith("`paths") and " is fastest, 13.4 TFLOP/s at " in words
    assert "90 % of that with 4 to a thread takes 32 warps." in words
    assert "`paths4-maxnreg24`: costs 25.0 % (24 registers instead of 32)" in words
    assert words.endswith("4 to a thread with 48 registers instead of 32: 4.00 x at 8 warps, 1.00 x at 32.")
    rows = rows_of(run, "monte_carlo")
    free = said(rows[rows["register_route"] == "free"], "monte_carlo")
    assert "instead of" not in free


def test_points_per_thread_of_a_reconstruction(run: Path) -> None:
    """By the made-up law all need 32 warps, and spills cost a fifth."""
    words = said(rows_of(run, "mri"), "mri")
    assert words.startswith("`shared")
    assert "90 % of that with 4 to a thread takes 32 warps. `shared128-points4-maxnreg32`, 48 B " in words
    assert "spilled: costs 20.0 % (32 registers instead of 48)" in words
    assert words.endswith("4 points to a thread instead of 1: 1.00 x at 8 warps, 1.00 x at 32.")


def test_samples_from_either_memory(run: Path) -> None:
    """By the made-up law constant memory takes half as many warps; then its cache fails the most of them."""
    rows = rows_of(run, "constant_memory")
    words = said(rows, "constant_memory")
    assert words.startswith("`constant-points1` is fastest with 16 warps, 16.7 TFLOP/s; with 64 it has 1.00 ")
    assert "`shared128-points4` is fastest with 32 warps, 16.7 TFLOP/s. " in words
    assert words.endswith("instead of shared with 4 to a thread: 2.00 x at 8 warps, 1.00 x at 32.")
    assert "Each lane's address instead of the warp's with 1 to a thread: 2.00 x at 8 warps, 1.00 x" in words
    most = rows["variant"].str.startswith("constant") & (rows["warps_per_sm"] == 64)
    slow = rows.assign(rate=rows["rate"].where(~most, 0.25 * rows["rate"]))
    assert "16.7 TFLOP/s; with 64 it has 0.25 of that" in said(slow, "constant_memory")
    shared = said(rows[rows["variant"].str.startswith("shared")], "constant_memory")
    assert shared.startswith("Samples from constant memory: not in this run. ")


def test_chains_of_hashes(run: Path) -> None:
    """By the made-up law chains stand in for warps, unrolled rounds gain a tenth, and spills cost a fifth."""
    rows = rows_of(run, "sha256")
    words = said(rows, "sha256")
    assert words.startswith("`chains2-rounds64` is fastest, 17.6 G operations/s at 12.5 % occupancy.")
    assert "takes 16 warps with 1 to a thread, 8 warps with 2 to a thread, 8 warps with 4 " in words
    assert "All rounds unrolled instead of 16 at equal warps: 1.10 to 1.10 x." in words
    assert "`chains1-rounds16-maxnreg64`: no cost (46 registers instead of 32)." in words
    assert "`chains2-rounds16-maxnreg48`, 80 B spilled: costs 20.0 % (48 registers instead of 56)" in words
    few = said(rows[(rows["warps_per_sm"] == 8) & rows["variant"].ne("chains2-rounds16")], "sha256")
    assert "takes more warps than were tried with 1 to a thread, 8 warps with 4" in few
    unrolled = said(rows[rows["variant"] == "chains1-rounds64"], "sha256")
    assert unrolled.endswith("16 rounds per turn: not in this run.")


def test_rows_times_vector(run: Path) -> None:
    words = said(rows_of(run, "gemv"), "gemv")
    assert words.startswith("`block128-16B-ilp4` is fastest, ")
    assert "1 x 4 B in flight per thread: at most " in words
    assert words.endswith("With 4 x 16 B, 56 registers per thread, 32 warps are the most of these that fit.")


def test_rows_in_registers(run: Path) -> None:
    """By the made-up law a cap costs three eighths, and narrow accesses 1 - 0.9 / 0.975."""
    words = said(rows_of(run, "softmax"), "softmax")
    assert words.startswith("`warp-row1024-16B` is fastest, ")
    assert "warp-row1024-16B`: 90 % of that from 16 warps, of up to 32 with 54 registers per thread." in words
    assert "`warp-row256-16B`: 90 % of that from 64 warps, of up to 64 with 26 registers per thread." in words
    assert "4 B instead of 16 at equal warps: -7.7 to -7.7 %." in words
    assert words.endswith("-maxnreg40`, 32 B spilled: costs 37.5 % (32 warps instead of 32).")


def test_rows_of_warps_and_of_blocks(run: Path) -> None:
    """By the made-up law a thread of a block has a quarter of the bytes in flight that one of a warp has."""
    words = said(rows_of(run, "layer_norm"), "layer_norm")
    assert words.startswith("`warp-row1024-16B` is fastest, ")
    assert "`block256-row8192-16B`: 90 % of that from 16 warps, of up to 16 with 68 registers" in words
    assert "`warp-row1024-16B-maxnreg96`, 0 B spilled: no cost (16 warps instead of 16)." in words
    assert words.endswith("Rows of 1024 in blocks of 128 instead of warps: 0.32 x at 8 warps, 0.48 x at 16.")
    assert "instead of warps" not in said(rows_of(run, "softmax"), "softmax")


def test_prefix_sums(run: Path) -> None:
    """By the made-up law a barrier a step costs three eighths, and large blocks a part of 4,096 each."""
    words = said(rows_of(run, "scan"), "scan")
    assert words.startswith("`shuffles-block128-elements8` is fastest, ")
    assert "`kogge_stone-elements1` in blocks of 256: at most " in words
    assert "`shuffles-elements8` in blocks of 256: 90 % of that from 64 warps." in words
    assert "Shuffles instead of a barrier a step: 1.60 x at 8 warps, 1.60 x at 64." in words
    assert "Blocks of 128 instead of 256 at equal warps: 1.03 to 1.03 x." in words
    assert "Blocks of 1,024 instead of 256 at equal warps: 0.80 to 0.80 x." in words
    assert words.endswith("-maxnreg24`, 24 registers instead of 28: 1.00 x at 8 warps, 1.00 x at 64.")


def test_outputs_per_thread(run: Path) -> None:
    """By the made-up law 7 x 7 wait for reads of shared memory, of which four outputs spare 9 in 14."""
    words = said(rows_of(run, "convolution"), "convolution")
    assert words.startswith("3 x 3: best ") and ". 5 x 5: best " in words
    assert "7 x 7 with 4 per thread instead of 1: 3.92 x at 8 warps, 2.80 x at 64. " in words
    assert words.endswith("7 x 7 with 24 registers instead of 32: 0.90 x at 8 warps, 0.90 x at 64.")


def test_every_experiment_of_the_pictures_has_a_finding() -> None:
    plot = pytest.importorskip("occbench_tools.plot")
    assert sorted(NAMES) == sorted(plot.FIGURES)


def test_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.main([str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["| experiment | picture | what this run says |", "|---|---|---|"]
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in NAMES]
    for name, line in zip(NAMES, lines[2:], strict=True):
        assert (
            f"| ![{name}]({run}/{name}.png) |" in line and explain.ABSENT not in line and "nan" not in line
        )
    cliff = "31 -> 33 registers, 100 -> 75 % occupancy in blocks of 512: no cost in an FMA chain"
    assert f"{cliff} (65.9 -> 65.9 TFLOP/s)" in "\n".join(lines)


def test_achieved_occupancy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A launch of 60 % of the warp slots where theory has 100; two of three counters agree with records."""
    parts = dict(
        occupancy_theoretical=1.0, occupancy_resident=0.8, occupancy_launch=0.6, lost_to_ramp=0.05,
        lost_to_turnover=0.0, lost_to_tail=0.25, lost_to_imbalance=0.1, lost_to_unused_places=0.0,
    )  # fmt: skip
    rows = [row | parts for row in made_up.cases() if row["experiment"] == "waves"][:4]
    for row, counted in zip(rows, (0.8, 0.81, 0.7, None), strict=True):
        row["occupancy_achieved"] = counted
    assert explain.main([str(made_up.write(tmp_path / "run", rows))]) == 0
    words = capsys.readouterr().out.splitlines()[-1]
    assert words.startswith(
        "40.0 points of occupancy are lost between theory and the launch, in the mean of 4 cases"
    )
    assert "25.0 to the tail, 10.0 to imbalance, 5.0 to the ramp, 0.0 to" in words
    assert "within 2 points of each other in 2 of 3 cases (66.7 %): 1.00 points apart in the median" in words
    assert words.endswith(f"most in `{rows[2]['case_id']}`, 80 against 70 %.")


def test_what_was_not_run_is_said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(
        tmp_path / "few", [row for row in made_up.cases() if row["experiment"] == "waves"][:2]
    )
    assert explain.main([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line for line in lines if not line.startswith("| waves")] == [
        f"| {name} |  | Not in this run. |" for name in NAMES if name != "waves"
    ]


@pytest.mark.parametrize("experiment", NAMES)
def test_a_part_of_a_run_is_no_error(run: Path, experiment: str) -> None:
    rows = rows_of(run, experiment)
    for some in (rows[::2], rows[1::3], *(rows[i : i + 1] for i in range(len(rows)))):
        assert said(some, experiment).endswith(".")


def test_a_model_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "model", made_up.cases()[:1])
    env = (folder / "env.json").read_text()
    (folder / "env.json").write_text(env.replace('"source": "measured"', '"source": "model"'))
    assert explain.main([str(folder)]) == 2
    said = capsys.readouterr()
    assert "nothing in it was measured" in said.err and not said.out


def test_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "old", [made_up.cases()[0] | dict(schema_version=1)])
    assert explain.main([str(folder)]) == 4
    assert "schema_version 1, and this tool reads 2 or 3 or 4" in capsys.readouterr().err


def test_missing_folder(tmp_path: Path) -> None:
    assert explain.main([str(tmp_path / "none")]) == 4


@pytest.mark.parametrize("words", [[], ["--colour"]])
def test_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        explain.main(words)
    assert stop.value.code == 2
