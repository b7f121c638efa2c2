# SPDX-License-Identifier: Apache-2.0
"""Steps of a model, forward, backward and SGD, by deterministic settings: python train.py MODE STEPS [fp32]

MODE is eager, compiled or graph, of a transformer layer, or resnet, of nine blocks. Prints a hash of loss,
parameters and gradients, and its times to stderr. docs/attach.md has what `occbench attach` says of it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA begins

import torch
from torch import nn

CHUNK = 20  # steps that are timed together


class Block(nn.Module):
    """Two convolutions and what goes around them."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])
        same = channels_in == channels and stride == 1
        self.around = nn.Identity() if same else nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.around(x))


def made(mode: str) -> tuple[nn.Module, torch.Tensor]:
    """The model and its input."""
    if mode != "resnet":
        layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
        return layer.cuda(), torch.randn(8, 512, 1024, device="cuda")
    widths = [3, 64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Block(before, after, 2 if after > before > 3 else 1) for before, after in pairwise(widths)]
    return nn.Sequential(*blocks).cuda(), torch.randn(64, 3, 64, 64, device="cuda")


def captured(step: Callable[[], torch.Tensor]) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    """The step as a CUDA graph, and where its loss will be."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def main() -> None:
    mode, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "fp32" not in sys.argv
    for disable in ("flash", "mem_efficient", "cudnn"):  # the attention of plain products is deterministic
        getattr(torch.backends.cuda, f"enable_{disable}_sdp")(False)
    model, x = made(mode)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    run = torch.compile(model) if mode == "compiled" else model

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=mode != "graph")
        loss = run(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    graph, loss = captured(step) if mode == "graph" else (None, step())
    torch.cuda.synchronize()
    began = time.perf_counter()
    chunks = []
    for first in range(0, steps, CHUNK):
        chunk_began = time.perf_counter()
        for _ in range(first, min(first + CHUNK, steps)):
            if graph:
                graph.replay()
            else:
                loss = step()
        torch.cuda.synchronize()
        chunks.append(1e3 * (time.perf_counter() - chunk_began) / min(CHUNK, steps - first))
    wall = time.perf_counter() - began
    found = hashlib.sha256(loss.detach().cpu().numpy().tobytes())
    for parameter in model.parameters():
        for tensor in (parameter.detach(), parameter.grad):
            found.update(tensor.cpu().numpy().tobytes())
    print(mode, steps, found.hexdigest()[:24])
    late = sorted(chunks[len(chunks) // 2 :])
    print(
        f"{mode}: {wall:.3f} s, first chunk {chunks[0]:.3f} ms a step, late ones {late[len(late) // 2]:.4f}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
