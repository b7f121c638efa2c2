# SPDX-License-Identifier: Apache-2.0
"""The folders of a fleet: where they are, of which card, and which may be compared.

Of every folder env.json is read, and the first line and last byte of cases.csv; the rows are store.py's.
What cannot be read is named: a fleet does not pass on it.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from occbench_tools import SCHEMA_VERSIONS
from occbench_tools.folder import read_env
from occbench_tools.lines import reason
from occbench_tools.schema import of_version, schema
from occbench_tools.untrusted_files import NotRegular, read_untrusted, walk_folders

DESCRIBED = [version for version in SCHEMA_VERSIONS if version >= 5]  # whose rows say what they are about
# Of env.json: runs that differ in one of these are no measurements of the same thing.
SETTINGS = ("schema_version", "source", "preset", "benchmark_filter", "git_commit", "git_dirty")
OF_GPU = (
    "name", "sm_count", "sm_clock_max_hz", "memory_clock_hz", "memory_bytes", "power_limit_w", "ecc", "mig",
)  # fmt: skip
HOLDS = ("env.json", "cases.csv")  # one of them makes a folder a card's


@dataclass
class Card:
    """One folder. `settings` are the values of SETTINGS and OF_GPU as text, and the experiments."""

    folder: Path
    host: str
    uuid: str
    name: str
    created: str
    settings: tuple[str, ...]
    version: int | None  # of the schema that its cases.csv has, if it is whole: may be read in bulk
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def called(self) -> str:
        return f"{self.host}/{self.uuid or self.folder.name}"


SETTING_NAMES = (*SETTINGS, *(f"gpu.{name}" for name in OF_GPU), "experiments")


class Unread(Exception):
    """A line on a folder that could not be read."""


def folders_below(top: Path) -> tuple[list[Path], list[str]]:
    """Every folder with a file of HOLDS, in order, and a line for each that is none and should be.

    That is one that cannot be read, a link to a folder elsewhere, which is not followed, and a folder at the
    end of a path without results on it: a card whose files are lost. OSError where `top` cannot be read.
    """
    os.scandir(top).close()
    found: list[Path] = []
    unread: list[str] = []
    inside = os.path.realpath(top)
    for where, folders, files in walk_folders(top, unread):
        unread += [
            f"{where / name}: a link, which is not followed"
            for name in sorted([*folders, *files])
            if name not in HOLDS and leads_away(where / name, inside)
        ]
        if any(name in files for name in HOLDS):
            found.append(where)
        elif not folders and where != top and not found_above(where, found):
            unread.append(f"{where}: holds neither {' nor '.join(HOLDS)}")
    return found, unread


def leads_away(path: Path, inside: str) -> bool:
    """Whether it is a link to a folder that does not lie in `inside`, or to nothing."""
    if not os.path.islink(path) or os.path.isfile(path):  # which take what cannot be seen for no
        return False
    target = os.path.realpath(path)
    return not os.path.isdir(target) or os.path.commonpath([target, inside]) != inside


def found_above(where: Path, found: list[Path]) -> bool:
    """Whether it lies in the last folder found: what a run's folder holds besides is the run's."""
    return bool(found) and where.is_relative_to(found[-1])


def text(value: object) -> str:
    """A field of env.json that should be a plain value."""
    return "" if value is None else str(value)[:200]


def card(top: Path, folder: Path, headers: dict[bytes, int]) -> Card | str:
    """The card of a folder, or one line that says why there is none. Raises Unread."""
    try:
        env = read_env(folder / "env.json")
        rows = read_untrusted(folder / "cases.csv")
    except (NotRegular, FileNotFoundError, ValueError) as error:
        return reason(folder, error)
    except OSError as error:
        raise Unread(reason(folder, error)) from None
    # Polars takes names in UTF-8 only.
    in_bulk = rows.endswith(b"\n") and str(folder.absolute()).isprintable()
    gpu: dict[str, Any] = env["gpu"]
    experiments = env.get("experiments")
    names = sorted(experiments) if isinstance(experiments, dict | list) else []
    parts = folder.relative_to(top).parts if folder.is_relative_to(top) else ()
    return Card(
        folder=folder,
        # A path DIR/HOST/UUID knows better than a machine that several nodes share.
        host=parts[-2] if len(parts) >= 2 else text(env.get("host")) or "?",
        # Of a model there is no card: a task's folder is called by its rank.
        uuid=folder.name if env["source"] == "model" else text(gpu.get("uuid")),
        name=text(gpu.get("name")),
        created=text(env.get("created_utc")),
        settings=(
            *(text(env.get(name)) for name in SETTINGS), *(text(gpu.get(name)) for name in OF_GPU),
            ",".join(map(str, names)),
        ),
        version=next((of for header, of in headers.items() if in_bulk and rows.startswith(header)), None),
    )  # fmt: skip


def columns_of(version: int) -> list[str]:
    """Of cases.csv, in order."""
    return [column["name"] for column in of_version(schema(), version)["files"]["cases.csv"]["columns"]]


def cards_of(top: Path, folders: list[Path], unread: list[str]) -> tuple[list[Card], list[str]]:
    """The cards in the order of their folders, and a line for each folder that has none.

    The line goes to `unread` where its files could not be read.
    """
    headers = {",".join(columns_of(version)).encode() + b"\n": version for version in DESCRIBED}
    cards: list[Card] = []
    lines: list[str] = []
    for folder in folders:
        try:
            found = card(top, folder, headers)
        except Unread as error:
            unread.append(str(error))
            continue
        if isinstance(found, Card):
            cards.append(found)
        else:
            lines.append(found)
    return cards, lines


def newest_of_each(cards: list[Card]) -> tuple[list[Card], list[str]]:
    """Of several runs of one card on one host the newest; one UUID on two hosts is said, and both stay."""
    lines: list[str] = []
    newest: dict[tuple[str, str], Card] = {}
    runs: Counter[tuple[str, str]] = Counter()
    for each in cards:
        key = (each.host, each.uuid or str(each.folder))
        runs[key] += 1
        if key not in newest or each.created >= newest[key].created:
            newest[key] = each
    for key, count in runs.items():
        if count > 1:
            lines.append(f"{newest[key].called}: {count} runs of this card; {newest[key].folder.name} counts")
    hosts: dict[str, list[str]] = {}
    for host, uuid in newest:
        hosts.setdefault(uuid, []).append(host)
    for uuid, several in hosts.items():
        if len(several) > 1:
            lines.append(f"{uuid}: the UUID of {len(several)} cards, on {' and '.join(several[:4])}")
    return list(newest.values()), lines


def by_settings(cards: list[Card]) -> list[list[Card]]:
    """The cards that may be compared, largest group first."""
    groups: dict[tuple[str, ...], list[Card]] = {}
    for each in cards:
        groups.setdefault(each.settings, []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


def differing(settings: tuple[str, ...], others: tuple[str, ...]) -> str:
    """'preset quick, and not standard'"""
    found = [
        f"{name} {mine or 'unknown'}, and not {theirs or 'unknown'}"
        for name, mine, theirs in zip(SETTING_NAMES, settings, others, strict=True)
        if mine != theirs
    ]
    more = f", and {len(found) - 2} more" if len(found) > 2 else ""
    return "; ".join(found[:2]) + more
