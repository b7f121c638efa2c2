# SPDX-License-Identifier: Apache-2.0
"""What `occbench attach` costs a step of PyTorch, in one process where it is on in every second step.

    occbench attach --observe --profiler-api -- python cost.py eager|compiled STEPS [small]
    occbench attach --observe --profiler-api -- torchrun --nproc-per-node 2 cost.py ddp STEPS

Runs of one program lie a tenth apart, which hides what is to be seen. `small` is a layer so small that the
host is the bottleneck. Prints the mean step that is watched over the mean one that is not, less 1, and the
same of medians, which a busy host moves less; with 95 % intervals, of each rank. Without `attach` it prints
what chance makes of it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import numpy as np

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA begins
import torch
from torch import nn
from train import made

FIRST = 20  # steps before any is timed
BLOCK = 20  # steps of each kind that are drawn together: neighbours are alike
DRAWS = 2000


def watched_s(step: Callable[[], None], steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the steps that are not watched, and of those that are, in order."""
    profiler = torch.cuda.cudart()
    seconds: tuple[list[float], list[float]] = ([], [])
    for n in range(steps):
        is_on = (n ^ n >> 1) & 1  # 0 1 1 0: a drift is in both
        if is_on:
            profiler.cudaProfilerStart()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        seconds[is_on].append(time.perf_counter() - began)
        if is_on:
            profiler.cudaProfilerStop()
    return np.array(seconds[0]), np.array(seconds[1])


def change(off: np.ndarray, on: np.ndarray, middle: Callable[..., np.ndarray]) -> str:
    """Of the `middle` of them, in percent; its interval by blocks drawn at random."""
    blocks = min(len(off), len(on)) // BLOCK
    drawn = np.random.default_rng(1).integers(blocks, size=(DRAWS, blocks))
    both = [kind[: blocks * BLOCK].reshape(blocks, BLOCK)[drawn].reshape(DRAWS, -1) for kind in (off, on)]
    low, high = np.quantile(middle(both[1], axis=1) / middle(both[0], axis=1) - 1, [0.025, 0.975])
    return f"{100 * (middle(on) / middle(off) - 1):+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})"


def main() -> None:
    mode, steps, is_small = sys.argv[1], int(sys.argv[2]), "small" in sys.argv
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    torch.backends.cuda.matmul.allow_tf32 = True
    if is_small:
        model = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True).cuda()
        x = torch.randn(2, 64, 256, device="cuda")
    else:
        model, x = made("eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    run: nn.Module = model
    if mode == "compiled":
        run = torch.compile(model)  # type: ignore[assignment]
    elif mode == "ddp":
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
        run = nn.parallel.DistributedDataParallel(model, device_ids=[rank])

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        run(x).square().mean().backward()
        optimizer.step()

    for _ in range(FIRST):
        step()
    torch.cuda.synchronize()
    off, on = watched_s(step, steps)
    print(
        f"{mode}{' small' * is_small} rank {rank}: {1e3 * off.mean():.3f} ms a step, watched "
        f"{change(off, on, np.mean)}, by medians {change(off, on, np.median)}",
        flush=True,
    )
    if mode == "ddp":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
