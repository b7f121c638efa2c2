# SPDX-License-Identifier: Apache-2.0
"""What the program says of single experiments of rows made by known laws, and the sums of their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
import worded
from occbench_tools.experiments import barriers, divergence, energy, waves
from worded import rows_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write(tmp_path_factory.mktemp("run"), made_up.cases())


def said(rows: pd.DataFrame, experiment: str, env: dict[str, Any] = made_up.ENV) -> str:
    """What only this experiment has to say."""
    return " ".join(worded.own(experiment, rows, made_up.ENV | env))


def test_turnover_is_independent_of_iterations(run: Path) -> None:
    """700 cycles, though the long blocks make up to 1 % fewer iterations than the short ones together."""
    found = waves.turnover_cycles(rows_of(run, "waves"))
    assert list(found["block_us"]) == [1, 4, 16, 64, 256, 1024]
    assert list(found["cycles"]) == pytest.approx([made_up.TURNOVER_CYCLES] * 6, rel=1e-6)
    assert (found["low"] < found["cycles"]).all() and (found["cycles"] < found["high"]).all()
    # Two medians of 0.2 % each, in quadrature, over 1023 turnovers.
    first = found.iloc[0]
    width = (first["high"] - first["low"]) * 1023 / made_up.CLOCK
    many_s = (2048 * made_up.ITERATION_CYCLES + 1023 * made_up.TURNOVER_CYCLES) / made_up.CLOCK
    one_s = 2030 * made_up.ITERATION_CYCLES / made_up.CLOCK
    assert width == pytest.approx(2 * 0.002 * (many_s**2 + one_s**2) ** 0.5, rel=1e-6)


def test_turnover_requires_one_wave_of_equal_work(run: Path) -> None:
    rows = rows_of(run, "waves")
    short = rows[(rows["asked_block_s"] < 1e-3) | rows["asked_grid_size"].notna()]
    assert waves.turnover_cycles(short).empty
    assert "turnover" not in said(short[short["waves"] > 1], "waves").lower()


def test_sawtooth(run: Path) -> None:
    grids = waves.add_expected_times(rows_of(run, "waves")).set_index("grid_size")["off"]
    whole = 400 * made_up.ITERATION_CYCLES
    assert grids[[1, 66, 132]].abs().max() < 1e-9
    assert grids[133] == pytest.approx(made_up.TURNOVER_CYCLES / whole / 2)
    assert grids[265] == pytest.approx(1.01 * (1 + 2 * made_up.TURNOVER_CYCLES / whole / 3) - 1)
    words = said(rows_of(run, "waves"), "waves")
    assert words.startswith(
        "With 1 block per SM a partial wave takes as long as a whole one, to within 1.1 %."
    )
    assert "takes 700 cycles at 1 block per SM of 1 us (95 % interval 693 to 707)." in words


def test_sawtooth_of_full_sms() -> None:
    """One block beyond w waves of 160 blocks, 16 on each of 10 SMs, runs alone and four times as fast."""
    rows = pd.DataFrame(
        [
            dict(asked_grid_size=grid, blocks_per_sm=16, grid_size=grid, waves=grid / 160,
                 time_median_s=1e-3 * (grid // 160 + 0.25 * (grid % 160)))
            for grid in (160, 161, 320, 321)
        ]
    )  # fmt: skip
    words = "With 16 blocks per SM one block beyond whole waves costs 25 % of a wave: it runs alone."
    assert words in said(rows, "waves")


def test_ignores_uncertain_turnovers(run: Path) -> None:
    """The interval of one turnover of 1,024 us is thousands of cycles wide."""
    turns = waves.turnover_cycles(rows_of(run, "waves")).set_index("block_us")
    assert turns["sure"].to_dict() == {1: True, 4: True, 16: True, 64: False, 256: False, 1024: False}
    rows = rows_of(run, "waves")
    long = rows[rows["asked_block_s"].round(6) >= 256e-6]
    assert "Turnover from block to block: too few blocks to tell." in said(long, "waves")


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
    assert said(rows, "intensity") == (
        "65 % of the roof takes 31 warps at 16 FMAs per load, only 7 at 0 and 3 at 64 (4 loads in flight). "
        "With 64 FMAs per load 5 warps (7 % occupancy) reach 95 % of the best, as the "
        "course says (25-50 %)."
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
    assert "roof" not in said(low, "intensity")


def test_divergence(run: Path) -> None:
    rows = rows_of(run, "divergence")
    parted = divergence.add_losses(rows)
    split = parted[parted["variant"] == "split-lane-1"]
    assert list(split["ratio"]) == pytest.approx([2.01] * 3)
    image = parted[parted["variant"] == "image-62-rows-76-columns"]
    assert list(image["outside"]) == pytest.approx([0.08] * 2)
    assert list(image["loss"]) == pytest.approx([1 - 0.92 / 1.01] * 2)
    words = said(rows, "divergence")
    assert words.startswith(
        "Whether 1 lane of 32 branches away or 16 do, the loop takes 2.01 x the time (64 warps per SM). "
        "More warps do not hide it: 2.01 x at 4 per SM, 2.01 x at 64. "
    )
    assert "19.4 % of the warps diverge, 8.0 % of the lanes idle and 8.9 % of the rate is lost." in words
    many_warps = (rows["variant"] == "split-lane-1") & (rows["warps_per_sm"] == 64)
    quick = rows.assign(
        cycles_per_iteration=rows["cycles_per_iteration"].where(
            ~many_warps, 0.75 * rows["cycles_per_iteration"]
        )
    )
    assert "More warps hide part of it: 2.01 x at 4 per SM, 1.51 x at 64." in said(quick, "divergence")
    assert said(rows[rows["variant"] == "uniform"], "divergence") == ""


def test_barrier_costs(run: Path) -> None:
    rows = barriers.add_barrier_costs(rows_of(run, "barriers"))
    uneven = rows[(rows["variant"] == "exchange-uneven") & (rows["warps_per_sm"] == 16)]
    assert list(uneven["ratio"]) == pytest.approx([1.264, 1.712])
    assert list(uneven["cycles_per_round"]) == pytest.approx([4000 * 1.264 / 8, 4000 * 1.712 / 8])
    words = said(rows, "barriers")
    assert "takes resident blocks of 64 threads from 32 to 4 per SM: 3.2 x slower." in words
    assert words.startswith(
        "Barriers add up to 71 % to the time of uneven work (16 warps per SM in blocks of 512)."
    )
    slow = rows[rows["variant"] == "named-runtime"].assign(
        form="exchange", throughput=lambda r: r["throughput"] * 2
    )
    words = "At equal residency, 4 blocks of 64, the code of such a barrier alone costs 50.0 %."
    assert words in said(pd.concat([slow, rows]), "barriers")


def test_api_picks(run: Path) -> None:
    words = said(rows_of(run, "block_size_pick"), "block_size_pick")
    loss = 100 * (1 - 0.92 / 0.9975)
    assert f"It loses most, {loss:.1f} %, in barriers " in words
    assert "it picks 1,024 threads where 32 are best." in words


def test_routes(run: Path) -> None:
    assert said(rows_of(run, "same_occupancy"), "same_occupancy") == (
        "Reaching the same occupancy by block size costs FMA chains 2.0 %, cached reads of 1 KiB per warp "
        "2.0 % and loads 2.0 % (same L1 size). "
        "A larger L1 is worth 1.40 to 1.40 x for cached reads of 1 KiB per warp."
    )


def test_per_joule(run: Path) -> None:
    rows = rows_of(run, "energy")
    assert list(energy.work_per_joule(rows)) == pytest.approx(list(rows["throughput"] / rows["power_w"]))


def test_idle_device_gives_no_energy(run: Path) -> None:
    """Launches of 1 ms every 4 ms: the energy is that of idling. At the power limit it is the work's."""
    rows = rows_of(run, "energy")
    words = said(rows, "energy")
    chains = "FMA chains reach 65.9 TFLOP/s in single launches"
    assert f"{chains}, 65.9 TFLOP/s back to back at 262 W" in words
    assert "FMA chains use least energy with 4 warps per SM" in words
    full = rows["occupancy_theoretical"] == 1
    thirsty = rows.assign(**{c: rows[c].mask(full, 10 * rows[c]) for c in ("power_w", "energy_per_launch_j")})
    assert "% less than with 64, where they are fastest." in said(thirsty, "energy")
    slow = rows.assign(energy_per_launch_j=4 * rows["energy_per_launch_j"])
    assert said(slow, "energy").startswith(
        "In 10 of 10 cases the device worked only 25 to 25 % of the time: their joules are mostly those of "
        "idling."
    )
    limited = slow.assign(power_w=690.0, energy_per_launch_j=0.69 * 1.25)
    env: dict[str, Any] = dict(gpu=dict(power_limit_w=700.0))
    assert f"{chains}, 52.7 TFLOP/s back to back at 690 W" in said(limited, "energy", env)


def test_rejects_energy_beyond_the_power_limit(run: Path) -> None:
    rows = rows_of(run, "energy")
    rows.loc[rows.index[:2], "power_w"] = 925.0
    assert said(rows, "energy", dict(gpu=dict(power_limit_w=700.0))) == (
        "In 2 of 10 cases the counter says more than the board's limit of 700 W: no energy of this run is to "
        "be trusted."
    )
