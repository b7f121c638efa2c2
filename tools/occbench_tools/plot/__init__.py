# SPDX-License-Identifier: Apache-2.0
"""occbench plot DIR: a picture per experiment of a folder of results, from cases.csv and env.json alone.

Each as PNG on white, and as SVG that follows the screen's light or dark. Where the model said beforehand how
fast the cases would be, grey lines show it, and `predictions` compares it with the measurement. Where the
blocks recorded when they began and ended, `occupancy` shows where theoretical occupancy was lost.
Exit 0 drawn, 1 nothing valid to draw, 2 invalid arguments, 4 a file could not be read or written.
"""

from occbench_tools.plot import backend  # noqa: F401

# isort: split

import io
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from occbench_tools import experiments
from occbench_tools.analysis import read_folder, scale_rows
from occbench_tools.command import CommandError, add_folder, entry, folder_of, parser_of, reading
from occbench_tools.escape import escape_for_picture, file_name, picture, printable
from occbench_tools.explain.program import explain_rows, findings_of
from occbench_tools.findings import Sentences
from occbench_tools.layout import with_subjects
from occbench_tools.lines import write_whole
from occbench_tools.plot import sheet
from occbench_tools.plot.occupancy import occupancy, rows_with_losses
from occbench_tools.plot.plain import plain
from occbench_tools.plot.predictions import predictions
from occbench_tools.plot.sheet import head, prediction_ratio
from occbench_tools.plot.theme import style

OF_ALL = {figure.__name__: figure for figure in (predictions, occupancy)}  # experiments in one


def draw(
    experiment: str, rows: pd.DataFrame, env: dict[str, Any], findings: Sentences | None = None
) -> Figure:
    """The figure of one experiment, by its own module if that has one. `rows`: valid ones, at least one.

    `findings`: those of the experiment where they are known already; else the program is asked.
    """
    findings = explain_rows(experiment, rows, env) if findings is None else findings
    words = {key: picture(word) for key, word in findings.words.items()}
    shown = with_subjects(scale_rows(escape_for_picture(rows)), words)
    module = experiments.module_of(experiment)
    figure = None
    if hasattr(module, "picture") and env["schema_version"] >= 5:
        figure = module.picture(shown, env, sheet)
    if figure is None or all(is_empty(axes) for axes in figure.axes):
        figure = plain(experiment, shown, env, words)
    title = findings.headline(experiment).replace("`", "").removesuffix(".")
    head(figure, f"{experiment}: {title}" if findings.is_too_few else title, env)
    return figure


def is_empty(axes: Axes) -> bool:
    """Whether the run has no rows for a panel, or for a low one below it."""
    return not axes.has_data() or any(text.get_gid() == sheet.EMPTY for text in axes.texts)


def drawable(cases: pd.DataFrame) -> list[str]:
    """What can be drawn of these rows: their experiments, then the figures over all of them."""
    found = sorted(cases["experiment"].unique())
    if prediction_ratio(cases).notna().any():
        found.append(predictions.__name__)
    if len(rows_with_losses(cases)):
        found.append(occupancy.__name__)
    return found


def png(figure: Figure) -> bytes:
    """A PNG of at most 128 colours: a third of the bytes."""
    full = io.BytesIO()
    figure.savefig(full)
    small = Image.open(full).convert("RGB").quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    reduced = io.BytesIO()
    small.save(reduced, format="PNG")
    return reduced.getvalue()


def svg(figure: Figure) -> bytes:
    """The same as SVG, light or dark by the reader's screen."""
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    head, mark, rest = stream.getvalue().decode().partition("<defs>")
    return f"{head}{style()}{mark}{rest}".encode()


@entry("occbench plot")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of("plot", "Draw the experiments of a run.", "occbench plot --experiment latency_hiding")
    add_folder(parser)
    parser.add_argument("--experiment", metavar="NAME", help="draw this one only")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="PNG, or SVG by its name; default: DIR/EXPERIMENT.png and .svg",
    )
    options = parser.parse_args(arguments)
    folder = folder_of(options, "occbench plot")
    with reading(folder):
        cases, env = read_folder(folder)
        found = drawable(cases)
        wanted = [options.experiment] if options.experiment else found
        if options.experiment and options.experiment not in found:
            parser.error(
                f"no valid case of experiment {options.experiment}; there are: {', '.join(found) or 'none'}"
            )
        if options.output and len(wanted) > 1:
            parser.error(f"--output takes one experiment; name it with --experiment: {', '.join(found)}")
        findings = findings_of(folder, cases, env) if set(wanted) - set(OF_ALL) else {}
        for experiment in wanted:
            rows = cases[cases["experiment"] == experiment]
            whole = OF_ALL.get(experiment)
            figure = (
                whole(escape_for_picture(cases), env)
                if whole
                else draw(experiment, rows, env, findings.get(experiment))
            )
            beside = folder / file_name(experiment)
            for path in (
                [options.output] if options.output else [Path(f"{beside}.png"), Path(f"{beside}.svg")]
            ):
                write_whole(path, (svg if path.suffix == ".svg" else png)(figure))
                print(printable(path))
    if not wanted:
        raise CommandError(1, f"{folder}: no valid case")
    return 0
