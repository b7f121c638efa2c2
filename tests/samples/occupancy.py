# SPDX-License-Identifier: Apache-2.0
# What a register more costs, and on which GPU: the example of docs/python.md.
import numpy as np
import occbench

print(occbench.occupancy(device="h200", block_size=256, registers=40, dynamic_smem=16 << 10))

registers = np.arange(24, 256)
found = occbench.occupancy("h200", block_size=256, registers=registers)
steps = registers[:-1][np.diff(found.occupancy) < 0]
print("the most registers at each step:", *steps)

gpus = ["a100", "h200", "rtx5090"]
shares = occbench.occupancy(gpus, block_size=1024, registers=33).occupancy
print("1,024 threads with 33 registers:", dict(zip(gpus, shares.round(2).tolist(), strict=True)))
