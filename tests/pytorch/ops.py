# SPDX-License-Identifier: Apache-2.0
"""PyTorch operations one after another, each in an NVTX range of its name: what is occupancy worth to which?

    occbench attach --by-range --budget 300% -- python ops.py all 160
    occbench attach -- python ops.py stack_last,gemv 800

It prints a hash of what they computed. Takes 40 GB of GPU memory for all.
"""

from __future__ import annotations

import hashlib
import sys
import time
from functools import cache

import torch
import torch.nn.functional as F

torch.manual_seed(0)


@cache
def data(name: str) -> torch.Tensor:
    """Made when it is first asked for."""
    return DATA[name]()


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def below(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, device="cuda")


def zeros(rows: int) -> torch.Tensor:
    return torch.zeros(rows, 64, device="cuda")


def rotated(x: torch.Tensor) -> torch.Tensor:
    """As rotary embeddings turn pairs."""
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * 0.5 - b * 0.25, a * 0.25 + b * 0.5], -1)


BF16 = torch.bfloat16
DATA = {
    "sq": lambda: random(8192, 8192),
    "sqh": lambda: random(8192, 8192).to(BF16),
    "tall": lambda: random(1 << 22, 16),
    "odd": lambda: random(8190, 8190),
    "big": lambda: random(1 << 26),
    "table": lambda: random(1 << 20, 64),
    "wide": lambda: random(1 << 16, 1024),
    "idx": lambda: below(1 << 20, 1 << 20),
    "idxw": lambda: below(1 << 16, 1 << 16),
    "img": lambda: random(32, 64, 128, 128),
    "imgc": lambda: random(32, 64, 128, 128).to(memory_format=torch.channels_last),
    "vid": lambda: random(8, 16, 32, 64, 64),
    "seq": lambda: random(16, 1024, 16, 64),
    "seqh": lambda: random(32, 1024, 16, 64).to(BF16),
    "sp": lambda: below(1 << 26, 1 << 24),
    "sml": lambda: random(2048, 2048),
    "i_cols": lambda: below(8192, 8192, 4096),
    "i_rows": lambda: below(8192, 4096, 8192),
    "vocab": lambda: random(2048, 32000),
    "grid": lambda: torch.rand(32, 128, 128, 2, device="cuda") * 2 - 1,
    "cols": lambda: F.unfold(data("img")[:8], 3, padding=1),
    "dw": lambda: random(64, 1, 3, 3),
    "dw7": lambda: random(64, 1, 7, 7),
    "cd": lambda: random(4096, 64),
    "dbl": lambda: random(1 << 25, dtype=torch.float64),
    "row": lambda: random(8192),
    "b8": lambda: random(1 << 15, 32, 32),
    "tgt": lambda: below(32000, 2048),
}
OPERATIONS = {
    "transpose": lambda: data("sq").t().contiguous(),
    "transpose_bf16": lambda: data("sqh").t().contiguous(),
    "transpose_odd": lambda: data("odd").t().contiguous(),
    "transpose_small": lambda: data("sml").t().contiguous(),
    "transpose_tall": lambda: data("tall").t().contiguous(),
    "permute_heads": lambda: data("seq").permute(0, 2, 1, 3).contiguous(),
    "permute_heads_bf16": lambda: data("seqh").permute(0, 2, 3, 1).contiguous(),
    "to_channels_last": lambda: data("img").contiguous(memory_format=torch.channels_last),
    "from_channels_last": lambda: data("imgc").contiguous(memory_format=torch.contiguous_format),
    "add_transposed": lambda: data("sq") + data("sq").t(),
    "gather_rows": lambda: data("table")[data("idx")],
    "gather_wide": lambda: data("wide")[data("idxw")],
    "embedding": lambda: F.embedding(data("idx"), data("table")),
    "gather_elements": lambda: data("big")[data("sp")],
    "take_along": lambda: torch.gather(data("sq"), 1, data("i_cols")),
    "take_along_rows": lambda: torch.gather(data("sq"), 0, data("i_rows")),
    "scatter_rows": lambda: zeros(1 << 20).scatter_(0, data("idx")[:, None].expand(-1, 64), data("table")),
    "index_add": lambda: zeros(1 << 16).index_add_(0, data("idx") % (1 << 16), data("table")),
    "cumsum_rows": lambda: data("sq").cumsum(1),
    "cumsum_columns": lambda: data("sq").cumsum(0),
    "cumprod_flat": lambda: data("big").cumsum(0),
    "softmax_columns": lambda: data("sq").softmax(0),
    "softmax_rows": lambda: data("sq").softmax(1),
    "softmax_short": lambda: data("tall").softmax(1),
    "log_softmax_vocab": lambda: F.log_softmax(data("vocab"), 1),
    "sum_columns": lambda: data("sq").sum(0),
    "sum_rows": lambda: data("sq").sum(1),
    "sum_all": lambda: data("big").sum(),
    "var_columns": lambda: data("sq").var(0),
    "argmax_rows": lambda: data("sq").argmax(1),
    "argmax_columns": lambda: data("sq").argmax(0),
    "logsumexp_columns": lambda: data("sq").logsumexp(0),
    "norm_middle": lambda: data("vid").norm(dim=2),
    "layer_norm": lambda: F.layer_norm(data("wide"), (1024,)),
    "layer_norm_long": lambda: F.layer_norm(data("sq"), (8192,)),
    "group_norm": lambda: F.group_norm(data("img"), 8),
    "batch_norm": lambda: F.batch_norm(data("img"), None, None, training=True),
    "batch_norm_last": lambda: F.batch_norm(data("imgc"), None, None, training=True),
    "upsample": lambda: F.interpolate(data("img")[:8], scale_factor=2, mode="bilinear"),
    "upsample_bicubic": lambda: F.interpolate(data("img")[:8], scale_factor=2, mode="bicubic"),
    "grid_sample": lambda: F.grid_sample(data("img"), data("grid")),
    "pixel_shuffle": lambda: F.pixel_shuffle(data("img"), 4),
    "unfold": lambda: F.unfold(data("img")[:8], 3, padding=1),
    "fold": lambda: F.fold(data("cols"), (128, 128), 3, padding=1),
    "max_pool": lambda: F.max_pool2d(data("img"), 3, 1, 1),
    "max_pool_last": lambda: F.max_pool2d(data("imgc"), 3, 2, 1),
    "avg_pool": lambda: F.avg_pool2d(data("img"), 3, 1, 1),
    "depthwise": lambda: F.conv2d(data("img"), data("dw"), padding=1, groups=64),
    "depthwise7": lambda: F.conv2d(data("img"), data("dw7"), padding=3, groups=64),
    "roll": lambda: data("sq").roll(7, 0),
    "flip": lambda: data("sq").flip(1),
    "flip_rows": lambda: data("sq").flip(0),
    "cat_columns": lambda: torch.cat([data("sq"), data("sq")], 1),
    "stack_last": lambda: torch.stack([data("big"), data("big")], 1),
    "triu": lambda: data("sq").triu(),
    "where": lambda: torch.where(data("sq") > 0, data("sq"), data("sq") * 2),
    "nonzero": lambda: (data("big") > 2).nonzero(),
    "masked_fill": lambda: data("sq").masked_fill(data("sq") > 0, 0),
    "bincount": lambda: torch.bincount(data("sp") % 1024),
    "histc": lambda: torch.histc(data("big"), 256),
    "sort": lambda: data("big")[: 1 << 22].sort()[0],
    "sort_rows": lambda: data("sq")[:2048].sort(1)[0],
    "topk": lambda: data("sq").topk(8, 1)[0],
    "cdist": lambda: torch.cdist(data("cd"), data("cd"), p=1.0),
    "gelu": lambda: F.gelu(data("sq")),
    "add": lambda: data("sq") + 1.0,
    "add_double": lambda: data("dbl") * 2.0,
    "to_bf16": lambda: data("sq").to(BF16),
    "broadcast_add": lambda: data("sq") + data("row"),
    "broadcast_col": lambda: data("sq") * data("row")[:, None],
    "repeat_interleave": lambda: data("wide").repeat_interleave(2, 0),
    "fft": lambda: torch.fft.rfft(data("sq")[:4096]),
    "fft2": lambda: torch.fft.rfft2(data("sq")[:2048]),
    "outer": lambda: torch.outer(data("row"), data("row")),
    "bmm_small": lambda: torch.bmm(data("b8"), data("b8")),
    "matmul_fp32": lambda: data("sml") @ data("sml"),
    "gemv": lambda: data("sq") @ data("row"),
    "gemv_t": lambda: data("sq").t() @ data("row"),
    "strided_slice": lambda: data("sq")[:, ::2].contiguous(),
    "strided_rows": lambda: data("sq")[::2].contiguous(),
    "cross_entropy": lambda: F.cross_entropy(data("vocab"), data("tgt")),
    "embedding_bag": lambda: F.embedding_bag(data("idx").view(-1, 32), data("table"), mode="sum"),
    "index_put": lambda: zeros(1 << 20).index_put_((data("idx"),), data("table"), accumulate=False),
    "unique_diff": lambda: data("big").diff(),
    "renorm_rows": lambda: data("sq") / data("sq").norm(dim=1, keepdim=True),
    "lerp_t": lambda: torch.lerp(data("sq"), data("sq").t(), 0.5),
    "rope": lambda: rotated(data("seq")),
}
UNORDERED = {"scatter_rows", "index_add", "index_put"}  # sums and stores in whatever order the blocks come


def main() -> None:
    names = list(OPERATIONS) if sys.argv[1] == "all" else sys.argv[1].split(",")
    hash_of_all = hashlib.sha256()
    for name in names:  # what is loaded and tuned at first
        OPERATIONS[name]()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(int(sys.argv[2])):
        for name in names:
            with torch.cuda.nvtx.range(name):
                OPERATIONS[name]()
    torch.cuda.synchronize()
    print(f"{time.perf_counter() - began:.3f} s", file=sys.stderr)
    for name in names:
        if name not in UNORDERED:
            found = OPERATIONS[name]()
            hash_of_all.update(found.abs().float().sum().cpu().numpy().tobytes())
    print(hash_of_all.hexdigest()[:24])


main()
