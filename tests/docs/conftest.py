# SPDX-License-Identifier: Apache-2.0
"""The generator lies in tools/, beside the package that is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
