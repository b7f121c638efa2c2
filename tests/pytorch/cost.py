# SPDX-License-Identifier: Apache-2.0
"""What `occbench attach` costs a step of PyTorch, in one process where it is on in every second step.

    occbench attach --observe --profiler-api -- python cost.py eager|compiled STEPS [small]
    occbench attach --observe --profiler-api -- torchrun --nproc-per-node 2 cost.py ddp STEPS

Runs of one program lie a tenth apart, which hides what is to be seen. `small` is a layer so small that the
host is the brake. Prints the mean step that is watched over the mean one that is not, less 1, with its 95 %
interval, of each rank. Without `attach` it prints what chance makes of it.
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


def interval(off: np.ndarray, on: np.ndarray) -> tuple[float, float]:
    """Of the ratio of means, less 1, by blocks drawn at random."""
    blocks = min(len(off), len(on)) // BLOCK
    sums = [kind[: blocks * BLOCK].reshape(blocks, BLOCK).sum(axis=1) for kind in (off, on)]
    drawn = np.random.default_rng(1).integers(blocks, size=(DRAWS, blocks))
    low, high = np.quantile(sums[1][drawn].sum(axis=1) / sums[0][drawn].sum(axis=1) - 1, [0.025, 0.975])
    return float(low), float(high)


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
    low, high = interval(off, on)
    print(
        f"{mode}{' small' * is_small} rank {rank}: {1e3 * off.mean():.3f} ms a step, watched "
        f"{100 * (on.mean() / off.mean() - 1):+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})",
        flush=True,
    )
    if mode == "ddp":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
