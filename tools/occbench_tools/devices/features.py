# SPDX-License-Identifier: Apache-2.0
"""Features of a case or kernel on the old device, from which its speed-up is predicted."""

from typing import Any

import numpy as np
import pandas as pd

SMEM_RESERVED, L1_BYTES = 1024, 256 * 1024  # per block, and of an SM with its shared memory (Hopper)
# Features that a profile may have too, with the same meaning; `dram` is required.
SHARED = (
    "dram", "issue", "fma", "tensor", "occupancy", "achieved", "registers", "grid", "starts", "local_bytes",
)  # fmt: skip
MODELLED = ("latency", "issue", "pipe", "register port", "L1", "shared memory", "L2", "DRAM", "tail")
OWN_LEVEL = ("l1", "shared_memory")  # ceilings whose bytes_per_launch are not DRAM's


def start_rate(blocks: pd.Series, seconds: pd.Series, sms: int) -> pd.Series:
    """Blocks that start on an SM per second (log scale): a limit that no faster memory lifts."""
    return np.log2(blocks / seconds / sms)


def of_rows(rows: pd.DataFrame, gpu: dict[str, Any]) -> pd.DataFrame:
    """One row per case of cases.csv, of a run on `gpu` (env.json's): SHARED, then those of rows alone.

    Absent values are 0: no spill, no working set, no counter.
    """
    sms, l2 = gpu.get("sm_count") or 1, gpu.get("l2_bytes") or np.inf
    peak = gpu.get("dram_bytes_per_s_theoretical") or np.nan
    threads = 32 * rows["warps_per_sm"]
    own_level = rows["ceiling_kind"].isin(OWN_LEVEL)
    share = rows["percent_of_ceiling"] / 100
    features = pd.DataFrame(index=rows.index)
    # By counters where the run has them, as in a profile: they include spills and exclude cache hits.
    moved = rows["dram_read_bytes"] + rows["dram_write_bytes"]
    moved = moved.fillna(rows["bytes_per_launch"].mask(own_level, 0))
    features["dram"] = (moved / rows["time_median_s"] / peak).clip(0, 1.2)
    features["issue"], features["fma"], features["tensor"] = (
        rows[f"{name}_active"] for name in ("issue", "fma", "tensor")
    )
    features["occupancy"] = rows["occupancy_theoretical"]
    features["achieved"] = rows["occupancy_achieved"].fillna(rows["occupancy_theoretical"])
    features["registers"] = rows["registers_per_thread"]
    features["grid"] = (rows["grid_size"] / sms).clip(upper=1)
    features["starts"] = start_rate(rows["grid_size"], rows["time_median_s"], sms)
    features["waves"] = np.log2(rows["waves"])
    features["local_bytes"] = np.log1p(rows["local_bytes"])
    # Spills: the bytes of all resident threads, relative to the room in L1 and L2, and how often they move.
    spilled = rows["local_bytes"] * threads
    shared = rows["blocks_per_sm"] * (rows["dynamic_smem_bytes"] + rows["static_smem_bytes"] + SMEM_RESERVED)
    l1 = (L1_BYTES - shared).clip(lower=8192)
    iteration_s = rows["cycles_per_iteration"] / rows["sm_clock_hz"]
    features["spill_in_l1"], features["spill_in_l2"] = (
        np.log1p(10 * spilled / l1),
        np.log1p(10 * spilled * sms / l2),
    )
    features["spill_rate"] = np.log1p(10 * (spilled * sms / iteration_s / peak).clip(upper=100))
    # A chain through memory has one set for the device; otherwise each block has its own.
    bytes_held = rows["working_set_bytes"].fillna(0)
    per_sm = (bytes_held / sms).where(bytes_held > 1e6, bytes_held * rows["blocks_per_sm"])
    features["set_in_l1"], features["set_in_l2"] = (
        np.log1p(10 * per_sm / l1),
        np.log1p(10 * per_sm * sms / l2),
    )
    features["share"] = share
    features["own_level"] = share.where(own_level, 0)
    features["warps"] = np.log2(rows["warps_per_sm"])
    loads = threads * rows["ilp"].fillna(1) * rows["bytes_per_access"].fillna(4)
    pipelines = rows["warps_per_sm"].where(rows["experiment"] != "tensor_core", rows["blocks_per_sm"])
    in_flight = (rows["bytes_in_flight"] * pipelines).fillna(loads)
    features["in_flight"] = np.log2(in_flight)
    # Little's law: how long a byte would be in flight; and DRAM's bytes per FLOP.
    rate = (rows["bytes_per_launch"] / rows["time_median_s"] / sms).mask(own_level)
    features["wait"] = np.log2((in_flight / rate.where(rate > 0)).fillna(0).clip(1e-9, 1e-3))
    features["bytes_per_flop"] = np.log2(
        (rows["bytes_per_launch"].fillna(0) + 1) / (rows["flop_per_launch"].fillna(0) + 1)
    )
    features["iteration_cycles"] = np.log2(rows["cycles_per_iteration"])
    # The model of the old device: the case's bound, and how far the measurement is from the prediction.
    predicted = rows.get("throughput_predicted", pd.Series(np.nan, rows.index))
    features["off_model"] = np.log(rows["throughput"] / predicted).clip(-0.5, 0.5)
    features["dram_predicted"] = (predicted / rows["ceiling"]).where(rows["ceiling_kind"] == "dram")
    for bound in MODELLED:
        features[f"bound_{bound}"] = (rows.get("bound_predicted") == bound) * 1.0
    return features.astype(float).replace([np.inf, -np.inf], np.nan).fillna(0)
