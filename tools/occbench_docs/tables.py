# SPDX-License-Identifier: Apache-2.0
"""Tables by name: `<!-- generated: table NAME -->`. A CSV file of docs/data needs none: kind csv."""

import csv
import re
import statistics
from collections import Counter
from collections.abc import Callable

from occbench_fleet.spread import spread
from occbench_tools.predictions import errors_of, read_predictions

from occbench_docs import DOCS, DocsError
from occbench_docs.commands import commands
from occbench_docs.experiments import index
from occbench_docs.markdown import table
from occbench_docs.runs import Run, percent, rate, run_of, runs
from occbench_docs.schema import example, fields


def rows_of(name: str) -> list[list[str]]:
    """A file of docs/data, its header first."""
    path = DOCS / "data" / name
    if not path.is_file():
        raise DocsError(f"there is no docs/data/{name}")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def runs_table() -> str:
    """The committed runs."""
    return table(
        ["GPU", "folder", "commit", "driver", "toolkit", "cases"],
        [
            [
                run.gpu, f"`{run.name}`", f"`{run.env['git_commit']:.12}`", run.env["gpu"]["driver_version"],
                run.env["cuda_toolkit"], f"{len(run.cases):,}",
            ]
            for run in runs()
        ],
    )  # fmt: skip


def frozen_table() -> str:
    """Errors of the frozen model on kernels it had not seen, and of today's model on the committed run."""
    rows = read_predictions(run_of().folder)
    today = {name: errors_of(part, "error") for name, part in rows.groupby("experiment")}

    def now(family: str) -> list[str]:
        errors = today.get(family.split(",")[0])
        return [f"{100 * errors.mean:.1f} %", f"{100 * errors.worst:+.1f} %"] if errors else ["", ""]

    _, *frozen = rows_of("frozen.csv")
    return table(
        ["frozen at", "kernels", "mean error", "90 % within", "worst", "committed run: mean error", "worst"],
        [[f"`{commit}`", family, *errors, *now(family)] for commit, family, *errors in frozen],
    )


def probes_table() -> str:
    """Figures whose runs were not kept."""
    head, *rows = rows_of("probes.csv")
    return table(head, [[*cells, f"`{commit}`"] for *cells, commit in rows])


def fleet_spread_table() -> str:
    """How far good cards lie apart: what `fleet check` starts from."""
    known = spread()
    with (DOCS.parent / "benchmarks/burn_in.csv").open(encoding="utf-8", newline="") as file:
        cases = Counter(row["resource"] for row in csv.DictReader(file))
    rows = [
        [name, *(f"{100 * spreads[one]:.2f} %" for one in ("cards", "reruns")), str(cases[name])]
        for name, spreads in known["resources"].items()
    ]
    cards = Counter(card.rpartition(" ")[0] for card in known["cards"])
    of = " and ".join(f"{count} {name}" for name, count in cards.items())
    head = ["resource", f"spread between cards, {of}", "spread between runs", "burn-in cases"]
    return table(head, rows)


FACT = re.compile(r'^ *{"(\w+)", ([0-9.]+), "([^"]*)",', re.MULTILINE)


def facts_table() -> str:
    """Facts as probes measured them, next to the model's values."""
    held = {
        name: (value, unit)
        for name, value, unit in FACT.findall(
            (DOCS.parent / "harness/theory/hardware.hpp").read_text(encoding="utf-8")
        )
    }
    _, *rows = rows_of("facts.csv")
    found = {(name, gpu): f"{value} ({low} to {high})" for name, gpu, _, value, low, high in rows}
    gpus = list(dict.fromkeys(row[1] for row in rows))
    return table(
        ["fact", "unit", "model's value", *(f"measured on one {gpu}" for gpu in gpus)],
        [
            [f"`{name}`", held[name][1], held[name][0], *(found.get((name, gpu), "") for gpu in gpus)]
            for name in dict.fromkeys(row[0] for row in rows)
        ],
    )


IN_WORDS = {"Hz": (1e6, "MHz"), "byte/s": (1e9, "GB/s"), "s": (1e-9, "ns")}


def cards_table() -> str:
    """Each parameter over the cards on which it was measured, and how far apart the two GPUs are."""
    (_, _, *cards), *rows = rows_of("cards.csv")
    gpus = list(dict.fromkeys(card.split()[0] for card in cards))
    lines = []
    for name, unit, *cells in rows:
        scale, word = IN_WORDS.get(unit, (1, unit))
        of = [
            [
                float(cell) / scale
                for card, cell in zip(cards, cells, strict=True)
                if card.startswith(gpu) and cell
            ]
            for gpu in gpus
        ]
        spans = [f"{min(values):.4g} to {max(values):.4g}" for values in of]
        first, second = (statistics.median(values) for values in of)
        lines.append([f"`{name}`", word, *spans, f"{round(100 * (second / first - 1), 1) + 0:+.1f} %"])
    heads = [f"{gpu}, up to {sum(card.startswith(gpu) for card in cards)} cards" for gpu in gpus]
    return table(["parameter", "unit", *heads, f"{gpus[1]} over {gpus[0]}"], lines)


def gpus() -> dict[str, Run]:
    """The committed runs by the short names of their GPUs: 'H200' of 'NVIDIA H200'."""
    return {run.gpu.split()[1]: run for run in runs()}


def warp_roles_table() -> str:
    """Throughput by the registers of a producer and of the two consumer warpgroups beside it."""
    found = {gpu: run.rows("warp_roles").set_index("register_cap") for gpu, run in gpus().items()}
    lines = []
    for consumer, row in next(iter(found.values())).sort_index(ascending=False).iterrows():
        producer = 3 * row["registers_per_thread"] - 2 * consumer  # what the launch has left of its three
        cells = [f"{producer:.0f}/{consumer:.0f}", f"{row['local_bytes']:.0f} B"]
        for rows in found.values():
            here = rows.loc[consumer]
            part = percent(here["throughput"] / rows["throughput"].max())
            cells.append(f"{rate(here['throughput'], here['throughput_unit'])}, {part}")
        lines.append(cells)
    head = ["producer/consumer registers", "stack per thread", *(f"{gpu}, of its best" for gpu in found)]
    return table(head, lines)


ROUTES = {"launch_bounds": "`__launch_bounds__`", "maxnreg": "`__maxnreg__`"}
SPILLING = ["idle_values", "register_route", "register_cap"]  # what both ways to spill have in common


def smem_spilling_table() -> str:
    """Throughput with spills to shared memory, against the same cap with spills to local memory."""
    pairs = {}
    for gpu, run in gpus().items():
        rows = run.rows("smem_spilling", "asked_resident_blocks.isna()").fillna({"idle_values": 0})
        to_shared = rows["baseline"].notna()
        both = rows[~to_shared].merge(rows[to_shared], on=SPILLING, suffixes=("", "_shared"))
        pairs[gpu] = both.sort_values(SPILLING, ascending=[True, True, False], ignore_index=True)
    lines = []
    for at, row in next(iter(pairs.values())).iterrows():
        changes = [both.loc[at, "throughput_shared"] / both.loc[at, "throughput"] for both in pairs.values()]
        lines.append(
            [
                "outside the loop" if row["idle_values"] else "in the loop",
                f"{ROUTES[row['register_route']]}, {row['register_cap']:.0f}",
                f"{row['local_bytes']:.0f} to {row['local_bytes_shared']:.0f} B",
                f"{row['static_smem_bytes_shared']:,.0f} B",
                f"{row['blocks_per_sm']:.0f} to {row['blocks_per_sm_shared']:.0f}",
                *(f"{100 * (change - 1):+.1f} %" for change in changes),
            ]
        )
    head = ["spills", "cap, registers", "stack per thread", "shared memory per block", "blocks per SM"]
    return table([*head, *(f"throughput: {gpu}" for gpu in pairs)], lines)


TABLES: dict[str, Callable[[], str]] = {
    "cards": cards_table,
    "commands": commands,
    "env.json": fields,
    "example": example,
    "experiments": index,
    "facts": facts_table,
    "fleet-spread": fleet_spread_table,
    "frozen": frozen_table,
    "probes": probes_table,
    "runs": runs_table,
    "smem-spilling": smem_spilling_table,
    "warp-roles": warp_roles_table,
}
