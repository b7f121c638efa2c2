# SPDX-License-Identifier: Apache-2.0
"""Pairs the cases of two runs: by name, else by the requested dials."""

import pandas as pd

from occbench_tools.schema import columns_with

# The dials an experiment requests on any device. Bytes of ballast, grid sizes and carve-outs are not among
# them: they follow from a device's limits and the wanted warps or waves.
ADDED_BY_TRIES = {"carveout_percent", "working_set_bytes"}  # are in TRIES
BY_VARIANT = {"form", "idle_values", "barriers"}  # follow from the variant, and older files lack them
DIALS = [name for name in columns_with("dial", "fixed", "curve") if name not in ADDED_BY_TRIES | BY_VARIANT]
ASKED = ["experiment", "family", "variant", *DIALS]
# Each try is coarser than the one before, and sees only the cases that are still unpaired.
TRIES = {
    "dials, warps, waves, carve-out": ["warps_per_sm", "waves", "working_set_bytes", "carveout_percent"],
    "dials, warps, waves": ["warps_per_sm", "waves", "working_set_bytes"],
    "dials, occupancy, waves": ["occupancy_theoretical", "waves", "working_set_bytes"],
    "dials, waves": ["waves", "working_set_bytes"],
}


def round_dials(cases: pd.DataFrame) -> pd.DataFrame:
    """The rows with dials rounded so that two devices share them: 1.0076 and 1.0093 waves are equal."""
    waves = cases["waves"].round(2).where(cases["waves"] < 2, cases["waves"].round(1))
    return cases.assign(
        waves=waves, occupancy_theoretical=cases["occupancy_theoretical"].round(3)
    ).sort_values("dynamic_smem_bytes", kind="stable")


def align(base: pd.DataFrame, other: pd.DataFrame, alike: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs (base_case_id, case_id, aligned_by), and the cases without a partner (side, case_id, why).

    Of two sets of valid rows. alike: of one kind of device, where equal names suffice; between kinds, the
    bytes in a name may leave other warps, so that warps must be equal too. Of cases of one side that share
    all dials, the one with least ballast is paired if their warps and carve-out are the same too; else none.
    """
    by_name = ["case_id"] if alike else ["case_id", "warps_per_sm"]
    left, right = round_dials(base), round_dials(other)
    pairs = []
    for name, more in {"case_id": by_name, **TRIES}.items():
        key = more if name == "case_id" else [*ASKED, *more]
        keep = "first" if "carveout_percent" in key else False
        ours, theirs = (side[~side.duplicated(key, keep=keep)] for side in (left, right))
        ours = ours.rename(columns={"case_id": "base_case_id"}).assign(case_id=ours["case_id"])
        columns = list(dict.fromkeys(["case_id", *key]))
        found = ours[["base_case_id", *key]].merge(theirs[columns], on=key)
        pairs.append(found[["base_case_id", "case_id"]].assign(aligned_by=name))
        left = left[~left["case_id"].isin(found["base_case_id"])]
        right = right[~right["case_id"].isin(found["case_id"])]
    unpaired = [
        rows[["case_id"]].assign(side=side, why=why_unpaired(rows, others))
        for side, rows, others in (("base", left, other), ("candidate", right, base))
    ]
    whole = pd.concat(pairs, ignore_index=True)
    order = pd.Series(range(len(base)), base["case_id"])
    return whole.iloc[whole["base_case_id"].map(order).argsort()].reset_index(drop=True), pd.concat(
        unpaired, ignore_index=True
    )


def why_unpaired(rows: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """The reason why each of these rows has no partner."""
    reasons = pd.Series("other values of the dials", rows.index)
    twins = rows.duplicated([*ASKED, "waves", "working_set_bytes"], keep=False)
    reasons[twins] = "several cases share its dials"
    kernels = pd.MultiIndex.from_frame(others[["experiment", "family", "variant"]])
    reasons[~pd.MultiIndex.from_frame(rows[["experiment", "family", "variant"]]).isin(kernels)] = (
        "no such kernel"
    )
    reasons[~rows["experiment"].isin(others["experiment"])] = "no such experiment"
    return reasons
