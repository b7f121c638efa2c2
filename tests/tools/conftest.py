# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests of the tools."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """A warning would reach a user's terminal: here it is an error."""
    config.addinivalue_line("filterwarnings", "error")
