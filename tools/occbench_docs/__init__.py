# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of README.md and docs/ that come from committed runs: blocks, figures, whole pages.

`tools/docs` is the command. It knows files and the built program; nothing else of the house knows it.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


class DocsError(Exception):
    """A mark that cannot be filled in: one line that says what and why."""


def pages() -> list[Path]:
    """Every page whose marks are filled in, the README first."""
    return [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("**/*.md"))]
