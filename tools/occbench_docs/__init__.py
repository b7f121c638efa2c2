# SPDX-License-Identifier: Apache-2.0
"""Writes the generated parts of README.md and docs/: blocks, figures in prose, whole pages.

`tools/docs` is the command. It reads files and runs the built program; no other module uses it.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


class DocsError(Exception):
    """A mark that cannot be filled in: one line with what and why."""


def pages() -> list[Path]:
    """Every page whose marks are filled in, the README first."""
    return [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("**/*.md"))]
