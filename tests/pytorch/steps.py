# SPDX-License-Identifier: Apache-2.0
"""torch.stack of wide rows in six steps, each between the profiler's calls: what `attach --apply` compares.

    occbench attach --profiler-api --output MEASURED -- python steps.py 200
    occbench attach --apply best --from MEASURED --profiler-api -- python steps.py 200

It prints a hash of what it computed. LAUNCHES of each step is its argument.
"""

import hashlib
import sys

import torch

torch.manual_seed(0)
a, b = torch.randn(8192, 8192, device="cuda"), torch.randn(8192, 8192, device="cuda")
for _ in range(20):
    y = torch.stack([a, b], -1)
torch.cuda.synchronize()
for _ in range(6):
    torch.cuda.profiler.start()
    for _ in range(int(sys.argv[1])):
        y = torch.stack([a, b], -1)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
print(hashlib.sha256(y[:64].cpu().numpy().tobytes()).hexdigest()[:16])
