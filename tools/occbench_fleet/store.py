# SPDX-License-Identifier: Apache-2.0
"""The rows of all folders, in batches on disk, and each card's figures; Polars reads and groups them.

cases.csv files of this schema are read in bulk. A file that violates the schema, has an older one or was cut
off while it was written is read by folder.py, which says what is wrong. Only the rows of one resource are in
memory at a time.
"""

from pathlib import Path

import pandas as pd
import polars as pl
from occbench_tools import schema_upgrade
from occbench_tools.folder import check_rows, read_csv
from occbench_tools.lines import reason
from occbench_tools.schema import schema

from occbench_fleet.resources import BY_NAME, resource_of
from occbench_fleet.scan import Card, columns_of

FILES = 1000  # read at once
NUMBERS = ("time_median_s", "sm_clock_hz", "power_w", "percent_of_ceiling")
WORDS = ("case_id", "status", "bound_predicted", "ceiling_kind")
TYPES = dict.fromkeys(WORDS, pl.String) | dict.fromkeys(NUMBERS, pl.Float64) | {"card": pl.Int32}


def log(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name).log())


# Each resource's measure of a row; larger is worse.
SECONDS, CLOCK = log("time_median_s"), log("sm_clock_hz")
MEASURES = {"seconds": SECONDS, "cycles": SECONDS + CLOCK, "clock": -CLOCK, "power": log("power_w")}


class Store:
    """Rows of cards, each with a number; their files are in `folder`, which must be empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lots = 0

    def read(self, cards: list[Card]) -> dict[int, str]:
        """Reads the rows of all cards, by their place. Returns the errors of unreadable cards."""
        careful = [place for place, card in enumerate(cards) if card.version is None]
        for version in {card.version for card in cards} - {None}:
            plain = [place for place, card in enumerate(cards) if card.version == version]
            for start in range(0, len(plain), FILES):
                some = {place: cards[place].folder for place in plain[start : start + FILES]}
                careful += self._bulk(some, columns_of(version))
        wrong: dict[int, str] = {}
        for place in sorted(careful):
            try:
                self._one(place, cards[place].folder)
            except (OSError, ValueError) as error:
                wrong[place] = reason(cards[place].folder, error)
        return wrong

    def add(self, rows: pl.DataFrame) -> None:
        """Adds rows with the columns of TYPES."""
        rows.write_parquet(self.folder / f"{self.lots:06}.parquet")
        self.lots += 1

    def _bulk(self, folders: dict[int, Path], names: list[str]) -> list[int]:
        """Reads these files of these columns; the places of those that a careful reader must look at."""
        paths = {str(path.absolute() / "cases.csv"): place for place, path in folders.items()}
        columns = dict.fromkeys(names, pl.String)
        card = pl.col("path").replace_strict(paths, return_dtype=pl.Int32)
        try:
            cells = (
                pl.scan_csv(list(paths), schema=columns, glob=False, include_file_paths="path")
                .select(card.alias("card"), *WORDS, *NUMBERS)
                .collect()
            )
        except (pl.exceptions.PolarsError, OSError):  # in one of them
            if len(folders) == 1:
                return list(folders)
            places = list(folders)
            halves = places[: len(places) // 2], places[len(places) // 2 :]
            some = ({place: folders[place] for place in half} for half in halves)
            return [each for half in some for each in self._bulk(half, names)]
        rows = cells.with_columns(pl.col(name).cast(pl.Float64, strict=False) for name in NUMBERS)
        no_number = pl.any_horizontal(
            (rows[name].is_null() & cells[name].is_not_null()) | ~rows[name].is_finite() for name in NUMBERS
        )
        valid = pl.col("status") == "valid"
        wrong = (
            no_number.fill_null(False)
            | pl.any_horizontal(pl.col("case_id", "status").is_null())
            | (valid & ~(pl.col("time_median_s") > 0)).fill_null(True)
            | pl.struct("card", "case_id").is_duplicated()
        )
        bad = set(rows.filter(wrong)["card"]) | set(folders) - set(rows["card"])
        self.add(rows.filter(~pl.col("card").is_in(list(bad))))
        return sorted(bad)

    def _one(self, place: int, folder: Path) -> None:
        """Raises OSError and ValueError."""
        cases = schema_upgrade.upgrade_cases(read_csv(folder / "cases.csv", schema(), [], strict=True))
        check_rows(cases)
        cells = cases.reindex(columns=[*WORDS, *NUMBERS])
        columns = {name: [None if pd.isna(cell) else cell for cell in cells[name]] for name in cells}
        rows = pl.DataFrame(columns | {"card": [place] * len(cells)}, schema=TYPES)
        self.add(rows.select("card", *WORDS, *NUMBERS))

    def rows(self) -> pl.LazyFrame:
        if not self.lots:
            return pl.LazyFrame(schema=TYPES)
        return pl.scan_parquet(sorted(self.folder.glob("*.parquet")))

    def counts(self) -> dict[int, tuple[int, int, str]]:
        """By card: the number of rows and of invalid ones, and the id of one of these."""
        invalid = pl.col("status") == "invalid"
        counts_by_card = self.rows().group_by("card").agg(
            pl.len(), invalid.sum().alias("invalid"), pl.col("case_id").filter(invalid).min().alias("one")
        )  # fmt: skip
        return {
            card: (rows, count, one or "") for card, rows, count, one in counts_by_card.collect().iter_rows()
        }

    def effects(self, groups: dict[int, int], reference: int | None = None) -> pd.DataFrame:
        """card, grp, resource, effect, cases: a card's excess over the median of its group.

        groups: place of a card to the number of its group. reference: place of the card that stands for the
        middle of all. The effect is the median over the cases that the resource bounds, on a log scale; of
        the clock the mean, since a card may be slow under its heaviest loads alone.
        """
        groups_by_card = pl.LazyFrame(
            {"card": list(groups), "grp": list(groups.values())}, schema={"card": pl.Int32, "grp": pl.Int32}
        )
        valid = self.rows().filter(pl.col("status") == "valid")
        mine = valid.join(groups_by_card, on="card")
        middles = mine
        if reference is not None:
            middles = valid.filter(pl.col("card") == reference).with_columns(grp=pl.lit(0, pl.Int32))
        cases = mine.group_by("grp", "case_id").agg(
            pl.col("bound_predicted", "ceiling_kind").drop_nulls().mode().sort().first(),
            pl.col("percent_of_ceiling").median(),
        ).collect()  # fmt: skip
        bounds = cases.select("bound_predicted", "ceiling_kind", "percent_of_ceiling").iter_rows()
        cases = cases.with_columns(pl.Series("resource", [resource_of(*each) for each in bounds], pl.String))
        found = []
        for resource in BY_NAME.values():
            own_cases = cases.lazy().select("grp", "case_id")
            if resource.measure in ("seconds", "cycles"):
                own_cases = cases.lazy().filter(pl.col("resource") == resource.name).select("grp", "case_id")
            of_case = middles.join(own_cases, on=["grp", "case_id"]).group_by("grp", "case_id").agg(
                MEASURES[resource.measure].median().alias("middle")
            )  # fmt: skip
            off = MEASURES[resource.measure] - pl.col("middle")
            effect = off.mean() if resource.measure == "clock" else off.median()
            found.append(
                mine.join(of_case, on=["grp", "case_id"])
                .group_by("card", "grp")
                .agg(effect.alias("effect"), off.count().alias("cases"))
                .drop_nulls("effect")
                .sort("card")
                .with_columns(resource=pl.lit(resource.name))
                .collect()
            )
        return pd.DataFrame(pl.concat(found).to_dict(as_series=False))
