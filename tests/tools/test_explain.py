# SPDX-License-Identifier: Apache-2.0
"""occbench explain on rows made by known laws."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import analysis, command, curves, explain

NAMES = [finding.__name__ for finding in explain.FINDINGS]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write(tmp_path_factory.mktemp("run"), made_up.cases())


def rows_of(folder: Path, experiment: str) -> pd.DataFrame:
    cases, _ = analysis.read_folder(folder)
    return analysis.scaled(cases[cases["experiment"] == experiment])


def said(rows: pd.DataFrame, experiment: str) -> str:
    finding = next(f for f in explain.FINDINGS if f.__name__ == experiment)
    return " ".join(map(explain.sentence, finding(rows, made_up.ENV)))


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
    words = said(short[short["waves"] > 1], "waves")
    assert "Turnover from block to block: not in this run." in words


def test_sawtooth(run: Path) -> None:
    grids = analysis.sawtooth(rows_of(run, "waves")).set_index("grid_size")["off"]
    whole = 400 * made_up.PASS_CYCLES
    assert grids[[1, 66, 132]].abs().max() < 1e-9
    assert grids[133] == pytest.approx(made_up.TURNOVER_CYCLES / whole / 2)
    assert grids[265] == pytest.approx(1.01 * (1 + 2 * made_up.TURNOVER_CYCLES / whole / 3) - 1)
    words = said(rows_of(run, "waves"), "waves")
    assert words.startswith(
        "With 1 block per SM a partial wave takes a whole one's time, within 1.1 % (2.01 waves)."
    )
    assert "takes 700 cycles at 1 block per SM of 1 us (95 % interval 693 to 707)." in words
    assert words.endswith("One block alone takes 100.0 % of a wave's time.")


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
    assert "Turnover from block to block: too few blocks to tell." in said(long, "waves")


def test_knee(run: Path) -> None:
    """The least that reaches a share of the best, which need not be the first point above it in the file."""
    rows = pd.DataFrame(dict(warps_per_sm=[8, 2, 4, 16], throughput=[95.0, 60.0, 90.0, 100.0]))
    assert analysis.least(rows, "warps_per_sm", 0.9) == 4
    words = said(rows_of(run, "bulk_copy"), "bulk_copy")
    assert words == (
        "One warp per SM with bulk copies reads 4,547 GB/s, 94.7 % of the theoretical rate (1.56 % "
        "occupancy). "
        "95 % of one warp's best takes 128 KiB in flight per SM; the best has 128 KiB."
    )
    rows = rows_of(run, "bulk_copy")
    loads = rows[rows["bytes_in_flight"].isna()]
    more = [loads.assign(warps_per_sm=warps, rate=loads["rate"] / 2) for warps in (1, 2, 4)]
    rows = pd.concat([rows, *more], ignore_index=True)
    assert "Ordinary loads reach 4,394 GB/s at best, with 48 warps per SM." in said(rows, "bulk_copy")


def test_cusp() -> None:
    """In proportion to the warps up to a best that is the lowest where most warps are needed for it."""
    # Warps that the best takes, and its share of the roof.
    needs = {0: (10, 90), 8: (12, 80), 16: (32, 67), 64: (5, 95)}
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
    assert list(found["warps"]) == pytest.approx([65 / 9, 12 * 65 / 80, 32 * 65 / 67, 65 / 19])
    assert said(rows, "intensity") == (
        "Most warps are needed at 16 FMAs per load: 31 for 65 % of the roof, 7 at 0 and 3 at 64 (4 loads in "
        "flight). With 4 loads in flight and 16 FMAs per load no number of warps passes 67 % of the roof. "
        "With 64 "
        "FMAs per load 95 % of the best takes 5 warps (7 % occupancy), as the course says (25-50 %)."
    )
    level = rows[rows["fma_per_load"] != 16]
    words = "With 4 loads in flight, 3 numbers of FMAs per load are too few to see a cusp."
    assert said(level, "intensity").startswith(words)
    flat = rows.assign(percent_of_ceiling=50 * rows["percent_of_ceiling"] / rows["percent_of_ceiling"].max())
    flat["percent_of_ceiling"] = 50 * (flat["warps_per_sm"] / 8).clip(upper=1)
    assert said(flat, "intensity").startswith(
        "No cusp with 4 loads in flight: 50 % of the roof takes 8 warps at 0 FMAs per load, 8 at 64."
    )
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
    assert words.startswith(
        "1 lane of 32 that branches away takes 2.01 x the time, 16 lanes 2.01 x, at 64 warps per SM. "
        "More warps do not hide it: 2.01 x at 4 per SM, 2.01 x at 64. "
        "Branches by whole warps or blocks change the time by at most +0.2 % (`branch-on-warp`, 4 warps "
        "per SM)."
    )
    assert "19.4 % of the warps diverge, 8.0 % of the lanes idle and 8.9 % of the rate is lost." in words
    many_warps = (rows["variant"] == "split-lane-1") & (rows["warps_per_sm"] == 64)
    quick = rows.assign(
        cycles_per_pass=rows["cycles_per_pass"].where(~many_warps, 0.75 * rows["cycles_per_pass"])
    )
    assert "More warps hide part of it: 2.01 x at 4 per SM, 1.51 x at 64." in said(quick, "divergence")
    assert (
        "1 lane against 16: not in this run" in said(rows[rows["variant"] == "uniform"], "divergence").lower()
    )


def test_meetings(run: Path) -> None:
    rows = analysis.meetings(rows_of(run, "barriers"))
    uneven = rows[(rows["variant"] == "exchange-uneven") & (rows["warps_per_sm"] == 16)]
    assert list(uneven["ratio"]) == pytest.approx([1.264, 1.712])
    assert list(uneven["cycles_per_round"]) == pytest.approx([4000 * 1.264 / 8, 4000 * 1.712 / 8])
    words = said(rows, "barriers")
    assert "takes resident blocks of 64 threads from 32 to 4 per SM: 3.2 x slower." in words
    assert words.startswith(
        "Barriers after uneven work cost up to 71 % with 16 warps per SM and 71 % with 64 warps per SM."
    )
    slow = rows[rows["variant"] == "named-runtime"].assign(variant="exchange", rate=lambda r: r["rate"] * 2)
    words = "At equal residency, 4 blocks of 64, the code of such a barrier alone costs 50.0 %."
    assert words in said(pd.concat([slow, rows]), "barriers")


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
    assert said(rows_of(run, "same_occupancy"), "same_occupancy") == (
        "At equal occupancy and L1 the choice of resource costs FMA chains 2.0 % and DRAM loads 2.0 % at "
        "most. "
        "A loop over an L1-resident set, 1 KiB per warp, loses up to 2.0 % by block size, 1.0 % by shared "
        "memory, "
        "0.0 % by registers. "
        "A larger L1 changes nothing for DRAM loads. A larger L1 changes nothing for FMA chains. "
        "A larger L1 is worth 1.40 to 1.40 x for a loop over an L1-resident set, 1 KiB per warp."
    )


def test_per_joule(run: Path) -> None:
    rows = rows_of(run, "energy")
    assert list(analysis.per_joule(rows)) == pytest.approx(list(rows["throughput"] / rows["power_w"]))


def test_a_device_that_waits_is_not_measured(run: Path) -> None:
    """Launches of 1 ms every 4 ms: the energy is that of idling. At the power limit it is the work's."""
    rows = rows_of(run, "energy")
    assert list(analysis.busy(rows)) == pytest.approx([1.0] * len(rows))
    words = said(rows, "energy")
    chains = "FMA chains at ILP 4 reach 65.9 TFLOP/s in single launches"
    assert f"{chains}, 65.9 TFLOP/s back to back at 262 W" in words
    assert "FMA chains at ILP 4 take least energy where they are fastest, at 6.25 % occupancy." in words
    full = rows["occupancy_theoretical"] == 1
    thirsty = rows.assign(**{c: rows[c].mask(full, 10 * rows[c]) for c in ("power_w", "energy_per_launch_j")})
    assert "% less than at 100 % occupancy, where they are fastest." in said(thirsty, "energy")
    slow = rows.assign(energy_per_launch_j=4 * rows["energy_per_launch_j"])
    assert said(slow, "energy").startswith(
        "In 10 of 10 cases the device worked only 25 to 25 % of the time: their joules are mostly those of "
        "idling."
    )
    limited = slow.assign(power_w=690.0, energy_per_launch_j=0.69 * 1.25)
    env: dict[str, Any] = dict(gpu=dict(power_limit_w=700.0))
    assert not analysis.waited(limited, env).any()
    assert any(
        f"c{chains[1:]}" and "52.7 TFLOP/s back to back at 690 W" in c for c in explain.energy(limited, env)
    )


def test_conflicts_of_a_transpose(run: Path) -> None:
    """A conflict of 32 lanes caps the rate at 60 / 33 TB/s, which fewer warps come to."""
    words = said(rows_of(run, "transpose"), "transpose")
    assert words.startswith(
        "32 lanes on one bank leave 43 % of the best rate, 1,818 GB/s of 4,258 GB/s. 4 lanes"
    )
    assert "90 % of the best takes this many warps per SM: 64 with 8 elements per thread." in words
    assert words.endswith("Without bank conflicts the best is 4,258 GB/s at 100 % occupancy.")


def test_bodies_per_thread(run: Path) -> None:
    words = said(rows_of(run, "nbody"), "nbody")
    assert words.startswith(
        "With 4 bodies per thread, 90 % of the best takes 8 warps; with 1, 32. "
        "Fastest is 4 bodies per thread in blocks of 128, 46.8 TFLOP/s at 12.5 % occupancy. "
        "With 4 bodies per thread, 40 registers instead of 48: -28.6 % at best, 0.71 x at 8 warps, 0.71 x "
        "at 64. "
        "With 1 body per thread, 90 % of the best takes 32 warps."
    )


def test_row_sums(run: Path) -> None:
    """Larger blocks lose 2.5 % per 128 threads by the made-up law: those of 512 need more warps for it."""
    words = said(rows_of(run, "reduction"), "reduction")
    assert words.startswith(
        "With 4 x 16 B in flight per thread, 90 % of the best takes 32 warps; with 1 x 4 B, at most 24 % is "
        "reached. Fastest is 4 x 16 B in flight per thread in blocks of 128, 4,303 GB/s at 100 % occupancy. "
        "Blocks of 128 instead of 256: 1.03 x at equal warps. Blocks of 512 instead of 256: 0.95 x at "
        "equal warps."
    )


def test_prices_by_options_and_registers(run: Path) -> None:
    words = said(rows_of(run, "black_scholes"), "black_scholes")
    assert words.startswith(
        "With 4 options per thread, 90 % of the best takes 32 warps; with 1, at most 64 % is reached. "
        "Fastest is 4 options per thread in blocks of 128 with 40 registers, "
    )
    assert "With 1 option per thread, at most 64 % of the best is reached." in words
    assert words.endswith("Blocks of 256 instead of 128: 0.98 x at equal warps.")


def test_an_optimizers_step_by_accesses_and_registers(run: Path) -> None:
    """By the made-up law the cap lets a thread have a third more bytes in flight, of use at few warps."""
    words = said(rows_of(run, "adam"), "adam")
    assert words.startswith("Fastest is 4 x 16 B per thread in blocks of 128 with 80 registers, ")
    assert "With 1 x 4 B per thread, at most 64 % of the best is reached." in words
    assert "80 registers instead of 72: no change at best, 1.06 x at 8 warps, 1.00 x at 16." in words
    assert words.endswith("Blocks of 256 instead of 128: 0.98 x at equal warps.")


def test_weights_by_loads_and_registers(run: Path) -> None:
    """By the made-up law narrow loads cost 1 - 0.9 / 0.975, and what a cap makes spill costs a ninth."""
    words = said(rows_of(run, "dequantize"), "dequantize")
    assert words.startswith(
        "With 1 x 16 B per thread, 90 % of the best takes 64 warps; with 1 x 4 B, at most 43 % is reached. "
        "1 load of 16 B instead of 4 loads of 4 B: 1.08 x at 8 warps, 1.08 x at 64. "
        "Fastest is 4 x 16 B per thread in blocks of 128 with 64 registers, 3,872 GB/s at 50 % occupancy. "
        "With 2 x 16 B per thread, 40 registers instead of 55, 32 B spilled: -11.1 % at best, 0.89 x at 8 "
        "warps, "
    )
    rows = rows_of(run, "dequantize")
    assert "1 load of 16 B" not in said(rows[rows["bytes_per_access"] == 16], "dequantize")


def test_fluids_by_lattice_sites_and_registers(run: Path) -> None:
    """By the made-up law arrays, sites or loads at once stand in for warps; spills cost 1 - 0.7 / 0.9."""
    words = said(rows_of(run, "lattice_boltzmann"), "lattice_boltzmann")
    assert words.startswith(
        "D2Q9: fastest is 2 sites per thread in blocks of 128 with 46 registers, 3,888 GB/s at 50 % "
        "occupancy. "
        "D3Q19: fastest is 2 sites per thread in blocks of 128, 3,907 GB/s at 50 % occupancy. "
        "19 arrays instead of 9, one site per thread: 2.06 x at 8 warps, 1.63 x at 32. "
        "D2Q9: with 4 sites per thread, 64 registers instead of 96, 256 B spilled: -6.1 % at best, 0.78 x "
        "at 8 "
        "warps, 0.78 x at 16. "
        "D2Q9: with 2 sites per thread, 46 registers instead of 40: +20.8 % at best, 1.86 x at 8 warps, "
    )
    rows = rows_of(run, "lattice_boltzmann")
    plane = said(rows[rows["variant"].str.startswith("d2q9")], "lattice_boltzmann")
    assert "D3Q19: not in this run." in plane


def test_points_per_thread(run: Path) -> None:
    """By the made-up law several points are worth a quarter more, and at 8 warps five times one point."""
    words = said(rows_of(run, "electrostatic"), "electrostatic")
    assert words.startswith(
        "With 8 points per thread, 90 % of the best takes 8 warps; with 1, at most 80 % is reached. "
        "8 points per thread instead of 1: 5.00 x at 8 warps, 1.25 x at 64. "
        "Fastest is 8 points per thread in blocks of 128, 33.5 TFLOP/s at 12.5 % occupancy. "
        "With 8 points per thread, 24 registers instead of 31: -10.0 % at best, "
    )


def test_paths_per_thread(run: Path) -> None:
    """By the made-up law all need 32 warps, but where 48 registers let four be interleaved; 24 cost."""
    words = said(rows_of(run, "monte_carlo"), "monte_carlo")
    assert words.startswith(
        "With 1 path per thread, 90 % of the best takes 32 warps; more per thread takes no fewer. "
        "4 paths in 48 registers instead of 32: 4.00 x at 8 warps, 1.00 x at 32. Fastest is "
    )
    assert "With 4 paths per thread, 24 registers instead of 32: -25.0 % at best, 0.75 x at 8 warps" in words
    rows = rows_of(run, "monte_carlo")
    free = said(rows[rows["register_route"] == "free"], "monte_carlo")
    assert "instead of" not in free


def test_points_per_thread_of_a_reconstruction(run: Path) -> None:
    """By the made-up law all need 32 warps, and spills cost a fifth."""
    words = said(rows_of(run, "mri"), "mri")
    assert words.startswith(
        "With 1 point per thread, 90 % of the best takes 32 warps. "
        "4 points per thread instead of 1: 1.00 x at 8 warps, 1.00 x at 32. "
    )
    assert "With 4 points per thread, 32 registers instead of 48, 48 B spilled: -20.0 % at best, " in words


def test_samples_from_either_memory(run: Path) -> None:
    """By the made-up law constant memory takes half as many warps; then its cache fails the most of them."""
    rows = rows_of(run, "constant_memory")
    words = said(rows, "constant_memory")
    assert words.startswith(
        "Samples from constant memory are fastest with 16 warps per SM. "
        "Constant memory instead of shared, 1 point per thread: 2.00 x at 8 warps, 1.00 x at 64. "
        "Each lane's address instead of the warp's, 1 point per thread: 2.00 x at 8 warps, 1.00 x at 64. "
    )
    assert "Best rates: 16.7 TFLOP/s from constant memory, 16.7 TFLOP/s from shared memory and " in words
    most = rows["variant"].str.startswith("constant") & (rows["warps_per_sm"] == 64)
    slow = rows.assign(rate=rows["rate"].where(~most, 0.25 * rows["rate"]))
    assert "with 16 warps per SM; 64 warps keep 25 % of that." in said(slow, "constant_memory")
    shared = said(rows[rows["variant"].str.startswith("shared")], "constant_memory")
    assert shared.startswith("Samples from constant memory: not in this run. ")


def test_chains_of_hashes(run: Path) -> None:
    """By the made-up law chains stand in for warps, unrolled rounds gain a tenth, and spills cost a fifth."""
    rows = rows_of(run, "sha256")
    words = said(rows, "sha256")
    assert words.startswith(
        "With 1 chain per thread, 90 % of the best takes 16 warps. "
        "All 64 rounds unrolled instead of 16: 1.10 x at equal warps. "
        "Fastest is 2 chains per thread in blocks of 128, 64 rounds unrolled, 17.6 G operations/s at 12.5 % "
    )
    assert "With 1 chain per thread, 46 registers instead of 32: no change at best, " in words
    assert "With 2 chains per thread, 48 registers instead of 56, 80 B spilled: -20.0 % at best, " in words


def test_rows_times_vector(run: Path) -> None:
    words = said(rows_of(run, "gemv"), "gemv")
    assert words.startswith("Fastest is 4 x 16 B in flight per thread in blocks of 128, ")
    assert "With 1 x 4 B in flight per thread, at most 25 % of the best is reached." in words
    assert words.endswith("4 x 16 B take 56 registers per thread: at most 32 warps fit.")


def test_rows_in_registers(run: Path) -> None:
    """By the made-up law a cap costs three eighths, and narrow accesses 1 - 0.9 / 0.975."""
    words = said(rows_of(run, "softmax"), "softmax")
    assert words.startswith(
        "Rows of 1,024 in a block of 128 instead of one warp: 0.32 x at 8 warps, 0.76 x at 32. "
        "Fastest is rows of 1,024 in one warp, 3,442 GB/s at 50 % occupancy. "
        "Accesses of 4 B instead of 16: 0.92 x at equal warps. "
        "Rows of 1,024 in one warp, 40 registers instead of 54, 32 B spilled: -37.5 % at best. "
    )
    assert words.endswith("With rows of 256 in one warp, 90 % of the best takes 64 warps.")
    rows = rows_of(run, "softmax")
    lone = rows[rows["variant"] == "warp-row1024-16B"]
    rows = pd.concat([rows, lone[lone["warps_per_sm"] == 32].assign(warps_per_sm=48)], ignore_index=True)
    assert said(rows, "softmax").startswith(
        "Rows of 1,024 in one warp reach 90 % of the best with 16 warps per SM; in a block of 128 threads "
        "they "
        "need 64."
    )


def test_rows_of_warps_and_of_blocks(run: Path) -> None:
    """By the made-up law a thread of a block has a quarter of the bytes in flight that one of a warp has."""
    words = said(rows_of(run, "layer_norm"), "layer_norm")
    assert words.startswith(
        "Rows of 1,024 in a block of 128 instead of one warp: 0.32 x at 8 warps, 0.48 x at 16. "
        "Fastest is rows of 1,024 in one warp, "
    )
    assert "Rows of 1,024 in one warp, 96 registers instead of 79: no change at best." in words


def test_prefix_sums(run: Path) -> None:
    """By the made-up law a barrier a step costs three eighths, and large blocks a part of 4,096 each."""
    words = said(rows_of(run, "scan"), "scan")
    assert words.startswith("Fastest is 8 elements per thread with shuffles in blocks of 128, 3,300 GB/s at ")
    assert "Shuffles instead of a barrier a step: 1.60 x at 8 warps, 1.60 x at 64." in words
    assert "Blocks of 128 instead of 256: 1.03 x at equal warps." in words
    assert "Blocks of 1,024 instead of 256: 0.80 x at equal warps." in words
    assert "24 registers instead of 28: 1.00 x at 8 warps, 1.00 x at 64." in words
    assert "With `kogge_stone-elements1` in blocks of 256, at most 15 % of the best is reached." in words
    assert words.endswith("With `shuffles-elements8` in blocks of 256, 90 % of the best takes 64 warps.")


def test_outputs_per_thread(run: Path) -> None:
    """By the made-up law 7 x 7 wait for reads of shared memory, of which four outputs spare 9 in 14."""
    words = said(rows_of(run, "convolution"), "convolution")
    assert words.startswith(
        "7 x 7 filter with 4 outputs per thread instead of 1: 3.92 x at 8 warps, 2.80 x at 64. "
    )
    assert " 3 x 3 filter: fastest is 4 outputs per thread, 4,258 GB/s at 100 % occupancy. " in words
    assert words.endswith("7 x 7 filter, 24 registers instead of 32: 0.90 x at 8 warps, 0.90 x at 64.")


def test_every_experiment_of_the_pictures_has_a_finding() -> None:
    plot = pytest.importorskip("occbench_tools.plot")
    assert sorted(NAMES) == sorted(plot.FIGURES)


def test_a_terminals_paragraphs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default: at most three sentences each, 80 columns, and how many more there are."""
    assert explain.main([str(run)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("What A GPU says, by ") and all(len(line) <= 80 for line in out.splitlines()[1:])
    assert "`" not in out and "nan" not in out
    found = explain.sentences_of(run)
    spoken = {name: words for name, words in found.items() if curves.TOO_FEW not in words[0]}
    assert [line for line in out.splitlines() if line in NAMES] == list(spoken)
    left = sum(max(0, len(words) - explain.MAIN) for words in spoken.values())
    assert out.endswith(f"\n{left} sentences more: --all\n")
    assert explain.main([str(run), "--all"]) == 0
    everything = " ".join(capsys.readouterr().out.split())
    assert all(words.replace("`", "") in everything for each in spoken.values() for words in each)


def test_experiments_are_chosen(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a folder, and without one in the newest below ./results."""
    assert explain.main([str(run), "divergence", "registers"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line in NAMES] == ["registers", "divergence"]
    home = run.parent / "home"
    shutil.copytree(run, home / "results" / "gpu" / "2026")
    monkeypatch.chdir(home)
    assert explain.main(["registers"]) == 0
    assert "\nregisters\n  31 to 33 registers: " in capsys.readouterr().out


def test_without_a_run_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert explain.main([]) == 4
    assert "no results under ./results" in capsys.readouterr().err


def test_for_programs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.main([str(run), "--format", "json", "--all"]) == 0
    assert json.loads(capsys.readouterr().out) == explain.sentences_of(run)
    assert explain.main([str(run), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {name: words[:3] for name, words in explain.sentences_of(run).items()}


def test_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.main([str(run), "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["| experiment | picture | what this run says |", "|---|---|---|"]
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in NAMES]
    for name, line in zip(NAMES, lines[2:], strict=True):
        assert f"| ![{name}]({run}/{name}.png) |" in line and explain.ABSENT not in line and "nan" not in line
    cliff = (
        "31 to 33 registers: -24.3 % for loads, no change for FMA chains (blocks of 512 threads, 100 to 75 %"
    )
    assert cliff in "\n".join(lines)


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
    assert explain.of_occupancy(tmp_path / "run") == (
        "40.0 points of occupancy are lost between theory and the launch, in the mean of 4 cases. "
        "They go to the tail (25.0), imbalance (10.0), the ramp (5.0), turnover (0.0), places never used "
        "(0.0). "
        "Block records and the hardware counter agree within 2 points in 2 of 3 cases (66.7 %), in the "
        "median "
        "within 1.00. "
        f"They are furthest apart in `{rows[2]['case_id']}`: 80 % by records, 70 % by the counter."
    )
    assert "achieved occupancy\n  40.0 points" in capsys.readouterr().out


def test_what_was_not_run_is_said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(
        tmp_path / "few", [row for row in made_up.cases() if row["experiment"] == "waves"][:2]
    )
    assert explain.main([str(folder), "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line for line in lines if not line.startswith("| waves")] == [
        f"| {name} |  | Not in this run. |" for name in NAMES if name != "waves"
    ]
    assert explain.main([str(folder), "registers"]) == 0
    assert capsys.readouterr().out.endswith("\n\nregisters\n  Not in this run.\n")


@pytest.mark.parametrize("experiment", NAMES)
def test_a_part_of_a_run_is_no_error(run: Path, experiment: str) -> None:
    rows = rows_of(run, experiment)
    for some in (rows[::2], rows[1::3], *(rows[i : i + 1] for i in range(len(rows)))):
        words = explain.said_of(experiment, some, made_up.ENV)
        assert words and all(each.endswith(".") for each in words)
        said(some, experiment)
    words = explain.said_of(experiment, rows, made_up.ENV)
    assert explain.headline(experiment, rows, made_up.ENV) == words[0]


def test_a_model_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row for row in made_up.cases() if row["experiment"] == "block_size"]
    folder = made_up.write(tmp_path / "model", rows)
    env = (folder / "env.json").read_text()
    env = env.replace('"source": "measured"', '"source": "model"').replace('"A GPU"', '"model of a GPU"')
    (folder / "env.json").write_text(env)
    assert explain.main([str(folder)]) == 0
    first, _, *others = capsys.readouterr().out.splitlines()
    assert first == "What the model of a GPU predicts; nothing here was measured."
    assert others[0] == "block_size"


def committed() -> list[Path]:
    return sorted(path.parent for path in (made_up.REPOSITORY / "results").glob("*/*/cases.csv"))


@pytest.mark.parametrize("folder", committed(), ids=lambda folder: folder.name)
def test_sentences_are_short(folder: Path) -> None:
    """No sentence over 30 words, none of numbers that are not there; of the default's at most three are "
    "said."""
    found = explain.sentences_of(folder)
    words = [*(each for words in found.values() for each in words), *explain.of_occupancy(folder).split(". ")]
    assert [each for each in words if len(each.split()) > 30 or " nan" in each] == []
    for paragraph in explain.plain(folder).split("\n\n"):
        name, *lines = paragraph.splitlines()
        if name in NAMES:
            assert 1 <= sum(not line.startswith("    ") for line in lines) <= 3


def test_a_curve_has_four_points() -> None:
    assert not analysis.is_curve([8, 16, 32, 32, 16, float("nan")])
    assert analysis.is_curve([8, 16, 32, 64])


NEWEST = {folder.parent.name: folder for folder in committed()}  # of each GPU


@pytest.mark.parametrize("gpu", NEWEST)
def test_preset_standard_has_enough(gpu: str) -> None:
    found = explain.sentences_of(NEWEST[gpu])
    assert [name for name, words in found.items() if words and curves.TOO_FEW in words[0]] == []


def test_preset_quick_says_what_it_lacks(tmp_path: Path) -> None:
    """By the program, of a model: two points are no finding, and what has a curve says one."""
    if not (program := command.occbench()):
        pytest.skip("no occbench on the PATH or built here")
    few, enough = ["carveout", "layer_norm"], ["block_size", "registers"]
    words = ["run", "--device", "model:h200", "--preset", "quick", "--output", str(tmp_path / "quick")]
    words += ["--experiment", ",".join(few + enough)]
    subprocess.run([program, *words], check=True, capture_output=True, cwd=tmp_path)
    found = explain.sentences_of(tmp_path / "quick")
    for name in few:
        assert found[name] == ["2 points a line are too few for a finding; preset standard has more."]
    assert all(curves.TOO_FEW not in found[name][0] for name in enough)


def test_nothing_is_said_of_too_few_points(run: Path) -> None:
    """Three values of the dial are no finding, four are; and a quick run says what has more."""
    rows = rows_of(run, "softmax")
    three = rows[rows["warps_per_sm"] < 64]
    words = "3 points a line are too few for a finding; preset standard has more."
    assert explain.said_of("softmax", three, made_up.ENV | dict(preset="quick")) == [words]
    assert explain.headline("softmax", three[:1], made_up.ENV) == "1 point a line is too few for a finding."
    assert len(explain.said_of("softmax", rows, made_up.ENV)) > 1
    for name in curves.NAMED:  # whose cases have names and no dial
        assert curves.TOO_FEW not in explain.headline(name, rows_of(run, name)[:1], made_up.ENV)


def test_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "old", [made_up.cases()[0] | dict(schema_version=1)])
    assert explain.main([str(folder)]) == 4
    assert "schema_version 1, and this tool reads 2 or 3 or 4 or 5" in capsys.readouterr().err


def test_missing_folder(tmp_path: Path) -> None:
    assert explain.main([str(tmp_path / "none")]) == 4


@pytest.mark.parametrize("words", [["--colour"], ["results", "regsters"]])
def test_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        explain.main(words)
    assert stop.value.code == 2
