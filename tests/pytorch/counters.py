# SPDX-License-Identifier: Apache-2.0
"""Kernels of PyTorch of 50 us and more, for `attach --counters` beside Nsight Compute.

    python counters.py LAUNCHES [mixed]

Launches each so often, in a row or, mixed, all in turn. Then each once more within an NVTX range `one`, which
ncu's --nvtx-include picks; what ran just before leaves the L2 as it was. See tests/attach_counters.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

DEVICE = "cuda"


def normal(*shape: int, of: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device=DEVICE).to(of)


def element_wise() -> list[Callable[[], Any]]:
    big, half, square = normal(1 << 26), normal(1 << 27, of=torch.half), normal(8192, 8192)
    small = square.half()
    places = torch.randint(0, 1 << 26, (1 << 24,), device=DEVICE)
    return [
        lambda: torch.exp(big), lambda: big + 1, lambda: big * big, lambda: torch.lgamma(big),
        lambda: torch.sin(half), lambda: half + half, lambda: big.double().exp(),
        lambda: functional.gelu(big), lambda: torch.where(big > 0, big, -big), lambda: big.sum(),
        lambda: square.sum(0), lambda: square.max(1), lambda: square.softmax(1), lambda: small.softmax(1),
        lambda: functional.layer_norm(square, (8192,)), lambda: square.t().contiguous(),
        lambda: small.t().contiguous(), lambda: big[places], lambda: big.cumsum(0),
        lambda: square.norm(dim=1),
    ]  # fmt: skip


def products() -> list[Callable[[], Any]]:
    made: list[Callable[[], Any]] = []
    for of, n in ((torch.half, 4096), (torch.bfloat16, 4096), (torch.float32, 2048), (torch.float64, 1024)):
        a, b, wide = normal(n, n, of=of), normal(n, n, of=of), normal(n, 8 * n, of=of)
        p, q, rows = normal(256, 256, 256, of=of), normal(256, 256, 256, of=of), normal(64, n, of=of)
        made += [
            lambda a=a, b=b: a @ b, lambda a=a, b=b: a @ b.t(), lambda a=a, b=b: a.t() @ b,
            lambda rows=rows, wide=wide: rows @ wide, lambda p=p, q=q: torch.bmm(p, q),
        ]  # fmt: skip
    heads = normal(8, 16, 2048, 64, of=torch.half)
    single = normal(8, 16, 1024, 64)
    attention = functional.scaled_dot_product_attention
    return [*made, lambda: attention(heads, heads, heads), lambda: attention(single, single, single)]


def convolutions() -> list[Callable[[], Any]]:
    made: list[Callable[[], Any]] = []
    for of in (torch.half, torch.float32):
        image = normal(32, 128, 56, 56, of=of)
        whole = torch.nn.Conv2d(128, 128, 3, padding=1).to(DEVICE, of)
        by_channel = torch.nn.Conv2d(128, 128, 3, padding=1, groups=128).to(DEVICE, of)
        made += [
            lambda whole=whole, image=image: whole(image),
            lambda each=by_channel, image=image: each(image),
            lambda image=image: functional.batch_norm(image, None, None, training=True),
            lambda image=image: functional.max_pool2d(image, 2),
        ]
    return made


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    work = [*element_wise(), *products(), *convolutions()]
    launches, is_mixed = int(sys.argv[1]), sys.argv[2:] == ["mixed"]
    for n in range(launches * len(work)):
        work[n % len(work) if is_mixed else n // launches]()
    torch.cuda.synchronize()
    for each in work:
        if not is_mixed:
            each()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push("one")
        each()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    main()
