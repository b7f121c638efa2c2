# SPDX-License-Identifier: Apache-2.0
"""docs/claims.md: every claim has a verdict and a figure, and each figure is computed, not typed."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from occbench_docs import DocsError, claims
from occbench_docs.blocks import block
from occbench_docs.marks import fill
from prose import NUMBER, text_of

CLAIMS = claims.claims()
COUNT = 129  # of the five texts
NAMED = [f"{row['text']} {row['claim']}" for row in CLAIMS]
LARGE = r"\d[\d,]*(?:\.\d+)?"


def test_every_claim_once() -> None:
    assert len(CLAIMS) == COUNT
    assert [name for name, count in Counter(NAMED).items() if count > 1] == []
    assert {row["verdict"] for row in CLAIMS} == set(claims.VERDICTS)


@pytest.mark.parametrize("row", CLAIMS, ids=NAMED)
def test_claims_have_figures_and_corrections_reasons(row: dict[str, str]) -> None:
    assert claims.MARK.search(row["ours"])
    assert row["why"] or row["verdict"] == "holds"


@pytest.mark.parametrize("row", CLAIMS, ids=NAMED)
def test_numbers_come_from_figures(row: dict[str, str]) -> None:
    """A number with a unit outside a figure repeats the claim's, or is a dial of the figures beside it."""
    text, figures = row["ours"], []
    while found := claims.MARK.search(text):
        figures.append(found[3])
        text = text[: found.start()] + "#" + text[found.end() :]
    known = set(re.findall(LARGE, f"{row['claim']} {row['why']}".replace(",", "")))
    known |= set(re.findall(r"\d+", " ".join(figures)))
    typed = [said[0] for said in NUMBER.finditer(text)]
    assert [said for said in typed if re.search(LARGE, said)[0].replace(",", "") not in known] == []


def test_page_figures_are_current() -> None:
    """A changed record, catalogue or calculator shows here."""
    text = text_of("docs/claims.md")
    assert fill(text, block, claims.figures.figure)[1] == []
    assert "{" not in text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{calc occupancy nothing 32 32}", "ends with 2"),
        ("{case nothing throughput}", "no valid case nothing"),
        ("{device a100 nothing}", "has no nothing"),
        ("{nothing 1}", "no kind of figure 'nothing'"),
        ("{= __import__}", "not arithmetic"),
        ("{= 1 / 0}", "division by zero"),
        ("{ratio a}", "missing"),
        ("{env gpu.name", "not closed"),
    ],
)
def test_refused(text: str, wrong: str) -> None:
    with pytest.raises(DocsError, match=re.escape(wrong)):
        claims.fill_figures(text)


def test_filled() -> None:
    assert (
        claims.fill_figures("{= {calc warps_per_sm a100 48 32} / {calc blocks_per_sm a100 48 32}} warps")
        == "2 warps"
    )
    assert claims.fill_figures("{= 1,040 * 0.5}, {device a100 sm_count}") == "520, 108"
