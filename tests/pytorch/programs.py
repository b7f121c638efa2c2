# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ANN401 -- modules that one program has and another lacks
"""Programs of today, with fixed seeds: python programs.py NAME STEPS. Prints a hash of the result.

    occbench attach --sms --counters -- python programs.py gpt2-generate 6

NAME is gpt2-generate, gpt2-train (transformers), vit (torchvision), mlp, jax, cupy, or a kernel of Triton:
softmax, matmul, persistent. docs/attach.md has what `occbench attach` judges of them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA begins


def digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def of_torch(made: Callable[[Any], Callable[[], Any]], steps: int) -> str:
    import torch

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    step = made(torch)
    for _ in range(steps):
        out = step()
    return digest(out.detach().float().cpu().numpy())


def trained(torch: Any, loss_of: Callable[[], Any], optimizer: Any) -> Callable[[], Any]:
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def mlp(torch: Any) -> Callable[[], Any]:
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda().bfloat16()
    x = torch.randn(2048, 4096, device="cuda", dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    return trained(torch, lambda: model(x).float().square().mean(), optimizer)


def vit(torch: Any) -> Callable[[], Any]:
    import torchvision

    model = torchvision.models.vit_b_16().cuda().half().eval()
    x = torch.randn(64, 3, 224, 224, device="cuda", dtype=torch.half)
    return torch.no_grad()(lambda: model(x))


def gpt2(torch: Any) -> Any:
    """With random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)).cuda().bfloat16()


def gpt2_train(torch: Any) -> Callable[[], Any]:
    model = gpt2(torch)
    tokens = torch.randint(0, 50257, (8, 512), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    return trained(torch, lambda: model(tokens, labels=tokens).loss, optimizer)


def gpt2_generate(torch: Any) -> Callable[[], Any]:
    model = gpt2(torch).eval()
    tokens = torch.randint(0, 50257, (8, 32), device="cuda")
    settings = {"max_new_tokens": 64, "do_sample": False, "pad_token_id": 0}
    return torch.no_grad()(lambda: model.generate(tokens, attention_mask=torch.ones_like(tokens), **settings))


def of_triton(name: str) -> Callable[[Any], Callable[[], Any]]:
    def made(torch: Any) -> Callable[[], Any]:
        import triton_kernels

        return triton_kernels.step(name)

    return made


def of_jax(steps: int) -> str:
    """Two transformer layers, trained."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    width, heads, batch, length = 1024, 16, 8, 512
    shapes = {"q": 1, "k": 1, "v": 1, "o": 1, "up": 4, "down": 0.25}
    keys = jax.random.split(jax.random.PRNGKey(0), len(shapes) + 1)
    weights = {
        name: jax.random.normal(
            key, (width * 4 if wide < 1 else width, int(width * max(wide, 1))), jnp.bfloat16
        )
        * 0.02
        for key, (name, wide) in zip(keys, shapes.items(), strict=False)
    }
    x = jax.random.normal(keys[-1], (batch, length, width), jnp.bfloat16)

    def normed(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def layer(w: Any, x: Any) -> Any:
        q, k, v = ((normed(x) @ w[n]).reshape(batch, length, heads, width // heads) for n in "qkv")
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8, axis=-1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(batch, length, width) @ w["o"]
        return x + jax.nn.gelu(normed(x) @ w["up"]) @ w["down"]

    @jax.jit
    def step(w: Any) -> Any:
        gradient = jax.grad(lambda w: (layer(w, layer(w, x)).astype(jnp.float32) ** 2).mean())(w)
        return jax.tree.map(lambda a, b: a - 1e-3 * b, w, gradient)

    for _ in range(steps):
        weights = step(weights)
    return digest(np.asarray(weights["o"].astype(jnp.float32)))


BLUR = r"""extern "C" __global__ void blur(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  for (int k = -8; k <= 8; ++k) s += x[min(max(i + k, 0), n - 1)];
  if (i < n) y[i] = s / 17;
}"""


def of_cupy(steps: int) -> str:
    import cupy

    n, part = 1 << 24, 1 << 22
    cupy.random.seed(0)
    a, b = (cupy.random.rand(n, dtype=cupy.float32) for _ in range(2))
    blurred = cupy.empty_like(a)
    blur = cupy.RawKernel(BLUR, "blur")
    for _ in range(steps):
        blur((n // 256,), (256,), (cupy.exp(a) * b + cupy.sin(b), blurred, n))
        ordered = cupy.sort(blurred[:part])
        summed = cupy.cumsum((blurred[:part] * 1000).astype(cupy.int64))
        (blurred * blurred).sum()
    return digest(cupy.asnumpy(ordered), cupy.asnumpy(summed))


def main() -> None:
    name, steps = sys.argv[1], int(sys.argv[2])
    torch_programs = {"mlp": mlp, "vit": vit, "gpt2-train": gpt2_train, "gpt2-generate": gpt2_generate}
    if name == "jax":
        result = of_jax(steps)
    elif name == "cupy":
        result = of_cupy(steps)
    else:
        result = of_torch(torch_programs.get(name) or of_triton(name), steps)
    print(name, result)


if __name__ == "__main__":
    main()
