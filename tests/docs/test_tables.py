# SPDX-License-Identifier: Apache-2.0
"""Tables that compare cases: launches do unequal work, so their throughput is compared, not their time."""

from __future__ import annotations

import pytest
from occbench_docs.runs import percent, run_of
from occbench_docs.tables import TABLES


@pytest.mark.parametrize(
    ("name", "experiment", "slow", "fast", "line", "form"),
    [
        ("warp-roles", "warp_roles", "wgmma-roles-168-168", "wgmma-roles-40-232", "168/168", "share"),
        ("smem-spilling", "smem_spilling", "smem-spilling-update-live64-hot16-maxnreg32",
         "update-live64-hot16-maxnreg32", "outside the loop | `__maxnreg__`, 32", "change"),
    ],
)  # fmt: skip
def test_unequal_work(name: str, experiment: str, slow: str, fast: str, line: str, form: str) -> None:
    rows = run_of().rows(experiment, "asked_resident_blocks.isna()").set_index("variant")
    ratio = rows.at[slow, "throughput"] / rows.at[fast, "throughput"]
    work = rows.loc[[slow, fast], "flop_per_launch"]
    assert work[slow] < 0.9 * work[fast]
    (found,) = [text for text in TABLES[name]().splitlines() if text.startswith(f"| {line} ")]
    assert (percent(ratio) if form == "share" else f"{100 * (ratio - 1):+.1f} %") in found
