# SPDX-License-Identifier: Apache-2.0
"""liboccbench.so by ctypes: arrays in, arrays out."""

import ctypes
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ABI = 4
NAME = "liboccbench.so"
# Bits 0 to 5.
LIMITERS = ("warps", "blocks", "registers", "shared_memory", "barriers", "virtual_resources")
FIELDS = (
    "block_size",
    "registers",
    "static_smem",
    "dynamic_smem",
    "barriers",
    "cluster_size",
    "carveout",
    "max_block_size",
    "grid_size",
    "virtual_resources",
)
GRID = ("waves", "idle_sms", "tail_share", "occupancy_device")
ANSWER = np.dtype(
    [
        ("blocks_per_sm", np.int32),
        ("warps_per_sm", np.int32),
        ("occupancy", np.float64),
        ("limiters", np.uint32),
        *((name, np.float64) for name in GRID),
        ("has_remark", np.int32),
    ],
    align=True,
)


def path_of_library() -> Path:
    """Beside this file, in a wheel; else at OCCBENCH_LIBRARY, or what was built in this source tree last."""
    beside = Path(__file__).with_name(NAME)
    if beside.exists():
        return beside
    if named := os.environ.get("OCCBENCH_LIBRARY"):
        return Path(named)
    built = Path(__file__).resolve().parents[2].glob(f"build/*/harness/c_api/{NAME}")
    found = max(built, key=lambda path: path.stat().st_mtime, default=None)
    if found is None:
        raise ImportError(f"no {NAME}: install the wheel, or build the target occbench_c")
    return found


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    path = path_of_library()
    loaded = ctypes.CDLL(str(path))
    if loaded.occbench_abi() != ABI:
        raise ImportError(f"{path} is of another version (ABI {loaded.occbench_abi()}, not {ABI})")
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    loaded.occbench_occupancy.argtypes = [text, size, pointer, pointer, text, size]
    loaded.occbench_status.argtypes = [text, pointer, text, size]
    loaded.occbench_devices.restype = text
    loaded.occbench_inspect.argtypes = [text]
    loaded.occbench_inspect.restype = pointer
    loaded.occbench_inspect_free.argtypes = [pointer]
    return loaded


def devices() -> list[str]:
    """The names that `device` may have, besides 'ccX.Y'."""
    return library().occbench_devices().decode().split()


def status_of(device: str, launch: np.ndarray) -> str:
    message = ctypes.create_string_buffer(1024)
    library().occbench_status(device.encode(), launch.ctypes.data, message, len(message))
    return message.value.decode()


@lru_cache(maxsize=32)
def limiters_of(bits: int) -> str:
    return "+".join(name for bit, name in enumerate(LIMITERS) if bits >> bit & 1) or "none"


@dataclass(frozen=True, repr=False)
class Occupancy:
    """The occupancy of an SM: numbers, or arrays of the shape of the arguments."""

    blocks_per_sm: Any  # 0 where it cannot launch
    warps_per_sm: Any
    occupancy: Any  # a fraction
    # With a grid on a device whose SMs are known, else NaN:
    waves: Any
    idle_sms: Any  # SMs that get no block
    tail_share: Any  # the largest share of the time that a partial last wave takes
    occupancy_device: Any  # a fraction: the mean over all SMs and waves
    _bits: np.ndarray
    _remarks: np.ndarray
    _launches: np.ndarray
    _devices: np.ndarray

    @cached_property
    def limiters(self) -> Any:  # noqa: ANN401
        """'registers+shared_memory'; an array of such texts."""
        return reshape(
            np.array([limiters_of(int(bits)) for bits in self._bits.flat], dtype=object), self._bits
        )

    @cached_property
    def status(self) -> Any:  # noqa: ANN401
        """'ok', with a remark where one is due, or 'cannot launch: why'; an array of such texts."""
        texts = np.full(self._bits.size, "ok", dtype=object)
        for n in np.flatnonzero(self._remarks):
            texts[n] = status_of(str(self._devices.flat[n]), self._launches[n])
        return reshape(texts, self._bits)

    @property
    def launches(self) -> Any:  # noqa: ANN401
        """Whether it can launch."""
        return self.blocks_per_sm > 0

    def __repr__(self) -> str:
        names = ("blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status")
        if not np.all(np.isnan(self.waves)):
            names += GRID
        return f"Occupancy({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def reshape(flat: np.ndarray, like: np.ndarray) -> Any:  # noqa: ANN401
    """The array in that shape; without dimensions the number or text itself."""
    return flat.reshape(like.shape) if like.ndim else flat[0] if flat.dtype == object else flat[0].item()


def whole_numbers(name: str, values: Any) -> np.ndarray:  # noqa: ANN401
    """The values as 64-bit integers. ValueError where one is not whole."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu" and not (given.dtype.kind == "f" and np.all(given == np.rint(given))):
        raise ValueError(f"{name} wants whole numbers, not {given.dtype}")
    if given.size and int(given.max()) >= 2**63:
        raise ValueError(f"{name} {given.max()} is too large")
    return given.astype(np.int64)


def answers_of(device: str, launches: np.ndarray) -> np.ndarray:
    """An ANSWER per launch on one device. ValueError where the library refuses."""
    answers = np.empty(len(launches), dtype=ANSWER)
    message = ctypes.create_string_buffer(1024)
    code = library().occbench_occupancy(
        device.encode(), len(launches), launches.ctypes.data, answers.ctypes.data, message, len(message)
    )
    if code:
        raise ValueError(message.value.decode())
    return answers


def occupancy(
    device: Any,  # noqa: ANN401
    block_size: Any,  # noqa: ANN401
    registers: Any,  # noqa: ANN401
    static_smem: Any = 0,  # noqa: ANN401
    dynamic_smem: Any = 0,  # noqa: ANN401
    barriers: Any = 1,  # noqa: ANN401
    cluster_size: Any = 1,  # noqa: ANN401
    carveout: Any = -1,  # noqa: ANN401
    max_block_size: Any = 1024,  # noqa: ANN401
    grid_size: Any = 0,  # noqa: ANN401
    virtual_resources: Any = 0,  # noqa: ANN401
) -> Occupancy:
    """How many blocks an SM holds, and what limits them: equal to the CUDA occupancy API on that device.

    `device`: 'h200', 'a100', 'cc9.0'. Threads per block, registers per thread, bytes of shared memory, named
    barriers, blocks per cluster, percent of carve-out (-1: the driver's choice), the kernel's own largest
    block, blocks of the launch (0: unknown), and the virtual resources of a kernel with tensor memory
    (`Kernel.virtual_resources`). Any of them may be an array (NumPy's rules of broadcasting).
    What cannot launch has 0 blocks and says so in `status`. ValueError on an unknown device and on a number
    out of range.
    """
    names = np.asarray(device)
    if names.dtype.kind not in "UO" or not all(isinstance(name, str) for name in names.flat):
        raise ValueError("device wants a name, or an array of names")
    given = (
        block_size,
        registers,
        static_smem,
        dynamic_smem,
        barriers,
        cluster_size,
        carveout,
        max_block_size,
        grid_size,
        virtual_resources,
    )
    columns = np.broadcast_arrays(names, *(whole_numbers(*pair) for pair in zip(FIELDS, given, strict=True)))
    launches = np.stack([column.ravel() for column in columns[1:]], axis=-1)
    launches = np.ascontiguousarray(launches, dtype=np.int64)
    flat_names = columns[0].ravel()
    answers = np.empty(len(launches), dtype=ANSWER)
    for name in dict.fromkeys(map(str, names.flat)):
        mine = slice(None) if names.ndim == 0 else np.flatnonzero(flat_names == name)
        answers[mine] = answers_of(name, np.ascontiguousarray(launches[mine]))
    like = columns[0]
    return Occupancy(
        *(reshape(answers[part], like) for part in ("blocks_per_sm", "warps_per_sm", "occupancy", *GRID)),
        _bits=answers["limiters"].reshape(like.shape),
        _remarks=answers["has_remark"],
        _launches=launches,
        _devices=like,
    )
