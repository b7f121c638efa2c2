# SPDX-License-Identifier: Apache-2.0
"""Puts tools/ on the path: the generator is there and is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
