# SPDX-License-Identifier: Apache-2.0
"""Tables by name: `<!-- generated: table NAME -->`. A CSV file of docs/data needs none: kind csv."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from occbench_docs.runs import runs


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar within a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)


def of_runs() -> str:
    """The committed runs."""
    return markdown(
        ["GPU", "folder", "commit", "driver", "toolkit", "cases"],
        [
            [
                run.gpu, f"`{run.name}`", f"`{run.env['git_commit']:.12}`", run.env["gpu"]["driver_version"],
                run.env["cuda_toolkit"], f"{len(run.cases):,}",
            ]
            for run in runs()
        ],
    )  # fmt: skip


TABLES: dict[str, Callable[[], str]] = {"runs": of_runs}
