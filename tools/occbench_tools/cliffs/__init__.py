# SPDX-License-Identifier: Apache-2.0
"""Cliffs of a run: those that theory predicts, compared with the data, and those that nobody predicted."""

from occbench_tools.cliffs.find import COLUMNS, find_cliffs

__all__ = ["COLUMNS", "find_cliffs"]
