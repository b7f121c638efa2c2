# SPDX-License-Identifier: Apache-2.0
"""occbench compare BASE CANDIDATE...: did anything change between two runs, or among many cards?

Each is a folder of results. One screen counts the common cases that are SAME, FASTER, SLOWER or AMBIGUOUS
(see verdicts.py) and lists the largest changes. --verbose lists the differing environment, every change, the
kernels whose machine code took other registers, and whether a cliff moved. Each of several candidates is
compared with BASE; cards of one kind also get a table over all. A comparison of different devices begins with
the speed-up, by the share of the old device that a case used.
--predict-for predicts what each kernel of a profile would gain. Two folders of `occbench attach` are compared
kernel by kernel (attached/changes.py).
Exit 0 nothing is slower, 1 something is, 2 invalid arguments (no case in common, or a model's run compared
with a measured one without --allow-model), 4 a file could not be read or written,
5 a tool or a package is missing.
"""

import argparse
import gc
import sys
from pathlib import Path

import pandas as pd

from occbench_tools.attached import is_attached
from occbench_tools.command import CommandError, entry, parser_of
from occbench_tools.compare import digest, export, show, speedup
from occbench_tools.compare.comparison import Comparison, compare, names_of
from occbench_tools.compare.environment import DIFFERENT
from occbench_tools.compare.summary import across_devices
from occbench_tools.compare.verdicts import MEASURES, SLOWER
from occbench_tools.folder import Folder, read_folder
from occbench_tools.lines import reason
from occbench_tools.screen import columns, paint


def parser() -> argparse.ArgumentParser:
    parser = parser_of("compare", "Compare runs case by case.", "occbench compare results/nvidia-h200/*")
    parser.add_argument("base", metavar="BASE", type=Path, help="folder of the run to compare with")
    parser.add_argument("candidates", metavar="CANDIDATE", nargs="+", type=Path, help="folders of other runs")
    parser.add_argument(
        "--by",
        choices=MEASURES,
        help="what decides (default: reference, time at one SM clock; between different devices: time)",
    )
    parser.add_argument(
        "--threshold", metavar="PERCENT", type=float,
        help="smallest change that counts (default: 0.5 on one device, 3 between devices and for a model)",
    )  # fmt: skip
    parser.add_argument("--format", choices=("table", "csv", "json", "markdown", "html"), default="table")
    parser.add_argument(
        "--verbose", action="store_true", help="all tables: environments, experiments, cases, kernels, cliffs"
    )
    parser.add_argument("--all", action="store_true", help="--verbose with every case, SAME too")
    parser.add_argument(
        "--width", metavar="N", type=int, help="columns of the table (default: the terminal's)"
    )
    parser.add_argument(
        "--allow-model", action="store_true", help="compare a model's run with a measured one, marked as such"
    )
    parser.add_argument(
        "--predict-for", metavar="PROFILE", type=Path,
        help="what each kernel of a profile that was taken on BASE's device would gain on CANDIDATE's: "
        "CSV of ncu, .ncu-rep, or a CSV with kernel, time_s and dram_percent",
    )  # fmt: skip
    parser.add_argument(
        "--launches-of", metavar="FOLDER", type=Path,
        help="of `occbench attach`: --predict-for takes launches and times from it, the rest from PROFILE",
    )  # fmt: skip
    parser.add_argument(
        "--export-benchmark", metavar="FILE",
        type=Path, help="Google Benchmark JSON: FILE-base.json, FILE-1.json, ... for its tools/compare.py",
    )  # fmt: skip
    parser.add_argument(
        "--export-bencher", metavar="FILE", type=Path, help="candidate in Bencher Metric Format (JSON)"
    )
    return parser


def read(path: Path, samples: bool = True) -> Folder:
    """Raises CommandError."""
    try:
        return read_folder(path, samples=samples)
    except (OSError, ValueError) as error:
        raise CommandError(4, reason(path, error)) from error


def predict(options: argparse.Namespace) -> int:
    """--predict-for. Raises CommandError, OSError."""
    if len(options.candidates) > 1 or options.format not in ("table", "csv", "json"):
        raise CommandError(2, "--predict-for takes one CANDIDATE, and the formats table, csv and json")
    from occbench_tools.compare import predicted

    runs = [read(path, samples=False) for path in (options.base, *options.candidates)]
    width = columns(options.width)
    sys.stdout.write(predicted.text(*runs, options.predict_for, options.launches_of, options.format, width))
    return 0


def compare_programs(options: argparse.Namespace) -> int:
    """Compares folders of `occbench attach`. Raises CommandError, OSError, ValueError, LookupError."""
    folders = [options.base, *options.candidates]
    if other := next((path for path in folders if not is_attached(path)), None):
        if not (other / "env.json").is_file():
            raise CommandError(4, f"{other / 'env.json'}: No such file or directory")
        attached = next(path for path in folders if is_attached(path))
        raise CommandError(
            2, f"{attached} is of `occbench attach`, and {other} is not; compare two of a kind"
        )
    from occbench_tools.attached import compare as attached_compare  # imports this package

    return attached_compare.run(options)


def run(options: argparse.Namespace) -> int:
    """Compares, exports, prints; returns the exit code. Raises CommandError, OSError, ValueError, and
    LookupError where the arguments do not fit the folders.
    """
    base = read(options.base)
    found = compare_all(base, options)
    if options.export_benchmark:
        export.write(
            export.labelled_path(options.export_benchmark, "base", True), export.benchmark_json(base)
        )
    sys.stdout.write(text_of(base, found, cards_of(found), options))
    return int(any(one.verdicts.get(SLOWER) for one in found))


def compare_all(base: Folder, options: argparse.Namespace) -> list[Comparison]:
    """Compares each candidate with `base`; exports candidates as requested. Raises as run() does."""
    threshold = None if options.threshold is None else options.threshold / 100
    found: list[Comparison] = []
    cliffs: dict[frozenset[str], pd.DataFrame] = {}  # of base
    for path, name in zip(options.candidates, names_of(options.candidates), strict=True):
        candidate = read(path)
        if base.is_modelled != candidate.is_modelled and not options.allow_model:
            model, measured = (path, options.base) if candidate.is_modelled else (options.base, path)
            raise LookupError(
                f"{model} is a model's run and {measured} was measured; --allow-model compares them, marked"
            )
        found.append(compare(base, candidate, name, options.by, threshold, cliffs))
        export_candidate(candidate, len(found), options)
        candidate.samples = None  # large, and no longer needed
    return found


def export_candidate(candidate: Folder, place: int, options: argparse.Namespace) -> None:
    """Writes the files of the `place`-th candidate that --export-... ask for. Raises OSError."""
    if options.export_benchmark:
        export.write(
            export.labelled_path(options.export_benchmark, str(place), True), export.benchmark_json(candidate)
        )
    if options.export_bencher:
        file = export.labelled_path(options.export_bencher, str(place), len(options.candidates) > 1)
        export.write(file, export.bencher_json(candidate))


def cards_of(found: list[Comparison]) -> tuple[pd.DataFrame, list[str]] | None:
    """across_devices() of several runs on devices of one kind, each under a unique name."""
    if len(found) < 2 or any(one.relation == DIFFERENT for one in found):
        return None
    # A run may be given twice, and may have the name that the table gives BASE.
    names = [one.name for one in found]
    unique = [names.count(name) == 1 and name != "base" for name in names]
    labels = [name if unique[i] else f"{name} #{i + 1}" for i, name in enumerate(names)]
    return across_devices(dict(zip(labels, (one.cases for one in found), strict=True)), found[0].threshold)


def text_of(
    base: Folder,
    found: list[Comparison],
    cards: tuple[pd.DataFrame, list[str]] | None,
    options: argparse.Namespace,
) -> str:
    """The output in the requested format."""
    if options.format == "csv":
        return show.as_csv(found)
    if options.format == "json":
        return show.as_json(found, cards)
    if options.format == "table" and not (options.verbose or options.all):
        return summary_of(found, cards[1] if cards else [], columns(options.width))
    parts = [
        part for one in found
        for part in (*show.first_section(one),
                     *(speedup if speedup.is_upgrade(one) else show).sections(one, options.all))
    ]  # fmt: skip
    if cards:
        parts.insert(0, show.device_section(*cards))
    elif len(found) > 1 and any(map(speedup.is_upgrade, found)):
        parts.insert(0, speedup.matrix([base, *(one.candidate for one in found)]))
    if options.format == "table":
        return show.terminal(parts, options.width)
    return dict(markdown=show.markdown, html=show.page)[options.format](parts)


def summary_of(found: list[Comparison], outliers: list[str], width: int) -> str:
    """One screen of a terminal."""
    upgrades = any(map(speedup.is_upgrade, found))
    if len(found) > 1:
        lines = (
            speedup.screen_of_several(found, width)
            if upgrades
            else digest.screen_of_several(found, outliers, width)
        )
    else:
        lines = (speedup.screen if upgrades else digest.screen_of_pair)(found[0], width)
    return paint(lines, digest.style)


@entry("occbench compare")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.threshold is not None and not 0 < options.threshold < 100:
        command.error("argument --threshold: a percentage above 0 and below 100")
    if options.launches_of and not options.predict_for:
        command.error("argument --launches-of: is of --predict-for")
    gc.disable()  # the tables live to the end, and looking for cycles in them takes a twentieth of the time
    try:
        if any(map(is_attached, (options.base, *options.candidates))):
            return compare_programs(options)
        return predict(options) if options.predict_for else run(options)
    except (OSError, ValueError) as error:
        raise CommandError(4, reason(options.base, error)) from error
    except LookupError as error:
        raise CommandError(2, error.args[0]) from error
    finally:
        gc.enable()
