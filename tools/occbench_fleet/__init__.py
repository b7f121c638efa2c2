# SPDX-License-Identifier: Apache-2.0
"""occbench fleet check DIR: which cards, hosts or racks of a cluster are odd, in what, and by how much?

DIR holds folders of results at any depth, best as DIR/HOST/UUID. judge.py says how it decides.
Exit 0 every folder was judged and nothing is odd, 1 something is, or could not be judged, 2 invalid
arguments, 4 a file or folder could not be read, whatever else was found, unless --ignore-unreadable.
"""

import argparse
import sys
from pathlib import Path

from occbench_tools.command import CommandError, entry, parser_of
from occbench_tools.lines import reason
from occbench_tools.screen import columns

THRESHOLD = 0.01  # --threshold: the smallest change that is odd, relative

FORMATS = ("text", "json", "junit", "prometheus")


def parser() -> argparse.ArgumentParser:
    words = parser_of(
        "fleet", "Find the odd cards of a cluster among many folders of results.",
        "occbench fleet check burn-in --labels racks.csv",
    )  # fmt: skip
    words.add_argument(
        "action", metavar="ACTION", choices=("check",), help="check: name the odd cards below DIR"
    )  # fmt: skip
    words.add_argument("folder", metavar="DIR", type=Path, help="holds one folder per card, at any depth")
    words.add_argument(
        "--reference", metavar="RUN", type=Path, help="a good card's run: compare each card with it"
    )
    words.add_argument(
        "--labels", metavar="CSV", type=Path,
        help="columns host or uuid, and rack, row, ...: groups to judge, hosts to miss",
    )  # fmt: skip
    words.add_argument(
        "--threshold", metavar="PERCENT", type=float, default=100 * THRESHOLD,
        help=f"smallest change that is odd (default: {100 * THRESHOLD:g})",
    )  # fmt: skip
    words.add_argument(
        "--ignore-unreadable", action="store_true",
        help="judge the others where a folder cannot be read, is a link elsewhere, or is empty",
    )  # fmt: skip
    words.add_argument("--format", choices=FORMATS, default="text")
    words.add_argument("--width", metavar="N", type=int, help="columns of the text (default: the terminal's)")
    return words


@entry("occbench fleet")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    words = parser()
    options = words.parse_args(arguments)
    if not 0 < options.threshold < 100:
        words.error("argument --threshold: a percentage above 0 and below 100")
    from occbench_fleet.check import check  # what reads much is loaded when it is needed
    from occbench_fleet.labels import read_labels
    from occbench_fleet.show import format_check

    try:
        rows = read_labels(options.labels) if options.labels else []
        found = check(
            options.folder, options.reference, rows, options.threshold / 100, options.ignore_unreadable
        )
    except OSError as error:
        raise CommandError(4, reason(options.folder, error)) from error
    except ValueError as error:
        raise CommandError(4, str(error)) from error
    if not found.folders:
        none = f"{options.folder}: holds no folder of results; make them: occbench run"
        raise CommandError(4, found.unread[0] if found.unread else none)
    sys.stdout.write(format_check(found, options.format, columns(options.width)))
    return 4 if found.unread else int(not found.passed)
