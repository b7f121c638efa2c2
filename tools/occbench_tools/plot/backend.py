# SPDX-License-Identifier: Apache-2.0
"""Imports matplotlib from a folder of ours, since it reads ./matplotlibrc at its import.

The working folder may be one of results that came from others, and such a file can have TeX run.
"""

import os
import warnings
from pathlib import Path

here = os.open(".", os.O_PATH | os.O_DIRECTORY)
os.chdir(Path(__file__).parent)
try:
    import matplotlib  # noqa: F401
finally:
    os.fchdir(here)
    os.close(here)
# Foreign names may have signs that the font lacks (shown as boxes) or be longer than a panel.
for words in ("Glyph .* missing from font", "constrained_layout not applied"):
    warnings.filterwarnings("ignore", words)
