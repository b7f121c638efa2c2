# SPDX-License-Identifier: Apache-2.0
"""The folders of a fleet: their paths, their cards, and which may be compared.

Reads env.json of every folder, and the first line and last byte of cases.csv; store.py reads the rows. Each
unreadable folder is named, and then the fleet does not pass.
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

BULK_VERSIONS = [version for version in SCHEMA_VERSIONS if version >= 5]  # their rows describe themselves
# Fields of env.json: runs that differ in one of these are not comparable.
SETTINGS = ("schema_version", "source", "preset", "benchmark_filter", "git_commit", "git_dirty")
OF_GPU = (
    "name", "sm_count", "sm_clock_max_hz", "memory_clock_hz", "memory_bytes", "power_limit_w", "ecc", "mig",
)  # fmt: skip
CARD_FILES = ("env.json", "cases.csv")  # a folder with one of them is a card's


@dataclass
class Card:
    """One folder. `settings` are the values of SETTINGS and OF_GPU as text, and the experiments."""

    folder: Path
    host: str
    uuid: str
    name: str
    created: str
    settings: tuple[str, ...]
    version: int | None  # of the schema of a whole cases.csv, which may be read in bulk
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.host}/{self.uuid or self.folder.name}"


SETTING_NAMES = (*SETTINGS, *(f"gpu.{name}" for name in OF_GPU), "experiments")


class Unread(Exception):
    """A line on a folder that could not be read."""


def folders_below(top: Path) -> tuple[list[Path], list[str]]:
    """Every folder with a file of CARD_FILES, in order, and a line for each that should have one.

    That is an unreadable folder, a link to a folder elsewhere, which is not followed, and a leaf folder
    without results on its path: a card whose files are lost. OSError where `top` cannot be read.
    """
    os.scandir(top).close()
    found: list[Path] = []
    unread: list[str] = []
    inside = os.path.realpath(top)
    for where, folders, files in walk_folders(top, unread):
        unread += [
            f"{where / name}: a link, which is not followed"
            for name in sorted([*folders, *files])
            if name not in CARD_FILES and is_foreign_link(where / name, inside)
        ]
        if any(name in files for name in CARD_FILES):
            found.append(where)
        elif not folders and where != top and not is_within_last(where, found):
            unread.append(f"{where}: holds neither {' nor '.join(CARD_FILES)}")
    return found, unread


def is_foreign_link(path: Path, inside: str) -> bool:
    """Whether it is a link to a folder that does not lie in `inside`, or to nothing."""
    if not os.path.islink(path) or os.path.isfile(path):  # both are False for paths that cannot be accessed
        return False
    target = os.path.realpath(path)
    return not os.path.isdir(target) or os.path.commonpath([target, inside]) != inside


def is_within_last(where: Path, found: list[Path]) -> bool:
    """Whether it is within the last folder found: folders in a run's folder belong to the run."""
    return bool(found) and where.is_relative_to(found[-1])


def field_text(value: object) -> str:
    """A field of env.json that should be a plain value."""
    return "" if value is None else str(value)[:200]


def read_card(top: Path, folder: Path, headers: dict[bytes, int]) -> Card | str:
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
        # A path DIR/HOST/UUID is more reliable than the name of a machine that several nodes share.
        host=parts[-2] if len(parts) >= 2 else field_text(env.get("host")) or "?",
        # A model has no card: a task's folder is named by its rank.
        uuid=folder.name if env["source"] == "model" else field_text(gpu.get("uuid")),
        name=field_text(gpu.get("name")),
        created=field_text(env.get("created_utc")),
        settings=(
            *(field_text(env.get(name)) for name in SETTINGS),
            *(field_text(gpu.get(name)) for name in OF_GPU),
            ",".join(map(str, names)),
        ),
        version=next((of for header, of in headers.items() if in_bulk and rows.startswith(header)), None),
    )  # fmt: skip


def columns_of(version: int) -> list[str]:
    """The columns of cases.csv, in order."""
    return [column["name"] for column in of_version(schema(), version)["files"]["cases.csv"]["columns"]]


def cards_of(top: Path, folders: list[Path], unread: list[str]) -> tuple[list[Card], list[str]]:
    """The cards in the order of their folders, and a line for each folder that has none.

    The line goes to `unread` where its files could not be read.
    """
    headers = {",".join(columns_of(version)).encode() + b"\n": version for version in BULK_VERSIONS}
    cards: list[Card] = []
    lines: list[str] = []
    for folder in folders:
        try:
            found = read_card(top, folder, headers)
        except Unread as error:
            unread.append(str(error))
            continue
        if isinstance(found, Card):
            cards.append(found)
        else:
            lines.append(found)
    return cards, lines


def newest_of_each(cards: list[Card]) -> tuple[list[Card], list[str]]:
    """The newest run of each card on each host, and notes; a UUID on two hosts keeps both cards."""
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
            lines.append(f"{newest[key].title}: {count} runs of this card; {newest[key].folder.name} counts")
    hosts: dict[str, list[str]] = {}
    for host, uuid in newest:
        hosts.setdefault(uuid, []).append(host)
    for uuid, several in hosts.items():
        if len(several) > 1:
            lines.append(f"{uuid}: the UUID of {len(several)} cards, on {' and '.join(several[:4])}")
    return list(newest.values()), lines


def group_by_settings(cards: list[Card]) -> list[list[Card]]:
    """The cards that may be compared, largest group first."""
    groups: dict[tuple[str, ...], list[Card]] = {}
    for each in cards:
        groups.setdefault(each.settings, []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


def difference_text(settings: tuple[str, ...], others: tuple[str, ...]) -> str:
    """'preset quick, and not standard'"""
    found = [
        f"{name} {mine or 'unknown'}, and not {theirs or 'unknown'}"
        for name, mine, theirs in zip(SETTING_NAMES, settings, others, strict=True)
        if mine != theirs
    ]
    more = f", and {len(found) - 2} more" if len(found) > 2 else ""
    return "; ".join(found[:2]) + more
