# SPDX-License-Identifier: Apache-2.0
# Which kernels of a binary lose occupancy to their registers: the example of docs/python.md.
import occbench

for kernel in occbench.inspect("tests/samples/inspect.cubin"):
    found = occbench.occupancy(kernel.device, block_size=256, registers=kernel.registers)
    if found.occupancy < 1:
        print(f"{kernel.name}: {kernel.registers} registers, {found.occupancy:.1%}, stack {kernel.stack} B")
