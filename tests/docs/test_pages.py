# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/: sentences are short, figures have a source, links resolve."""

from __future__ import annotations

import csv
import re

import pytest
from occbench_docs import DOCS, ROOT, experiments, schema
from occbench_docs.tables import rows_of
from occbench_tools.cliffs import COLUMNS
from prose import PAGES, anchors, links, numbers, sentences, text_of

MOST_WORDS = 30


def held() -> list[dict[str, str]]:
    with (DOCS / "data" / "held.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page: str) -> None:
    assert [said for said in sentences(text_of(page)) if len(said.split()) > MOST_WORDS] == []


REFERENCE = {"README.md", "SECURITY.md", "docs/commands.md", "docs/questions.md"}  # answer many questions


@pytest.mark.parametrize("page", [page for page in PAGES if page not in REFERENCE])
def test_title_is_a_question(page: str) -> None:
    assert re.search(r"^# (.+)", text_of(page), re.MULTILINE)[1].endswith(("?", "\uff1f"))


@pytest.mark.parametrize("page", PAGES)
def test_numbers_with_units_have_a_source(page: str) -> None:
    """Its source is a run (generated block or figure), or a line of docs/data/held.csv."""
    known = {row["text"] for row in held() if row["page"] == page}
    assert [f"{page}:{line}: {said}" for line, said in numbers(text_of(page)) if said not in known] == []


@pytest.mark.parametrize("row", held(), ids=lambda row: f"{row['page']}: {row['text']}")
def test_sources_of_numbers_exist(row: dict[str, str]) -> None:
    assert row["string"] in text_of(row["file"])
    assert row["text"] in {said for _, said in numbers(text_of(row["page"]))}, "the page no longer has it"


@pytest.mark.parametrize("page", [*PAGES, "results/README.md", "CHANGELOG.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in links(text_of(page)):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page}: {target}"


def test_pages_contain_no_machine_paths() -> None:
    """The programs whose output is on the pages could print one."""
    found = re.compile(r"(?<![\w.])/(?:root|home|tmp|work|mnt)/")
    assert [page for page in PAGES if found.search(text_of(page))] == []


def test_named_runs_exist() -> None:
    """A newer run replaces an older one, and pages computed from the older one must follow."""
    run_folder = re.compile(r"results/[a-z0-9-]+/20\d\d-\d\d-\d\d-[0-9a-f]{12}")
    named = {run for page in PAGES for run in run_folder.findall(text_of(page))}
    assert named and [run for run in sorted(named) if not (ROOT / run).is_dir()] == []


def test_readme_stays_short() -> None:
    text = text_of("README.md")
    assert len(text.encode()) <= 9216
    assert len(text.splitlines()) <= 150
    assert [line for line in text.splitlines() if len(line) > 120] == []


def test_a_page_for_each_experiment() -> None:
    there = {path.stem for path in experiments.FOLDER.glob("*.md")} - {"index"}
    assert there == set(experiments.sources())
    for path in experiments.skeletons():
        assert f"<!-- generated: page {path.stem} -->" in path.read_text(encoding="utf-8")


def test_modules_are_in_the_table() -> None:
    """docs/extending.md names each folder that has sources, or one that holds it."""
    table = text_of("docs/extending.md").partition("\n| module |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([\w/]+)`", "".join(re.findall(r"^\|([^|]+)\|", table, re.MULTILINE))))
    tops = ("benchmarks", "harness", "kernels", "include", "python", "tools")
    folders = {
        path.parent.relative_to(ROOT).as_posix()
        for top in tops
        for suffix in ("cpp", "cu", "hpp", "py", "json")
        for path in (ROOT / top).rglob(f"*.{suffix}")
        if path.parent != ROOT / top and "__pycache__" not in path.parts
    }
    parts = {folder: folder.split("/") for folder in folders}
    unnamed = [
        folder
        for folder, steps in sorted(parts.items())
        if not any("/".join(steps[:depth]) in named for depth in range(2, len(steps) + 1))
    ]
    assert unnamed == [] and [name for name in named if not (ROOT / name).is_dir()] == []


def test_exit_codes_match_the_source() -> None:
    codes = re.search(r"enum class Exit : int \{(.*?)\}", text_of("harness/io/check.hpp"), re.DOTALL)
    said = {code for code, _ in rows_of("exit-codes.csv")[1:]}
    assert set(re.findall(r"= (\d+)", codes[1])) <= said


def test_cliffs_columns_match_the_tool() -> None:
    said = [name for row in rows_of("cliffs-columns.csv")[1:] for name in re.findall(r"`(\w+)`", row[0])]
    assert said == list(COLUMNS)


def test_the_example_row_is_in_the_schema() -> None:
    names = [column["name"] for column in schema.files()["cases.csv"]["columns"]]
    assert set(schema.READ) <= set(names)
    assert [name for name in names if f"| `{name}` |" not in text_of("docs/row.md")] == []


def test_nsight_page_names_the_programs_errors() -> None:
    """The page names ncu's error and the driver's option as the program does."""
    page = text_of("docs/nsight.md")
    for file in ("tools/occbench_tools/profile.py", "harness/measure/counters.cpp"):
        names = re.findall(r"ERR_NVGPUCTRPERM|NVreg_\w+=0", text_of(file))
        assert names and [name for name in names if name not in page] == []
    assert "Branch Efficiency" in page and "| `sm__warps_active.avg.pct_of_peak_sustained_active` |" in page
