# SPDX-License-Identifier: Apache-2.0
"""Made-up folders of `occbench attach`: kernels whose times follow laws of their warps."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import made_up  # noqa: F401 - finds the tools
from occbench_tools import NEWEST, validate

FILES = validate.schema()["attach"]
COLUMNS = {name: [c["name"] for c in FILES[name]["columns"]] for name in FILES if name.endswith(".csv")}
GPU = dict(
    name="NVIDIA H100", uuid="GPU-42", compute_capability="9.0", sm_count=132, warp_size=32,
    max_threads_per_sm=2048, max_blocks_per_sm=32, registers_per_sm=65536, smem_per_sm_bytes=233472,
    smem_per_block_optin_bytes=232448, smem_reserved_per_block_bytes=1024,
)  # fmt: skip
ENV = dict(
    schema_version=NEWEST, kind="attach", created_utc="2025-01-31T12:00:00Z", occbench_version="0.2.0",
    git_commit="0123abc", git_dirty=False, build_type="Release", source="measured", gpu=GPU, gpus=[GPU],
    processes=[dict(id="process-1-0", command="python train.py", timing="events", why_events="")],
    program=["python", "train.py"], command_line="occbench attach", options="observe=0;seed=1",
    observe=False, exit_code=0, complaints=[],
)  # fmt: skip
NO_CHANGE = dict(l1_change=0.0, l1_change_low=-0.01, l1_change_high=0.01)
ARMS = (("untouched", 8), ("pinned", 8), ("lower", 6), ("lower", 4), ("lower", 2))


def kernel(
    name: str, time_s: float = 1e-3, launches: int = 100, slope: float = 0, **cells: object
) -> dict[str, Any]:  # fmt: skip
    """One of 8 blocks per SM that takes time_s, and slope / warps more of it with fewer warps."""
    return dict(name=name, time_s=time_s, launches=launches, slope=slope, cells=cells)


NEEDS = kernel(
    "void needs<float>(int*, float)", 2e-3, slope=0.5, verdict="needs occupancy",
    next_step="8 registers fewer", next_blocks_per_sm=9, gain=0.0556, gain_low=0.03, gain_high=0.08,
)  # fmt: skip
FLAT = kernel("flat", verdict="saturated", next_step="2048 B shared memory fewer", next_blocks_per_sm=9,
              gain=0, gain_low=0, gain_high=0.02)  # fmt: skip
FASTER = kernel("faster", 5e-4, slope=-0.2, verdict="faster at lower occupancy")
L1 = kernel("l1", 4e-4, verdict="needs L1", l1_change=0.2, l1_change_low=0.19, l1_change_high=0.21)
FEW = kernel("few", 3e-4, launches=4, verdict="unknown", why="about 20 launches more")
SKIPPED = kernel("sync", 2e-4, verdict="skipped", why="cooperative launch")
PROGRAM = (NEEDS, FLAT, FASTER, L1, FEW, SKIPPED)


def write(
    folder: Path, kernels: tuple[dict[str, Any], ...] = PROGRAM, registers: tuple[dict[str, Any], ...] = (),
    **env: Any,  # noqa: ANN401
) -> Path:  # fmt: skip
    """A folder that `occbench validate` passes, most GPU time first; env goes over ENV, registers: rows."""
    kernels = tuple(sorted(kernels, key=lambda k: -k["time_s"] * k["launches"]))
    total = sum(k["time_s"] * k["launches"] for k in kernels)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    rows["registers.csv"] += registers
    for i, one in enumerate(kernels):
        known = one["cells"]["verdict"] not in ("unknown", "skipped", "")
        timed = 0
        for arm, blocks in ARMS if known else ARMS[:1]:
            times = times_of(one, blocks, arm, 8 if known else min(one["launches"], 8))
            timed += len(times)
            rows["launches.csv"] += [
                dict(process="process-1-0", kernel_id=i, sequence=n, thread=0, arm=arm, blocks_per_sm=blocks,
                     time_s=time, warm_up=0, overlapped=0, drawn=int(known), timed_by="events", sm_count=132)
                for n, time in enumerate(times)
            ]  # fmt: skip
            if known:
                middle = (times[3] + times[4]) / 2
                rows["arms.csv"].append(
                    dict(kernel_id=i, arm=arm, blocks_per_sm=blocks, added_smem_bytes=1024 * (8 - blocks),
                         samples=8, time_median_s=middle, time_ci95_low_s=times[0],
                         time_ci95_high_s=times[7], sm_count=132)
                )  # fmt: skip
        rows["kernels.csv"].append(
            dict(
                kernel_id=i, kernel=one["name"], symbol=one["name"], gpu_uuid="GPU-42", grid_x=4096, grid_y=1,
                grid_z=1, block_x=256, block_y=1, block_z=1, registers_per_thread=32, static_smem_bytes=0,
                dynamic_smem_bytes=0, local_bytes=0, arguments="abc", launches=one["launches"], captured=0,
                timed=timed, overlapped=0, time_mean_s=one["time_s"],
                time_total_s=one["time_s"] * one["launches"],
                gpu_time_share=one["time_s"] * one["launches"] / total, blocks_per_sm=8, occupancy=1,
                limiter="warps", waves=3.9, sm_count=132, **(NO_CHANGE if known else {}),
            ) | one["cells"]
        )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in COLUMNS.items():
        if FILES[name].get("optional") and not rows[name]:
            continue
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows[name])
        write_text(folder, name, text.getvalue())
    (folder / "env.json").write_text(json.dumps(ENV | env, indent=1), encoding="utf-8")
    return folder


def times_of(one: dict[str, Any], blocks: int, arm: str, count: int) -> list[float]:
    """Launches within 0.4 % of the law, ascending."""
    pinned = 0 if arm == "untouched" else one["cells"].get("l1_change", 0)
    time = one["time_s"] * (1 + pinned) * (1 + one["slope"] * (8 / blocks - 1))
    return [time * (1 + 0.001 * (n - (count - 1) / 2)) for n in range(count)]


def write_text(folder: Path, name: str, text: str) -> None:
    """A file of the folder, packed as attach packs it."""
    if name == "launches.csv":
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / name).write_text(text, encoding="utf-8")


def change(folder: Path, name: str, old: str, new: str) -> None:
    """The first `old` of a file becomes `new`."""
    path = folder / name
    text = path.read_text("utf-8") if path.exists() else gzip.decompress(
        path.with_name(f"{name}.gz").read_bytes()).decode()  # fmt: skip
    assert old in text
    write_text(folder, name, text.replace(old, new, 1))


def break_(folder: Path, file: str, old: str, new: str | None) -> None:
    """As change does; all of the file where `old` is empty, which goes where there is no `new`."""
    if old:
        change(folder, file, old, new or "")
    elif new is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(new)
