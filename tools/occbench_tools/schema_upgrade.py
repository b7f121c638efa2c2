# SPDX-License-Identifier: Apache-2.0
"""Files of older schema versions as the newest has them: names, values and columns.

Renames what schema.json says that an entry `was`. Versions before 5 have no columns for the dials that a case
asked for, which its name says, and no `curve`, `form` and `baseline`.
"""

import warnings
from typing import Any

import pandas as pd

from occbench_tools.schema import columns_of_cases, columns_with

SUFFIXES = {
    "asked_resident_blocks": r"\.r(\d+)",
    "asked_ballast_bytes": r"\.s(\d+)",
    "asked_waves": r"\.w(\d+)",
    "asked_grid_size": r"\.g(\d+)",
    "asked_block_s": r"\.t(\d+)us",
}
NUMBER = r"\d+(?:[KM]iB)?"  # in a kernel's name
PLAIN = dict(
    question="",
    dial="warps_per_sm",
    split_by=[],
    scale="rate",
    compares_kernels=False,
    user_kernels=False,
    outside_model=None,
)


def rename_columns(rows: pd.DataFrame, columns: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows under the newest names and values of their columns. columns: entries of schema.json."""
    for column in columns:
        was = column.get("was", {})
        if was.get("name") in rows:
            rows = rows.rename(columns={was["name"]: column["name"]})
        if "values" in was and column["name"] in rows:
            newest = {old: new for new, old in was["values"].items()}
            rows[column["name"]] = rows[column["name"]].replace(newest)
    return rows


class Cases(pd.DataFrame):
    """Rows of cases.csv that are asked for a column by its old name too, and warn of it: for one release."""

    @property
    def _constructor(self) -> type["Cases"]:
        return Cases

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as that of a data frame
        if isinstance(key, str) and key not in self.columns:
            for name, column in columns_of_cases().items():
                if column.get("was", {}).get("name") == key:
                    warnings.warn(f"column {key} is {name} now", FutureWarning, stacklevel=2)
                    key = name
        return super().__getitem__(key)


def upgrade_cases(cases: pd.DataFrame) -> pd.DataFrame:
    """Rows with all dials, empty where a version lacks one, and with what version 5 added.

    The curve is the variant's name, and the form that name without its numbers.
    """
    if not {"case_id", "variant"} <= set(cases):
        return cases.copy()  # in one piece, which many columns read one by one are not
    if "curve" not in cases:
        cases = add_version_5(cases)
    missing = [name for name in columns_with("dial", "fixed", "curve", "sweep") if name not in cases]
    return cases.reindex(columns=[*cases, *missing]).copy()


def add_version_5(cases: pd.DataFrame) -> pd.DataFrame:
    """Rows of an older version with what a case's name says."""
    dials = cases["case_id"].str.extract(r"(\.b\d+[^b]*)$", expand=False).fillna("")
    more = pd.DataFrame(
        {column: dials.str.extract(mark, expand=False).astype(float) for column, mark in SUFFIXES.items()}
    )
    more["asked_block_s"] /= 1e6
    more["asked_waves"] = more["asked_waves"].fillna(1).mask(more["asked_grid_size"].notna())
    more["baseline"] = float("nan")
    more["form"] = cases["variant"].str.replace(NUMBER, "*", regex=True)
    return pd.concat([cases, more.assign(curve=cases["variant"])], axis=1)


def upgrade_experiments(experiments: object, cases: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """env.json's `experiments` of any version; older ones list names, or none for all that have rows."""
    if isinstance(experiments, dict):
        return {name: PLAIN | entry for name, entry in experiments.items() if isinstance(entry, dict)}
    named = [name for name in experiments if isinstance(name, str)] if isinstance(experiments, list) else []
    return {name: dict(PLAIN) for name in named or sorted(set(cases.get("experiment", [])))}
