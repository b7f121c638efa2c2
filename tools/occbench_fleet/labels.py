# SPDX-License-Identifier: Apache-2.0
"""--labels CSV: which rack, row or switch a host or card belongs to."""

import csv
import io
from pathlib import Path

from occbench_tools.untrusted_files import read_untrusted

from occbench_fleet.scan import Card

KEYS = ("host", "uuid")


def read_labels(path: Path) -> list[dict[str, str]]:
    """Rows with `host` or `uuid`, and a column per kind of label. Raises OSError and ValueError."""
    try:
        text = read_untrusted(path).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        header = list(reader.fieldnames or [])
        rows = list(reader)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error.reason}") from None
    except csv.Error as error:
        raise ValueError(f"{path}: not CSV: {error}") from None
    if not set(KEYS) & set(header) or len(set(header)) < len(header) or "card" in header:
        raise ValueError(f"{path}: the header must name host or uuid, and each label once: host,rack")
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{path}:{line}: not as many cells as the header has")
    return rows


def label(cards: list[Card], rows: list[dict[str, str]]) -> list[str]:
    """Gives the cards their labels; a line for each row whose host or card has no folder."""
    by_key = {(key, row[key]): row for row in rows for key in KEYS if row.get(key)}
    present = {("host", card.host) for card in cards} | {("uuid", card.uuid) for card in cards}
    for card in cards:
        row = by_key.get(("uuid", card.uuid)) or by_key.get(("host", card.host)) or {}
        card.labels = {name: value for name, value in row.items() if name not in KEYS}
    missing = []
    for row in rows:
        key = next((key for key in reversed(KEYS) if row.get(key)), None)
        if key and (key, row[key]) not in present:
            missing.append(row[key])
    if len(missing) > 5:
        return [f"{', '.join(missing[:3])} and {len(missing) - 3} more of the labels: no folder"]
    return [f"{each}: no folder" for each in missing]
