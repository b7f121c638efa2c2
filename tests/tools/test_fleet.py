# SPDX-License-Identifier: Apache-2.0
"""occbench fleet check: what is planted is found and named, and good fleets pass."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("polars")

import fleets
from fleets import FleetCheck
from occbench_fleet import judge, spread
from pages import H200, built

CARDS = 24
SLOW = 5  # of them
SLOW_NAME = f"{fleets.host(SLOW)}/{fleets.uuid(SLOW)}"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleets.write(fleets.made(CARDS, 1), tmp_path_factory.mktemp("good") / "fleet")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One card has 3 % less of DRAM."""
    made = fleets.made(CARDS, 1, {SLOW: ("DRAM", 0.03)})
    return fleets.write(made, tmp_path_factory.mktemp("slow") / "fleet")


def test_uniform_fleet_passes(good: Path, fleet_check: FleetCheck) -> None:
    code, out, error = fleet_check(good)
    assert (code, error) == (0, "")
    assert out.startswith(f"PASS: {CARDS} of {CARDS} cards judged, none is odd\n")


def test_names_the_slow_card(slow: Path, fleet_check: FleetCheck) -> None:
    code, out, _ = fleet_check(slow, "--format", "json")
    (odd,) = json.loads(out)["odd"]
    assert (code, odd["name"], odd["resource"]) == (1, SLOW_NAME, "DRAM")
    assert odd["change"] == pytest.approx(0.03, abs=0.004)
    assert odd["folder"] == str(slow / SLOW_NAME)
    code, out, _ = fleet_check(slow, "--width", "120")
    assert f"{SLOW_NAME}      1  DRAM  3." in out and " % slower" in out
    assert fleet_check(slow, "--threshold", "4")[0] == 0


def test_attributes_faults_to_resources() -> None:
    for place, resource in enumerate(fleets.ODD):
        found = fleets.found_in(fleets.made(60, place, {7: (resource, 0.05)}))
        assert set(found["resource"]) == {resource}, found
        assert set(found[found["kind"] == "card"]["card"]) == {7}


def test_junit_output(slow: Path, fleet_check: FleetCheck) -> None:
    code, out, _ = fleet_check(slow, "--format", "junit")
    suite = ElementTree.fromstring(out.partition("\n")[2])
    assert (code, suite.get("tests"), suite.get("failures")) == (1, str(CARDS), "1")
    (failed,) = (case for case in suite if case.find("failure") is not None)
    assert failed.get("name") == SLOW_NAME


def test_prometheus_output(slow: Path, fleet_check: FleetCheck) -> None:
    _, out, _ = fleet_check(slow, "--format", "prometheus")
    values = dict(line.rsplit(" ", 1) for line in out.splitlines() if not line.startswith("#"))
    assert values["occbench_fleet_passed"] == "0" and values["occbench_fleet_cards"] == str(CARDS)
    odd = [
        name for name, value in values.items() if name.startswith("occbench_fleet_card_odd") and value == "1"
    ]
    where = f'host="{fleets.host(SLOW)}",uuid="{fleets.uuid(SLOW)}",resource="DRAM"'
    assert odd == [f"occbench_fleet_card_odd{{{where}}}"]
    assert float(values[f"occbench_fleet_card_change{{{where}}}"]) == pytest.approx(0.03, abs=0.004)


def test_compares_to_a_reference(slow: Path, good: Path, fleet_check: FleetCheck) -> None:
    reference = good / fleets.host(20) / fleets.uuid(20)
    code, out, _ = fleet_check(slow / SLOW_NAME, "--reference", reference)
    assert code == 1 and "DRAM" in out
    other = good / fleets.host(1) / fleets.uuid(1)
    assert fleet_check(other, "--reference", reference)[0] == 0
    code, out, _ = fleet_check(other, "--reference", H200)
    assert code == 1 and "not judged: preset burn-in, and not standard" in " ".join(out.split())
    code, _, error = fleet_check(good, "--reference", good)
    assert code == 4 and error.startswith("occbench fleet: ") and error.count("\n") == 1


def test_accounts_for_the_references_own_deviation() -> None:
    effects = pd.DataFrame(dict(grp=0, card=[0], resource="DRAM", effect=[0.02], cases=[10]))
    known = {"DRAM": dict(cards=0.01)}
    (found,) = judge.card_tests(effects, pd.DataFrame(dict(host=["a"])), known, reference=True)[
        0
    ].itertuples()
    assert found.z == pytest.approx(0.02 / (0.01 * np.sqrt(2)))


def test_finds_an_odd_rack(tmp_path: Path, fleet_check: FleetCheck) -> None:
    warm = {place: ("clock", 0.02) for place in range(8, 16)}
    top = fleets.write(fleets.made(48, 3, warm), tmp_path / "fleet")
    racks = "host,rack\n" + "".join(f"{fleets.host(8 * n)},r{n}\n" for n in range(6))
    (tmp_path / "racks.csv").write_text(racks + "n0999,r9\n")
    code, out, _ = fleet_check(top, "--labels", tmp_path / "racks.csv", "--format", "json")
    told = json.loads(out)
    assert code == 1 and told["failed"] == ["n0999: no folder"]
    groups = {
        (each["kind"], each["name"], each["resource"]) for each in told["odd"] if each["kind"] != "card"
    }
    assert groups == {("rack", "r1", "clock"), ("host", "n0001", "clock")}
    assert {each["within"] for each in told["odd"] if each["kind"] == "card"} == {"host n0001"}


@pytest.mark.slow
def test_false_alarm_and_detection_rates() -> None:
    """`python tests/tools/fleets.py` asks the same of 10,000 cards."""
    told, with_odd, without = fleets.detection(fleets=4, cards=300, odd=12)
    assert (with_odd, without) == (0, 0)
    assert told[told["size"] >= 0.03]["found"].all()


def test_holm() -> None:
    found = judge.holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_sorts_by_absolute_effect() -> None:
    tests = pd.DataFrame(dict(effect=[0.02, -0.05, 0.03], p_holm=0.0))
    assert list(judge.odd_tests(tests)["effect"]) == [-0.05, 0.03, 0.02]


@pytest.mark.slow
def test_family_wise_error_is_at_the_level() -> None:
    """Cards of a fleet of a few, whose spread must be learnt from them, are no more often called odd."""
    chance = np.random.default_rng(5)
    known = {"DRAM": dict(cards=0.002)}
    for cards in (4, 16, 200):
        alarms = 0
        for _ in range(200):
            effects = pd.DataFrame(dict(card=range(cards), grp=0, resource="DRAM", cases=10))
            effects["effect"] = chance.normal(0, 0.002, cards)
            tests, _ = judge.card_tests(effects, pd.DataFrame(index=effects["card"]), known, reference=False)
            alarms += bool((tests["p_holm"] <= judge.LEVEL).any())
        assert alarms <= 200 * judge.LEVEL + 3 * np.sqrt(200 * 0.05), (cards, alarms)


BURN_IN = fleets.REPOSITORY / "benchmarks/burn_in.csv"


@pytest.mark.parametrize("device", ["h100", "h200", "b200", "a100"])
def test_burn_in_cases(device: str, tmp_path: Path) -> None:
    """On the kinds of GPU that they were chosen on the program has all of them, on others enough of each."""
    if not (program := built()):
        pytest.skip("no occbench is built here")
    words = [program, "list", "--preset", "burn-in", "--device", f"model:{device}", "--format", "csv"]
    listed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    cases = pd.read_csv(BURN_IN)
    mine = cases[cases["case_id"].isin(pd.read_csv(io.StringIO(listed))["case_id"])]
    if device in ("h100", "h200"):
        assert len(mine) == len(cases) == listed.count("\n") - 1
    found = mine["resource"].value_counts().reindex(cases["resource"].unique(), fill_value=0)
    assert (found >= 2 * judge.LEAST_CASES).all(), found


def test_spread_file_is_complete() -> None:
    known = spread.spread()
    assert len(known["cards"]) >= 4 and set(known["resources"]) >= set(fleets.ODD)
    assert set(pd.read_csv(BURN_IN)["resource"]) <= set(known["resources"])
    for told in known["resources"].values():
        assert told["cases"] == sorted(told["cases"]) and len(told["cases"]) == len(spread.QUANTILES)
