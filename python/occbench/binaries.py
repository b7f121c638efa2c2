# SPDX-License-Identifier: Apache-2.0
"""Kernels of binaries, by liboccbench.so: what `occbench inspect` reads."""

import ctypes
import json
import os
import warnings
from dataclasses import dataclass

from occbench.library import library


@dataclass(frozen=True)
class Kernel:
    """One kernel for one architecture, as its machine code has it; None is not known. Bytes and threads."""

    name: str  # demangled
    mangled: str
    file: str  # and its member, of an archive: "libx.a(y.o)"
    architecture: str  # "sm_90a"
    registers: int | None  # the least, where `is_linked` is false
    static_smem: int | None  # None before the device linker ran
    dynamic_smem: int | None  # where a file beside the binary says so (Triton)
    stack: int | None
    spill_bytes: int | None  # None beside arrays in local memory
    has_local_array: bool | None
    barriers: int | None
    virtual_resources: int  # of an SM's 128 on cc 10.0 and later, as ptxas notes it with tensor memory
    tensor_columns: int | None  # in the largest allocation; None where a number is not constant
    is_linked: bool  # False before the device linker ran: `-rdc=true`
    least_requested_registers: (
        int  # of setmaxnreg, which moves registers between warps; 0 where it is not used
    )
    most_requested_registers: int
    barrier_id_at_run_time: bool
    block_size: int | None  # of a kernel that has but one
    launch_bound: int | None  # largest block of `__launch_bounds__`
    cluster_size: int | None
    code_bytes: int
    constant_bytes: dict[str, int]  # by the number of the bank

    @property
    def device(self) -> str:
        """For `occupancy()`: "cc9.0" of "sm_90a"."""
        digits = self.architecture.removeprefix("sm_").rstrip("af")
        return f"cc{digits[:-1]}.{digits[-1:]}"


def inspect(path: str | os.PathLike[str]) -> list[Kernel]:
    """Every kernel in a program, library, object, archive, cubin, fatbin, or folder of them; needs no GPU.

    `pandas.DataFrame(occbench.inspect(path))` is a table of them. What of the file cannot be read is warned
    of, and the rest is answered. OSError where the file cannot be opened, ValueError where no kernel can be
    read of it.
    """
    os.stat(path)
    pointer = library().occbench_inspect(os.fsencode(path))
    if not pointer:
        raise MemoryError(f"{os.fspath(path)} has more kernels than there is memory for")
    try:
        answer = json.loads(ctypes.string_at(pointer))
    finally:
        library().occbench_inspect_free(pointer)
    if "error" in answer:
        raise ValueError(answer["error"])
    if not answer["kernels"]:
        raise ValueError(reason(os.fspath(path), answer))
    for complaint in answer["complaints"]:
        warnings.warn(complaint, stacklevel=2)
    return [Kernel(**kernel) for kernel in answer["kernels"]]


def reason(path: str, answer: dict[str, list[str]]) -> str:
    """Why there is no kernel."""
    if answer["complaints"]:
        return answer["complaints"][0]
    if answer["ptx"]:
        return f"'{path}' holds PTX for {', '.join(answer['ptx'])} and no machine code"
    if answer["link_time_code"]:
        return f"'{path}' holds code for the device linker alone; name what it was linked to"
    return f"'{path}' holds no kernel"
