# SPDX-License-Identifier: Apache-2.0
"""The columns of results/schema.json as tables, and one row of the committed run, read."""

import csv
import json
from functools import lru_cache
from typing import Any

from occbench_docs import ROOT, DocsError
from occbench_docs.markdown import table
from occbench_docs.runs import run_of

EXAMPLE = "registers.register_pressure.load-live19-maxnreg33.b256"
# What a reader reads first, in this order.
READ = (
    "case_id", "status", "block_size", "grid_size", "registers_per_thread", "local_bytes",
    "warps_per_sm", "limiters", "occupancy_theoretical", "occupancy_textbook",
    "blocks_per_sm", "blocks_per_sm_api", "blocks_per_sm_resident", "occupancy_resident",
    "occupancy_achieved", "samples", "stop_reason", "time_median_s", "time_ci95_low_s", "time_ci95_high_s",
    "throughput", "throughput_unit", "ceiling_kind", "percent_of_ceiling", "per_cycle_per_sm",
    "throughput_predicted", "bound_predicted",
)  # fmt: skip
FILLED = {
    "valid": "in valid rows",
    "measured": "in valid, measured rows",
    "counted": "in valid, measured rows of the suite's kernels",
    "not valid": "unless valid",
}


@lru_cache(maxsize=1)
def files() -> dict[str, Any]:
    """The files of a run, and as attach/NAME those of `occbench attach`."""
    schema = json.loads((ROOT / "results" / "schema.json").read_text(encoding="utf-8"))
    return schema["files"] | {f"attach/{name}": file for name, file in schema["attach"].items()}


def when_filled(column: dict[str, Any]) -> str:
    if not column["nullable"]:
        return "always"
    return FILLED[column["required_when"]] if "required_when" in column else "where it applies"


def meaning(column: dict[str, Any]) -> str:
    """Its text, and its allowed values if the text does not name them."""
    allowed = [str(value) for value in column.get("allowed", []) if column["type"] == "string"]
    if not allowed or all(value in column["doc"] for value in allowed):
        return column["doc"]
    return f"{column['doc']} One of {', '.join(f'`{value}`' for value in allowed)}."


def columns(file: str) -> str:
    """The columns of a CSV file, in its order."""
    if file not in files() or "columns" not in files()[file]:
        raise DocsError(f"results/schema.json has no columns of {file}")
    return table(
        ["column", "unit", "filled", "meaning"],
        [
            [f"`{column['name']}`", column["unit"] or column["type"], when_filled(column), meaning(column)]
            for column in files()[file]["columns"]
        ],
    )


def fields() -> str:
    """The fields of env.json; those of its objects by their path."""

    def lines(some: list[dict[str, Any]], prefix: str = "") -> list[list[str]]:
        return [
            line
            for field in some
            for line in [
                [
                    f"`{prefix}{field['name']}`",
                    field["unit"] or field["type"],
                    field["doc"] + (" May be null." if field["nullable"] else ""),
                ],
                *lines(field.get("fields", []), f"{prefix}{field['name']}."),
            ]
        ]

    return table(["field", "unit", "meaning"], lines(files()["env.json"]["fields"]))


def example() -> str:
    """One row as it stands in the run's cases.csv: its main columns."""
    run = run_of()
    with (run.folder / "cases.csv").open(encoding="utf-8", newline="") as file:
        row = next((row for row in csv.DictReader(file) if row["case_id"] == EXAMPLE), None)
    if row is None:
        raise DocsError(f"no case {EXAMPLE} in {run.name}")
    about = {column["name"]: column for column in files()["cases.csv"]["columns"]}
    return table(
        ["column", "this row", "unit", "meaning"],
        [
            [f"`{name}`", f"`{row[name]}`", about[name]["unit"], meaning(about[name])]
            for name in READ
            if row[name]
        ],
    )
