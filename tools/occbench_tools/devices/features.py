# SPDX-License-Identifier: Apache-2.0
"""Features of a case or kernel on the old device, from which its speed-up is predicted."""

from typing import Any

import numpy as np
import pandas as pd

SMEM_RESERVED, L1_BYTES = 1024, 256 * 1024  # per block, and of an SM with its shared memory (Hopper)
# What a profile may say as well, each with the row's own meaning; `dram` must be there.
SHARED = (
    "dram", "issue", "fma", "tensor", "occupancy", "achieved", "registers", "grid", "starts", "local_bytes",
)  # fmt: skip
MODELLED = ("latency", "issue", "pipe", "register port", "L1", "shared memory", "L2", "DRAM", "tail")
OWN_LEVEL = ("l1", "shared_memory")  # ceilings whose bytes_per_launch are not DRAM's


def starts(blocks: pd.Series, seconds: pd.Series, sms: int) -> pd.Series:
    """Blocks that begin on an SM in a second: no GPU starts more, whatever its memory (log scale)."""
    return np.log2(blocks / seconds / sms)


def of_rows(rows: pd.DataFrame, gpu: dict[str, Any]) -> pd.DataFrame:
    """One row per case of cases.csv, of a run on `gpu` (env.json's): SHARED first, then what only a row says.

    What is absent is 0: no spill, no working set, no counter.
    """
    sms, l2 = gpu.get("sm_count") or 1, gpu.get("l2_bytes") or np.inf
    peak = gpu.get("dram_bytes_per_s_theoretical") or np.nan
    threads = 32 * rows["warps_per_sm"]
    own_level = rows["ceiling_kind"].isin(OWN_LEVEL)
    share = rows["percent_of_ceiling"] / 100
    said = pd.DataFrame(index=rows.index)
    # Counted where the run has counters, as a profile's is: spills and what the caches kept are in it.
    moved = rows["dram_read_bytes"] + rows["dram_write_bytes"]
    moved = moved.fillna(rows["bytes_per_launch"].mask(own_level, 0))
    said["dram"] = (moved / rows["time_median_s"] / peak).clip(0, 1.2)
    said["issue"], said["fma"], said["tensor"] = (
        rows[f"{name}_active"] for name in ("issue", "fma", "tensor")
    )
    said["occupancy"] = rows["occupancy_theoretical"]
    said["achieved"] = rows["occupancy_achieved"].fillna(rows["occupancy_theoretical"])
    said["registers"] = rows["registers_per_thread"]
    said["grid"] = (rows["grid_size"] / sms).clip(upper=1)
    said["starts"] = starts(rows["grid_size"], rows["time_median_s"], sms)
    said["waves"] = np.log2(rows["waves"])
    said["local_bytes"] = np.log1p(rows["local_bytes"])
    # Spills: what the resident threads hold of them, against what L1 and L2 can keep, and how often it moves.
    spilled = rows["local_bytes"] * threads
    shared = rows["blocks_per_sm"] * (rows["dynamic_smem_bytes"] + rows["static_smem_bytes"] + SMEM_RESERVED)
    l1 = (L1_BYTES - shared).clip(lower=8192)
    iteration_s = rows["cycles_per_iteration"] / rows["sm_clock_hz"]
    said["spill_in_l1"], said["spill_in_l2"] = np.log1p(10 * spilled / l1), np.log1p(10 * spilled * sms / l2)
    said["spill_rate"] = np.log1p(10 * (spilled * sms / iteration_s / peak).clip(upper=100))
    # Of a chain through memory one set serves the device, else each block has its own.
    held = rows["working_set_bytes"].fillna(0)
    per_sm = (held / sms).where(held > 1e6, held * rows["blocks_per_sm"])
    said["set_in_l1"], said["set_in_l2"] = np.log1p(10 * per_sm / l1), np.log1p(10 * per_sm * sms / l2)
    said["share"] = share
    said["own_level"] = share.where(own_level, 0)
    said["warps"] = np.log2(rows["warps_per_sm"])
    loads = threads * rows["ilp"].fillna(1) * rows["bytes_per_access"].fillna(4)
    pipelines = rows["warps_per_sm"].where(rows["experiment"] != "tensor_core", rows["blocks_per_sm"])
    in_flight = (rows["bytes_in_flight"] * pipelines).fillna(loads)
    said["in_flight"] = np.log2(in_flight)
    # Little's law: how long a byte of them would be under way; and DRAM's bytes per FLOP.
    rate = (rows["bytes_per_launch"] / rows["time_median_s"] / sms).mask(own_level)
    said["wait"] = np.log2((in_flight / rate.where(rate > 0)).fillna(0).clip(1e-9, 1e-3))
    said["bytes_per_flop"] = np.log2(
        (rows["bytes_per_launch"].fillna(0) + 1) / (rows["flop_per_launch"].fillna(0) + 1)
    )
    said["iteration_cycles"] = np.log2(rows["cycles_per_iteration"])
    # What the model says of the old device: what holds the case back, and how far it lies from that.
    predicted = rows.get("throughput_predicted", pd.Series(np.nan, rows.index))
    said["off_model"] = np.log(rows["throughput"] / predicted).clip(-0.5, 0.5)
    said["dram_predicted"] = (predicted / rows["ceiling"]).where(rows["ceiling_kind"] == "dram")
    for bound in MODELLED:
        said[f"bound_{bound}"] = (rows.get("bound_predicted") == bound) * 1.0
    return said.astype(float).replace([np.inf, -np.inf], np.nan).fillna(0)
