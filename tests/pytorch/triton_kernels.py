# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ANN001, ANN201 -- Triton annotates what is constant
"""Triton kernels of programs.py: a softmax by rows, and a matrix product of a block per tile or per SM."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(y, x, stride, n, block: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, block)
    values = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    exponents = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * stride + column, exponents / tl.sum(exponents, 0), mask=column < n)


@triton.jit
def matmul(
    a, b, c, m, n, k, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr, blocks: tl.constexpr
):
    for tile in range(tl.program_id(0), tl.cdiv(m, tile_m) * tl.cdiv(n, tile_n), blocks):
        rows = tile % tl.cdiv(m, tile_m) * tile_m + tl.arange(0, tile_m)
        columns = tile // tl.cdiv(m, tile_m) * tile_n + tl.arange(0, tile_n)
        inner = tl.arange(0, tile_k)
        sums = tl.zeros((tile_m, tile_n), tl.float32)
        for at in range(0, k, tile_k):
            left = tl.load(a + rows[:, None] * k + (at + inner)[None, :])
            right = tl.load(b + (at + inner)[:, None] * n + columns[None, :])
            sums = tl.dot(left, right, sums)
        tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16))


def step(name: str) -> Callable[[], torch.Tensor]:
    if name == "softmax":
        x = torch.randn(8192, 4096, device="cuda")
        y = torch.empty_like(x)

        def launch() -> torch.Tensor:
            softmax[(8192,)](y, x, 4096, 4096, block=4096, num_warps=8)
            return y

        return launch
    n = 4096
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.half) for _ in range(2))
    c = torch.empty_like(a)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    blocks = sms if name == "persistent" else (n // 128) ** 2

    def launch() -> torch.Tensor:
        matmul[(blocks,)](
            a, b, c, n, n, n, tile_m=128, tile_n=128, tile_k=64, blocks=blocks, num_warps=8, num_stages=3
        )
        return c

    return launch
