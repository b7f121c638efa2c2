# SPDX-License-Identifier: Apache-2.0
"""The type of conftest.py's output_of."""

from collections.abc import Callable

OutputOf = Callable[..., str]
