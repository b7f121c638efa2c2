# SPDX-License-Identifier: Apache-2.0
"""Made-up fleets: burn-in folders of many cards that lie as far apart as measured ones, and a few odd ones.

The rows are the cases of preset burn-in, as the committed H200 run has them.
A card's whole resources are normal with the standard deviation that spread.json has from card to card. Each
case has besides what two cards' cases had. Both come from the few cards that spread.json names.

python tests/tools/fleets.py FOLDER    seconds and memory of `occbench fleet check`, and what it finds
No test: what a machine takes is not a property of the code. test_fleet.py does the same for a few cards.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

sys.path.insert(0, str(Path(__file__).parent))
import occbench_fleet as fleet
from made_up import REPOSITORY, newest_run
from million import timed
from occbench_fleet import judge
from occbench_fleet.resources import BY_NAME
from occbench_fleet.spread import QUANTILES, spread
from occbench_fleet.store import TYPES, Store

ODD = ("DRAM", "L2", "memory latency", "L1", "SM", "clock")  # what is planted
TIMES = ("time_median_s", "time_ci95_low_s", "time_ci95_high_s", "time_p10_s", "time_p90_s")
RATES = ("throughput", "percent_of_ceiling", "per_cycle_per_sm")
CARDS = 8  # of a host
HOSTS = 8  # of a rack
SIZES = (0.015, 0.02, 0.025, 0.03, 0.04, 0.05)
FleetCheck = Callable[..., tuple[int, str, str]]  # conftest.fleet_check


@dataclass
class Fleet:
    """`rows` are a row of cases.csv per case; seconds and clock are logs of factors, cards x cases."""

    rows: pd.DataFrame
    seconds: np.ndarray
    clock: np.ndarray
    odd: dict[int, tuple[str, float]]  # place of a card: its resource, and the share that it lacks


def planted(cards: int, count: int, chance: np.random.Generator) -> dict[int, tuple[str, float]]:
    """So many odd cards, each size and resource in its turn."""
    places = chance.choice(cards, count, replace=False)
    sizes, resources = np.tile(SIZES, count)[:count], np.resize(ODD, count)
    chance.shuffle(resources)
    return {int(place): (str(r), float(s)) for place, r, s in zip(places, resources, sizes, strict=True)}


def made(cards: int, seed: int, odd: int | dict[int, tuple[str, float]] = 0) -> Fleet:
    """A fleet of which `odd` cards are, or these."""
    chance = np.random.default_rng(seed)
    known = spread()
    table = pd.read_csv(newest_run("nvidia-h200") / "cases.csv", dtype=str, keep_default_na=False)
    of_case = pd.read_csv(REPOSITORY / "benchmarks/burn_in.csv", index_col="case_id")["resource"].to_dict()
    table = table[table["case_id"].isin(of_case)].reset_index(drop=True)
    resource = table["case_id"].map(of_case)
    whole = {name: chance.normal(0, told["cards"], cards) for name, told in known["resources"].items()}
    odd = odd if isinstance(odd, dict) else planted(cards, odd, chance)
    for place, (name, lacks) in odd.items():
        whole[name][place] -= np.log(1 - lacks)
    rest = {name: told["cases"] for name, told in known["resources"].items()}
    clock = -np.repeat(whole["clock"][:, None], len(table), axis=1)
    seconds = np.empty_like(clock)
    for place, name in enumerate(resource):
        seconds[:, place] = whole[name] + np.interp(chance.random(cards), QUANTILES, rest[name])
        if BY_NAME[name].measure == "cycles":
            seconds[:, place] -= clock[:, place]
    return Fleet(table, seconds, clock, odd)


def host(place: int) -> str:
    return f"n{place // CARDS:04}"


def uuid(place: int) -> str:
    return f"GPU-{place:08x}-0000-4000-8000-000000000000"


def write(made_up: Fleet, top: Path) -> Path:
    """DIR/HOST/UUID for each card, and racks.csv beside DIR."""
    env = json.loads((newest_run("nvidia-h200") / "env.json").read_text())
    names = set(made_up.rows["experiment"])
    env |= dict(preset="burn-in", experiments={name: env["experiments"][name] for name in names})
    text = json.dumps(env)
    assert env["gpu"]["uuid"] in text
    columns = list(made_up.rows)
    changed = [columns.index(name) for name in (*TIMES, *RATES, "sm_clock_hz", "cycles_per_iteration")]
    numbers = made_up.rows.iloc[:, changed].apply(pd.to_numeric).to_numpy(float)
    power = np.array([*(1 for _ in TIMES), *(-1 for _ in RATES), 0, 1])  # of the factor of seconds
    clocks = np.array([0] * (len(changed) - 2) + [1, 1])
    template = io.StringIO()
    marked = made_up.rows.astype(object)
    marked.iloc[:, changed] = "\x00"
    csv.writer(template, lineterminator="\n").writerows([columns, *marked.to_numpy().tolist()])
    pieces = template.getvalue().split("\x00")
    order = np.argsort(changed)
    for place in range(len(made_up.seconds)):
        folder = top / host(place) / uuid(place)
        folder.mkdir(parents=True)
        factors = np.exp(made_up.seconds[place][:, None] * power + made_up.clock[place][:, None] * clocks)
        cells = (numbers * factors)[:, order].ravel().tolist()
        whole = [part for piece, cell in zip(pieces, cells, strict=False) for part in (piece, f"{cell:.9g}")]
        (folder / "cases.csv").write_text("".join([*whole, pieces[-1]]).replace("nan", ""))
        (folder / "env.json").write_text(text.replace(env["gpu"]["uuid"], uuid(place)))
    hosts = sorted({host(place) for place in range(len(made_up.seconds))})
    labels = "".join(f"{name},r{number // HOSTS:03}\n" for number, name in enumerate(hosts))
    (top.parent / f"{top.name}-racks.csv").write_text("host,rack\n" + labels)
    return top


def found_in(made_up: Fleet) -> pd.DataFrame:
    """What is odd about a fleet, without its files."""
    cards, cases = made_up.seconds.shape
    words = ("case_id", "status", "bound_predicted", "ceiling_kind")
    columns = {name: made_up.rows[name].tolist() * cards for name in words}
    columns |= dict(card=np.repeat(np.arange(cards), cases), time_median_s=np.exp(made_up.seconds).ravel())
    columns |= dict(sm_clock_hz=np.exp(made_up.clock).ravel(), power_w=np.full(cards * cases, np.nan))
    percent = pd.to_numeric(made_up.rows["percent_of_ceiling"]).to_numpy()
    with tempfile.TemporaryDirectory() as room:
        store = Store(Path(room))
        columns |= dict(percent_of_ceiling=np.tile(percent, cards))
        store.add(pl.DataFrame(columns, schema_overrides=TYPES, nan_to_null=True))
        effects = store.effects(dict.fromkeys(range(cards), 0))
    labels = pd.DataFrame(dict(host=[host(place) for place in range(cards)]), dtype=object)
    labels["rack"] = [f"r{place // CARDS // HOSTS}" for place in range(cards)]
    tests, _ = judge.card_tests(effects, labels, spread()["resources"], reference=False)
    return judge.odd_tests(tests)


def detection(fleets: int, cards: int, odd: int) -> tuple[pd.DataFrame, int, int]:
    """size, resource and found of the planted; fleets with a false alarm, with odd cards and without."""
    told, alarms = [], [0, 0]
    for seed in range(fleets):
        one = made(cards, seed, odd)
        found = found_in(one)
        named = set(zip(found["card"], found["resource"], strict=True))
        told += [(size, r, (place, r) in named) for place, (r, size) in one.odd.items()]
        planted_ones = {(place, r) for place, (r, _) in one.odd.items()}
        alarms[0] += bool({each for each in named if each[0] >= 0} - planted_ones)
        alarms[1] += len(found_in(made(cards, 1000 + seed))) > 0
    return pd.DataFrame(told, columns=["size", "resource", "found"]), *alarms


def example() -> int:
    """A rack whose clock is 2 % lower, and a card with 3 % less of DRAM."""
    warm = {place: ("clock", 0.02) for place in range(64, 128)}
    with tempfile.TemporaryDirectory() as room:
        top = write(made(256, 1, {5: ("DRAM", 0.03)} | warm), Path(room) / "burn-in")
        return fleet.main(["check", str(top), "--labels", f"{top}-racks.csv"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Seconds, memory and finds of `occbench fleet check`.")
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, nargs="?", help="for gigabytes of made-up folders"
    )
    parser.add_argument("--example", action="store_true", help="what it says of 64 cards, one of them odd")
    parser.add_argument("--cards", type=int, nargs="+", default=[1000, 3000, 10_000])
    parser.add_argument("--fleets", type=int, default=20)
    parser.add_argument("--odd", type=int, default=20)
    options = parser.parse_args()
    if options.example or not options.folder:
        return example()
    print(f"spread of {len(spread()['cards'])} cards:", *spread()["cards"], sep="\n  ")
    for cards in options.cards:
        top = options.folder / f"fleet-{cards}"
        write(made(cards, cards, options.odd), top)
        os.sync()
        words = ["taskset", "-c", "0,1", sys.executable, "-P", "-m", "occbench_fleet", "check"]
        seconds, busy, memory, code = timed([*words, str(top)])
        print(
            f"{cards:6,} cards: {seconds:5.1f} s, {busy:5.1f} s of processor, {memory:5,.0f} MiB,"
            f" exit {code}", flush=True,
        )  # fmt: skip
        shutil.rmtree(top)
    told, with_odd, without = detection(options.fleets, max(options.cards), options.odd)
    told["found"] = told["found"].astype(int)
    table = told.pivot_table("found", "resource", "size", ["sum", "count"])
    print(
        f"{options.fleets} fleets of {max(options.cards):,} cards, {options.odd} odd ones: found of planted"
    )
    for resource in ODD:
        cells = [f"{table['sum'][s][resource]:.0f}/{table['count'][s][resource]:.0f}" for s in SIZES]
        print(f"  {resource:15}" + "".join(f"{cell:>8}" for cell in cells))
    print(f"  {'less by':15}" + "".join(f"{100 * size:>6.1f} %" for size in SIZES))
    print(f"fleets with a false alarm: {with_odd} of {options.fleets}, without an odd card {without}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
