# SPDX-License-Identifier: Apache-2.0
"""The bound of a case by its hardware counters: for `occbench predictions --bounds`.

Utilisations are percent of the unit's peak over the whole launch; bounds_of() takes the bound from them:
  issue          issue slots
  pipe           the busiest of ALU, FMA (its heavy half alone, too), FP64, tensor and XU pipes
  L1             the busiest of the LSU's requests, its data stage, its banks and its write-back
  shared memory  the same, where more than half of the data stage's wavefronts are of shared memory
  L2             sectors in the tag or the data stage of its slices, or on their way into the SMs.
                 Not lts__throughput: what the L2 asks of DRAM is among its parts
  DRAM           the DRAM
The highest is the bound, with all within 5 points of it: an FMA a cycle fills the issue slots and the pipe
alike. Where none is above 60 %: `tail` if the SMs were active for less than 75 % of the launch, else
`latency`. `register port` goes before all where no unit but issue or pipe is above 60 %, none is above 90 %,
and dispatch stalls take more than half a cycle per instruction and more than each other reason to stall but
the fixed `wait`. No counter is of the register ports: by ncu's manual the dispatcher then holds a ready warp
back for 'other conflicts or events', which we take for the ports. `launch` has no counter and is not
compared.
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from occbench_tools.untrusted_files import read_untrusted

PERCENT = ".avg.pct_of_peak_sustained_elapsed"
WAVEFRONTS = f"l1tex__data_pipe_lsu_wavefronts{PERCENT}"
SHARED_WAVEFRONTS = f"l1tex__data_pipe_lsu_wavefronts_mem_shared{PERCENT}"
SM_ACTIVE = f"sm__cycles_active{PERCENT}"
UNITS = {
    bound: [f"{name}{PERCENT}" for name in names.split()]
    for bound, names in {
        "issue": "smsp__issue_active",
        "pipe": """sm__pipe_alu_cycles_active sm__pipe_fma_cycles_active sm__pipe_fmaheavy_cycles_active
            sm__pipe_fp64_cycles_active sm__pipe_tensor_cycles_active sm__inst_executed_pipe_xu""",
        "L1": """l1tex__lsuin_requests l1tex__data_pipe_lsu_wavefronts l1tex__data_bank_reads
            l1tex__data_bank_writes l1tex__lsu_writeback_active""",
        "L2": "lts__t_sectors lts__d_sectors l1tex__m_xbar2l1tex_read_sectors",
        "DRAM": "dram__throughput",
    }.items()
}
DISPATCH, *OTHER_STALLS = (
    f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
    for reason in ("dispatch_stall", "long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle",
                   "mio_throttle", "lg_throttle")
)  # fmt: skip
METRICS = ["gpu__time_duration.sum", SM_ACTIVE, *(name for names in UNITS.values() for name in names),
           SHARED_WAVEFRONTS, DISPATCH, *OTHER_STALLS]  # fmt: skip
CELLS = dict.fromkeys(METRICS, str) | {"case_id": "string"}  # types that no cell decides
LEAST, TIE, FULL, IDLE = 60, 5, 90, 75  # percent


def bounds_of(row: Mapping[str, float]) -> list[str]:
    """The bounds that one case's counters name, the highest first; see above. NaN: not on this GPU."""

    def value(name: str) -> float:
        return 0 if pd.isna(row[name]) else row[name]

    levels = {bound: max(map(value, names)) for bound, names in UNITS.items()}
    if value(SHARED_WAVEFRONTS) > value(WAVEFRONTS) / 2:
        levels["shared memory"] = levels.pop("L1")
    high = sorted((bound for bound in levels if levels[bound] > LEAST), key=lambda bound: -levels[bound])
    top = max(levels.values())
    stalled = value(DISPATCH) > max(0.5, *map(value, OTHER_STALLS))
    if stalled and top < FULL and set(high) <= {"issue", "pipe"}:
        return ["register port"]
    if not high:
        return ["tail" if value(SM_ACTIVE) < IDLE else "latency"]
    return [bound for bound in high if levels[bound] > top - TIE]


def read_counters(path: Path) -> pd.DataFrame:
    """A counters.csv of occbench profile. Raises OSError, and ValueError where it is another's."""
    try:
        counters = pd.read_csv(io.BytesIO(read_untrusted(path)), dtype=CELLS)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty; occbench profile writes such a file") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} is not a CSV: {error}") from None
    if lacking := [name for name in ("case_id", *METRICS) if name not in counters]:
        raise ValueError(f"{path} has no column {lacking[0]}; occbench profile writes it")
    numbers = counters[METRICS].apply(pd.to_numeric, errors="coerce")
    if (np.isinf(numbers) | (numbers.isna() & counters[METRICS].notna())).any(axis=None):
        raise ValueError(f"{path}: not a number everywhere")
    counters[METRICS] = numbers
    if (twice := counters["case_id"].duplicated()).any():
        raise ValueError(f"{path}: {counters['case_id'][twice].iloc[0]} stands there twice")
    for names in ([SM_ACTIVE], *UNITS.values()):  # a GPU may lack some of a unit's metrics, not all
        if (dark := counters[names].isna().all(axis=1)).any():
            raise ValueError(f"{path}: {counters['case_id'][dark].iloc[0]} has no {names[0]}")
    return counters
