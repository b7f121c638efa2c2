# SPDX-License-Identifier: Apache-2.0
"""Exact CUDA occupancy of any footprint on any GPU, by the same code as `occbench calc`.

>>> import occbench
>>> occbench.occupancy(device="h200", block_size=256, registers=40)
Occupancy(blocks_per_sm=6, warps_per_sm=48, occupancy=0.75, limiters='registers', status='ok')

Every argument may be an array; then so is every part of the answer. Needs no GPU and no CUDA.
"""

from occbench.binaries import Kernel, inspect
from occbench.files import calc
from occbench.library import Occupancy, devices, occupancy
from occbench.results import read

__all__ = ["Kernel", "Occupancy", "calc", "devices", "inspect", "occupancy", "read"]
__version__ = "0.2.0"
