# SPDX-License-Identifier: Apache-2.0
"""What the program says of any experiment, by its description and columns alone: of a made-up one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import numpy as np
import pages
import pandas as pd
import worded
from occbench_tools import NEWEST, analysis, cliffs, compare, curves, experiments, explain, plot, report
from occbench_tools.cliffs import command
from occbench_tools.explain import phrases
from occbench_tools.schema_upgrade import PLAIN

NAME = "fresh"
Row = dict[str, Any]


def env(**it: Any) -> dict[str, Any]:  # noqa: ANN401
    """With a description of the made-up experiment."""
    return made_up.ENV | dict(experiments={NAME: PLAIN | it})


def case(curve: str, rate: float, **dials: Any) -> Row:  # noqa: ANN401
    """A row of a family that nobody knows; `curve` is its kernel's name as well."""
    marks = "".join(f".{value}" for value in dials.values())
    return made_up.case(NAME, "strangers", curve, rate, marks=marks, curve=curve, **dials)


def said(rows: list[Row], **it: Any) -> list[str]:  # noqa: ANN401
    return told(rows, **it).sentences


def told(rows: list[Row], **it: Any) -> explain.Sentences:  # noqa: ANN401
    table = pd.DataFrame(rows).assign(throughput_predicted=rows[0].get("throughput_predicted"))
    table = table.reindex(columns=[*dict.fromkeys([*made_up.COLUMNS, *table])])
    return worded.explain_made_up(NAME, table, env(**it))


def over_warps(curve: str, enough: int, best: float = 4e12, **dials: Any) -> list[Row]:  # noqa: ANN401
    """A curve that rises until so many warps."""
    return [case(curve, best * min(1, warps / enough), warps=warps, **dials) for warps in (4, 8, 16, 32, 64)]


def test_experiment_has_no_module() -> None:
    assert experiments.module_of(NAME) is None


def test_common_value_is_reported_once() -> None:
    rows = over_warps("even", 8, block_size=128, lanes_apart=0)
    rows += over_warps("even", 8, 3e12, block_size=256, lanes_apart=0)
    rows += over_warps("even", 8, 2e12, block_size=128, lanes_apart=31)
    words = "8 warps per SM and no diverging lanes; with 31 diverging lanes at most 50 %."
    assert said(rows)[0].endswith(words)


def test_reports_fewest_warps_and_the_best() -> None:
    """The line that takes least, the one that takes most, and one that never comes so far."""
    rows = over_warps("wide", 8) + over_warps("narrow", 32) + over_warps("poor", 16, 2e12)
    words = said(rows)
    assert words[0] == ("`wide` reaches 90 % of 4,000 GB/s with 8 warps per SM; `poor` at most 50 %.")
    assert words[1] == "Fastest is `narrow`: 4,000 GB/s (83 % of the DRAM ceiling) with 32 warps per SM."


def test_equal_lines_are_not_distinguished() -> None:
    rows = over_warps("even", 8, block_size=128) + over_warps("even", 8, block_size=256)
    assert said(rows)[0].endswith(" with 8 warps per SM.")


def test_contrast_names_all_differing_dials() -> None:
    """ILP 1 alone is not what holds the slowest back: in other blocks it comes to the best."""
    rows = over_warps("even", 8, ilp=4, block_size=128) + over_warps("even", 32, ilp=1, block_size=256)
    rows += over_warps("even", 8, 2e12, ilp=1, block_size=128)
    assert said(rows)[0].endswith("with ILP 1 and blocks of 128 at most 50 %.")


def test_best_may_be_on_a_two_point_line() -> None:
    rows = over_warps("even", 8, 2e12, ilp=1)
    rows += [case("even", 4e12, warps=warps, ilp=4) for warps in (4, 8)]
    assert said(rows)[0].endswith(" 4,000 GB/s with 4 warps per SM and ILP 4; with ILP 1 at most 50 %.")


def test_large_loss_from_more_warps_comes_first() -> None:
    rates = {4: 2e12, 8: 4e12, 16: 4e12, 32: 3e12, 64: 1e12}
    rows = over_warps("other", 16, 5e12) + [case("one", rate, warps=warps) for warps, rate in rates.items()]
    assert said(rows)[0] == "`one` is fastest with 8 warps per SM; with 64 it loses 75.0 %."


def test_dial_without_effect_is_not_a_finding() -> None:
    rows = [case("one", 4e12, block_size=size, warps=64) for size in (32, 64, 128, 256)]
    assert not any("90 %" in words for words in said(rows, dial="block_size"))


def test_largest_effect_size() -> None:
    """The logarithm of its ratio; 0 where nothing has one, as with latencies, and less of too few points."""
    assert told(over_warps("one", 32, ilp=1) + over_warps("eight", 4, ilp=8)).effect == pytest.approx(
        np.log(8)
    )
    assert told(over_warps("alone", 8)).effect == 0
    assert told(over_warps("alone", 8), scale="cycles").effect == 0
    assert told(over_warps("alone", 8)[:2]).effect == -1 == explain.Sentences([]).effect


def test_effect_of_another_dial() -> None:
    """Eight times at 4 warps, nothing at 64; capped kernels and dials that change together are left out."""
    rows = over_warps("one", 32, ilp=1) + over_warps("eight", 4, ilp=8)
    rows += over_warps("capped", 4, 9e12, ilp=1, register_route="maxnreg", register_cap=24)
    words = said(rows)
    assert (
        "ILP 8 instead of 1 gives 8.00 x the rate with 4 warps per SM, 1.00 x with 64 (no register cap)."
        in words
    )
    wide = [row | dict(bytes_per_access=16) for row in over_warps("eight", 4, ilp=8)]
    other = [row | dict(bytes_per_access=4) for row in over_warps("one", 32, ilp=1)]
    assert not any("instead of" in each for each in said(wide + other))


def test_register_caps() -> None:
    free = over_warps("plain", 16, registers_per_thread=40)
    cap = dict(register_route="maxnreg", registers_per_thread=32, register_cap=32, local_bytes=64)
    rows = free + [row | cap | dict(throughput=0.7 * row["throughput"]) for row in free]
    assert (
        "`plain` loses 30.0 % at best with 32 registers instead of the compiler's 40 (64 B spilled)."
        in said(rows)
    )


def test_cliffs_along_the_dial() -> None:
    """What is lost between which two values, with the blocks that go; the deepest of each curve."""
    rows = [
        case("load", rate, warps=warps, registers_per_thread=registers, register_route="maxnreg", block=512)
        for registers, warps, rate in (
            (24, 64, 1e12), (32, 64, 1e12), (33, 48, 0.79e12), (40, 48, 0.79e12), (41, 32, 0.7e12)
        )
    ]  # fmt: skip
    words = said(rows, dial="registers_per_thread", scale="best")
    assert "Loads lose 21.0 % from 32 to 33 registers (4 to 3 blocks per SM)." in words
    assert words[0] == "Loads lose 30 % by 41 registers (50 % occupancy)."


def test_loss_from_more_warps() -> None:
    rows = over_warps("same", 16) + over_warps("spoilt", 16)
    rows[-1]["throughput"] *= 0.6
    assert "`spoilt` is fastest with 16 warps per SM; with 64 it loses 40.0 %." in said(rows)
    rows += over_warps("worse", 16)
    rows[-1]["throughput"] *= 0.5
    words = said(rows)
    assert "`worse` is fastest with 16 warps per SM; with 64 it loses 50.0 %." in words
    assert "More warps slow down 2 of 3 curves." in words


def test_a_baseline() -> None:
    alone = over_warps("free", 16)
    rows = alone + [
        row | dict(variant="waits", curve="waits", case_id=f"w{i}", baseline="free",
                   cycles_per_iteration=(2 + i) * row["cycles_per_iteration"])
        for i, row in enumerate(alone)
    ]  # fmt: skip
    assert "`waits` takes up to 6.00 x the time of `free` (64 warps per SM)." in said(rows)


def test_slower_baseline() -> None:
    alone = over_warps("free", 16)
    rows = alone + [
        row | dict(variant="ahead", curve="ahead", case_id=f"w{i}", baseline="free",
                   cycles_per_iteration=0.5 * row["cycles_per_iteration"])
        for i, row in enumerate(alone)
    ]  # fmt: skip
    assert "`ahead` takes as little as 0.50 x the time of `free` (4 warps per SM)." in said(rows)


def test_ignores_invalid_rates() -> None:
    """Rows that cannot be divided by are left out; alone they say nothing."""
    rows = over_warps("wide", 8)
    for rate in (0, -1e9, 5e-324, float("nan"), float("inf")):
        assert said([*rows, rows[0] | dict(throughput=rate, curve="odd")]) == said(rows)
        assert said([row | dict(throughput=rate) for row in rows]) == []


def test_cycles() -> None:
    """Of a load's latency less is better: the cycles themselves are said."""
    rows = [
        case(curve, 1e9, working_set_bytes=1 << size, own_cycles_per_iteration=cycles + size)
        for curve, cycles in (("near", 30), ("far", 600)) for size in (10, 12, 14, 16)
    ]  # fmt: skip
    words = said(rows, dial="working_set_bytes", scale="cycles")
    assert words[0] == "Cycles of a loop iteration: 40 to 46 in `near`, 610 to 616 in `far`."


def test_model_errors() -> None:
    rows = pd.DataFrame([made_up.with_prediction(row) for row in over_warps("odd", 16)])
    rows = rows.reindex(columns=[*dict.fromkeys([*made_up.COLUMNS, *rows])])
    rows.loc[2, "throughput_predicted"] *= 1.3
    words = "The model misses 1 of 5 cases by over 10 %, most for `odd` at 16 warps per SM: +30 %."
    assert words in worded.explain_made_up(NAME, rows, env()).sentences
    for other in (env(outside_model="nobody knows"), env() | dict(source="model")):
        assert not any("The model" in each for each in worded.explain_made_up(NAME, rows, other).sentences)


def test_splits_lines_by_described_columns() -> None:
    """By the columns that the description names; and by blocks where they share a number of warps."""
    rows = over_warps("one", 16, carveout_percent=50) + over_warps("one", 16, carveout_percent=100)
    rows += over_warps("two", 16) + over_warps("two", 16, block=256)
    table = pd.DataFrame(rows).reindex(columns=[*dict.fromkeys([*made_up.COLUMNS, *pd.DataFrame(rows)])])
    found = list(curves.lines(table, PLAIN | dict(split_by=["carveout_percent"])))
    assert [(line.curve, line.parts, len(line.rows)) for line in found] == [
        ("one", dict(carveout_percent=50), 5), ("one", dict(carveout_percent=100), 5),
        ("two", dict(carveout_percent=100, block_size=128), 5),
        ("two", dict(carveout_percent=100, block_size=256), 5),
    ]  # fmt: skip


def test_ignores_malformed_description() -> None:
    """What is not a column, or of another kind, is what is said of any experiment."""
    for dial in ("variant", "no_such", 5, None, ["ilp"]):
        it = curves.description_of(env(dial=dial, split_by=["no_such", "block_size", {}]), NAME)
        assert it["dial"] == "warps_per_sm" and it["split_by"] == ["block_size"]
    for strange in ([], dict(experiments=[]), dict(experiments={NAME: 3})):
        assert curves.description_of(dict(strange), NAME) == PLAIN


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("warps_per_sm", 24, "24 warps per SM"), ("warps_per_sm", 1, "1 warp per SM"),
        ("dynamic_smem_bytes", 76800, "75 KiB of shared memory per block"), ("ilp", 8, "ILP 8"),
        ("occupancy_theoretical", 0.125, "12.5 % occupancy"), ("no_words_for_it", 3, "no words for it 3"),
        ("asked_block_s", 4e-6, "blocks of 4e-06 s"),
    ],
)  # fmt: skip
def test_value_text(column: str, value: float, words: str) -> None:
    assert phrases.value_text(column, value) == words


def test_every_tool_accepts_a_new_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Explain, cliffs, compare, plot and report of an experiment that no file of the tools names."""
    rows = over_warps("wide", 8) + [
        case("load", 1e12 * (1 if smem <= 4096 else 0.7), warps=64 if smem <= 4096 else 48, block=256,
             dynamic_smem_bytes=smem, limiters="shared_memory")
        for smem in (1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192)
    ]  # fmt: skip
    folder = pages.write(tmp_path / "run", rows, **env())
    assert explain.main([str(folder), NAME]) == 0
    assert f"\n{NAME}\n  wide reaches 90 % of 4,000 GB/s with 8 warps per SM.\n" in capsys.readouterr().out
    assert command.main([str(folder), "--verbose"]) == 0
    assert "4,096 -> 5,120" in capsys.readouterr().out
    table = cliffs.find_cliffs(*analysis.read_folder(folder))
    assert list(table["kernel"]) == ["load"] and table["verdict"].iloc[0] == "confirmed"
    samples = pd.DataFrame(
        [dict(schema_version=NEWEST, case_id=row["case_id"], sample=i, round=i // 3, repetition=0,
              time_s=1e-3, sm_clock_hz=2e9, discarded=0, started_unix_s=1) for row in rows for i in range(9)]
    )  # fmt: skip
    names = [column["name"] for column in report.payload.validate.schema()["files"]["samples.csv"]["columns"]]
    samples[names].to_csv(folder / "samples.csv", index=False, lineterminator="\n")
    assert compare.main([str(folder), str(folder)]) == 0
    assert f"{NAME} " in capsys.readouterr().out
    assert plot.main([str(folder)]) == 0 and (folder / f"{NAME}.png").exists()
    assert report.main([str(folder)]) == 0


@pytest.mark.slow
def test_same_variant_names_in_two_families(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every variant's name under two families of its experiment: each is spoken of for itself."""
    rows = pages.cases()
    twins = [row | dict(family="twins", case_id=f"{row['case_id']}.twin") for row in rows]
    folder = made_up.write(tmp_path / "twins", rows + twins)
    assert explain.main([str(folder), "--all"]) == 0
    assert report.main([str(folder)]) == 0
    assert "nan" not in capsys.readouterr().out
