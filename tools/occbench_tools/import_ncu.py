# SPDX-License-Identifier: Apache-2.0
"""occbench import-ncu DIR FILE...: joins counters of Nsight Compute with the cases of a run, by NVTX range.

FILE is the output of `ncu --csv --nvtx` (page raw or details, any units) or an .ncu-rep, which ncu reads.
A launch belongs to the case of its range `occbench@CASE_ID/`; launches in no such range are counted and
skipped. Several launches of a case become their median.

DIR stays as it is. A folder beside it (--output, by default DIR-ncu) gets the run with the counters in it:
  cases.csv      DIR's rows; where a case was profiled, occupancy_achieved (sm__warps_active over the SM's
                 active cycles) is filled and counter_status is ok
  counters.csv   case_id, launches, then a column per metric by ncu's name, in its base units (byte, ns, hz)
  env.json, samples.csv   DIR's own
Every tool reads it as any run. Prints the largest gaps between theoretical and achieved occupancy, and how
far DRAM bytes are from the declared bytes of streaming cases.

Exit 0 all joined, 1 something belongs to no case of DIR, 2 invalid arguments, 4 a file could not be read
or written.
"""

import csv
import io
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from occbench_tools.analysis import read_folder
from occbench_tools.command import CommandError, entry, newest, parser_of, reading
from occbench_tools.lines import make_folder, print_error, say, write_whole
from occbench_tools.programs import run_program
from occbench_tools.untrusted_files import plain_or_packed, read_untrusted

DOMAIN = "occbench"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
DRAM_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]
LABELS = {"Achieved Occupancy": OCCUPANCY}  # the details page has words instead of names
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
TIME = {"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}
NCU = ["--config-file", "off"]  # or ncu takes options, sections and their Python from ./config.ncu-cfg
COUNTERS = "counters.csv"  # of a run that was joined
SHOWN = 5  # gaps that are printed

Launch = tuple[
    str | None, dict[str, float]
]  # its case, or None outside of every range; metrics in base units
LaunchKey = tuple[int, str, str]  # number of the head, process, ID
Metric = tuple[str, str, str]  # name or label, value, unit


class NotNcu(CommandError):
    """A file is not ncu's output: one line with the reason, and how to get the right one."""

    def __init__(self, words: str) -> None:
        super().__init__(4, words)


def scale(unit: str) -> float:
    """The factor from ncu's `unit` to its base unit: byte, ns, hz, byte/s ..."""
    numerator, _, denominator = unit.partition("/")
    per_s = 1e9 / TIME[denominator] if denominator in TIME else 1
    if numerator in TIME:
        return TIME[numerator] * per_s
    prefix = re.fullmatch(r"([KMGT])(byte|hz|inst|sector|cycle)s?", numerator, re.IGNORECASE)
    return (1000.0 ** ("KMGT".index(prefix[1].upper()) + 1) if prefix else 1.0) * per_s


def number(text: str, unit: str) -> float | None:
    """'1,234.5' in its base unit; None where ncu has no number, or none that a double holds."""
    text = text.replace(",", "")
    value = float(text) * scale(unit) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def is_metric(name: str) -> bool:
    """Whether a column of the raw page is of the launch, and not of the device."""
    return "__" in name and not name.startswith(("device__attr", "nvlink__", "c2clink__", "numa__"))


def rows_of(lines: Iterable[str]) -> list[list[str]]:
    """The cells of each line that is not one of ncu's own messages. Raises NotNcu."""
    try:
        return list(csv.reader(line for line in lines if not line.startswith("==")))
    except csv.Error as error:  # a cell of more than 131,072 characters, for one
        raise NotNcu(f"is not a CSV of ncu's: {error}") from None


def ncu_rows(rows: Iterable[list[str]]) -> Iterator[tuple[LaunchKey, dict[str, str], list[Metric]]]:
    """Of `ncu --csv`, page raw or details: each row's launch, its cells by column, and what it counts.

    Each process may bring a head of its own.
    """
    head: list[str] = []
    units: dict[str, str] = {}
    heads = 0
    for cells in rows:
        if cells[:1] == ["ID"]:
            head, units, heads = cells, {}, heads + 1
            continue
        if not head or len(cells) != len(head):
            continue
        row = dict(zip(head, cells, strict=True))
        if not row["ID"].isdigit():  # a raw page's row of units
            units = row
            continue
        if "Metric Name" in row:
            counted = [(row["Metric Name"], row["Metric Value"], row["Metric Unit"])]
        else:
            counted = [(name, cell, units.get(name, "")) for name, cell in row.items()]
        yield (heads, row.get("Process ID", ""), row["ID"]), row, counted


def csv_launches(lines: Iterable[str]) -> list[Launch]:
    """The launches that `ncu --csv` printed. Raises NotNcu where there is no head, or one without ranges."""
    found: dict[LaunchKey, Launch] = {}
    lines = list(lines)
    rows = rows_of(lines)
    heads = [cells for cells in rows if cells[:1] == ["ID"]]
    if not all(any("Push/Pop_Range" in name for name in head) for head in heads):
        raise NotNcu("its CSV has no column of NVTX ranges; ncu prints them with --nvtx")
    for key, row, counted in ncu_rows(rows):
        ranges = " ".join(cell for name, cell in row.items() if "Push/Pop_Range" in name)
        case = re.search(rf"\b{DOMAIN}:([\w.=+-]+)", ranges)
        _, metrics = found.setdefault(key, (case[1] if case else None, {}))
        for label, text, unit in counted:
            name = LABELS.get(label, label) if "Metric Name" in row else label if is_metric(label) else ""
            if name and (value := number(text, unit)) is not None:
                metrics[name] = value
    if error := next((line for line in lines if line.startswith("==ERROR==")), None) if not heads else None:
        raise NotNcu(f"holds an error of ncu's alone: {error.removeprefix('==ERROR==').strip()}")
    if not heads:
        raise NotNcu("is not a CSV of ncu's: ncu --csv --page raw --nvtx prints one")
    return list(found.values())


def refuse_cut(text: str) -> None:
    """Raises NotNcu where the last row lacks cells: the disk was full, or the copy ended early."""
    last = text[text.rfind("\n") + 1 :]
    head = next((line for line in reversed(text.splitlines()) if line.startswith(('"ID"', "ID,"))), "")
    if not head or last[:1] not in {*'"0123456789'}:
        return
    cells, wanted = (len(next(csv.reader([line]))) for line in (last, head))
    if cells != wanted or last.count('"') % 2:
        raise NotNcu("its last row is cut off; print it once more")


def find_ncu() -> str | None:
    """ncu on the PATH, or in the CUDA toolkit."""
    toolkit = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda") / "bin" / "ncu"
    return shutil.which("ncu") or (str(toolkit) if os.access(toolkit, os.X_OK) else None)


def report_text(path: Path) -> str:
    """An .ncu-rep as the CSV that ncu itself prints. Raises NotNcu.

    NVIDIA's Python module ncu_report, which comes with ncu, is not used: version 2025.3 ends the program
    (segmentation fault) where it is asked for the unit of a metric that has none.
    """
    ncu = find_ncu()
    if ncu is None:
        raise NotNcu(
            "ncu reads it, and is not here; put it on PATH, or import the CSV that "
            f"`ncu --import {path} --csv --page raw` prints"
        )
    words = [ncu, *NCU, "--import", str(path), "--csv", "--page", "raw", "--print-units", "base"]
    ran = run_program(words)
    if ran.returncode:
        output = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        raise NotNcu(
            f"ncu cannot read it: {(output or ['it said nothing'])[0].removeprefix('==ERROR== ').strip()}"
        )
    return ran.stdout


def read_launches(path: Path) -> list[Launch]:
    """Raises OSError, or NotNcu with the file's name."""
    try:
        if path.suffix == ".ncu-rep":
            with path.open("rb"):  # raises OSError for a missing file, with or without ncu
                return csv_launches(report_text(path).splitlines())
        text = read_untrusted(path).decode("utf-8", "replace")
        if not text.strip():
            raise NotNcu("is empty")
        launches = csv_launches(text.splitlines())
        refuse_cut(text)
        return launches
    except NotNcu as error:
        raise NotNcu(f"{path}: {error}") from None


def per_case(launches: Iterable[Launch]) -> pd.DataFrame:
    """case_id, launches (their number), then the medians of all metrics; a row per case, in order."""
    rows = [{"case_id": case, **metrics} for case, metrics in launches if case is not None]
    table = pd.DataFrame(rows, columns=["case_id"] if not rows else None)
    groups = table.groupby("case_id", sort=False)
    counted = groups.median()
    counted.insert(0, "launches", groups.size())
    return counted.reset_index()


def write_counters(counters: pd.DataFrame, path: Path) -> None:
    write_whole(path, counters.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def write_run(folder: Path, counters: pd.DataFrame, output: Path) -> None:
    """Writes the run of `folder` with the counters in it; all other cells are copied as text."""
    achieved = counters.set_index("case_id").get(OCCUPANCY, pd.Series(dtype=float)).dropna()
    make_folder(output)
    joined = io.StringIO(newline="")
    with io.TextIOWrapper(io.BytesIO(read_untrusted(folder / "cases.csv")), "utf-8", newline="") as source:
        rows = csv.DictReader(source)
        writer = csv.DictWriter(joined, rows.fieldnames or [], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            if row["case_id"] in achieved:
                row |= {
                    "occupancy_achieved": f"{achieved[row['case_id']] / 100:.10g}",
                    "counter_status": "ok",
                }
            writer.writerow(row)
    write_whole(output / "cases.csv", joined.getvalue())
    write_counters(counters, output / COUNTERS)
    for name in ("env.json", "samples.csv"):
        if (source := plain_or_packed(folder / name)).exists():
            write_whole(output / name, read_untrusted(source))


def summary(cases: pd.DataFrame, counters: pd.DataFrame) -> list[str]:
    """Lines on what was joined: largest gaps to theoretical occupancy, DRAM bytes against declared ones."""
    both = cases.merge(counters, on="case_id")
    lines = [f"{both['launches'].sum()} launches of {len(both)} cases"] if len(both) else []
    if OCCUPANCY in both:
        theory = both[["case_id"]].assign(theory=100 * both["occupancy_theoretical"])
        gaps = theory.assign(gap=theory["theory"] - both[OCCUPANCY]).dropna(subset="gap")
        gaps = gaps.sort_values("gap", ascending=False).head(SHOWN)
        lines += ["achieved occupancy, largest gaps to theoretical:"] if len(gaps) else []
        for row in gaps.itertuples():
            lines.append(f"  {row.theory:6.2f} % -> {row.theory - row.gap:6.2f} %  {row.case_id}")
    if set(DRAM_BYTES) <= set(both):
        streams = both[both["ceiling_kind"] == "dram"].dropna(subset=[*DRAM_BYTES, "bytes_per_launch"])
        if len(streams):
            off = 100 * (streams[DRAM_BYTES].sum(axis=1) / streams["bytes_per_launch"] - 1)
            worst = off.abs().idxmax()
            lines.append(
                f"DRAM bytes against declared ones, {len(off)} cases: {(off.abs() <= 3).sum()} within 3 %, "
                f"worst {off[worst]:+.1f} % ({streams['case_id'][worst]})"
            )
    return lines


def output_of(folder: Path, named: Path | None) -> Path:
    """The folder of the joined run."""
    return named or folder.resolve().with_name(folder.resolve().name + "-ncu")


@entry("occbench import-ncu")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "import-ncu",
        "Join what Nsight Compute counted onto the cases of a run.",
        "occbench import-ncu DIR profile.ncu-rep",
    )
    parser.usage = "%(prog)s [--help] [--output FOLDER] [DIR] FILE ..."
    parser.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="of ncu --csv --nvtx, or .ncu-rep; before them DIR, the run's folder (default: the newest under "
        "./results)",
    )
    parser.add_argument("--output", metavar="FOLDER", type=Path, help="a new one (default: DIR-ncu)")
    options = parser.parse_args(arguments)
    files: list[Path] = options.files
    folder = newest("occbench import-ncu", COUNTERS) if files[0].is_file() else files.pop(0)
    if not files:
        parser.error(f"{folder}: no such file; name one of ncu's")
    output = output_of(folder, options.output)
    if output.exists():
        parser.error(f"--output: {output} is there already; name another")
    with reading(folder):
        cases, _ = read_folder(folder)
        launches = [launch for path in files for launch in read_launches(path)]
        counters = per_case(launches)
        strangers = counters[~counters["case_id"].isin(cases["case_id"])]
        counters = counters.drop(strangers.index)
        if len(counters):
            write_run(folder, counters, output)
    for case in strangers["case_id"]:
        print_error("occbench import-ncu", f"{case} is not a valid case of {folder}")
    if outside := sum(case is None for case, _ in launches):
        say(f"{outside} of {len(launches)} launches lie in no case's range, and are left out")
    if not len(counters):
        raise CommandError(1, "nothing to join: no launch belongs to a case of the run")
    say(*summary(cases, counters), output)
    return 1 if len(strangers) else 0
