# SPDX-License-Identifier: Apache-2.0
"""occbench explain --order: which SM ran which block, from records made by a known law."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools import explain
from occbench_tools.explain.block_order import Block, read_order, sentences, split_waves

HEAD = ",".join(Block._fields)


def two_waves(sms: int = 4, moved: int = 0) -> list[Block]:
    """Block i first on SM i, for 10 (1 + i) us; block sms + i when that ends, 500 ns later."""
    found = []
    for block in range(sms):
        sm, end = (block + moved) % sms, 10_000 * (1 + block)
        found.append(Block("two waves", moved, block, sm, 0, end))
        found.append(Block("two waves", moved, sms + block, sm, end + 500, end + 10_500))
    return sorted(found, key=lambda each: each.block)


def write(folder: Path, blocks: list[Block]) -> Path:
    rows = (",".join(map(str, block)) for block in blocks)
    (folder / "block_order.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    return folder


def test_splits_waves() -> None:
    first, later = split_waves(two_waves())
    assert [block.block for block in first] == [0, 1, 2, 3]
    assert [(before.block, block.block) for before, block in later] == [(0, 4), (1, 5), (2, 6), (3, 7)]


def test_block_starting_at_an_end_is_in_a_later_wave() -> None:
    ends, begins = Block("grid", 0, 0, 5, 0, 100), Block("grid", 0, 1, 5, 100, 200)
    assert split_waves([ends, begins]) == ([ends], [(ends, begins)])


def test_sentences_contain_the_numbers() -> None:
    """Block 7 alone begins after the first wave; a launch shifted by one SM moves all blocks."""
    said = " ".join(sentences([two_waves(), two_waves(moved=1)]))
    assert "Blocks 0 to 7 ran on the SMs 0, 1, 2, 3, 0, 1, 2, 3." in said
    assert "The first wave of 4 blocks took 4 SMs. Its first 2 blocks by index took 1 pair of" in said
    assert "3 of 4 later blocks began before the first wave had ended" in said
    assert "began 500 ns after a block of their SM ended" in said
    assert "put 8 of 8 blocks on another SM" in said
    assert "CUDA promises no order" in said


def test_text_fits_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path, two_waves(sms=40)))
    assert explain.main([folder, "--order"]) == 0
    short = capsys.readouterr().out
    assert max(map(len, short.splitlines())) <= 80
    assert "SM 11 " in short and "SM 12 " not in short and "28 more SMs: --all" in short
    assert explain.main([folder, "--order", "--all"]) == 0
    assert "SM 39 " in capsys.readouterr().out


@pytest.mark.parametrize(("ending", "mark"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_picture(tmp_path: Path, ending: str, mark: bytes) -> None:
    made = tmp_path / f"order.{ending}"
    assert explain.main([str(write(tmp_path, two_waves())), "--order", "--output", str(made)]) == 0
    assert made.read_bytes().startswith(mark)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n", "the columns are not"),
        (f"{HEAD}\n", "no blocks"),
        (f"{HEAD}\nsmall,0,0,1\n", "line 2 is not a block"),
        (f"{HEAD}\nsmall,0,0,x,0,1\n", "line 2 is not a block"),
        (f"{HEAD}\nsmall,0,0,1,5,5\n", "line 2 has a number out of range"),
        (f"{HEAD}\nsmall,0,0,99999,0,1\n", "line 2 has a number out of range"),
        (f"{HEAD}\nsmall,0,0,-1,0,1\n", "line 2 has a number out of range"),
    ],
)
def test_damaged(tmp_path: Path, content: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "block_order.csv").write_text(content)
    with pytest.raises(ValueError, match=words):
        read_order(tmp_path)
    assert explain.main([str(tmp_path), "--order"]) == 4
    assert words in capsys.readouterr().err


def test_invalid_arguments(tmp_path: Path) -> None:
    for words in (["--order"], [str(tmp_path), "registers", "--order"], ["--output", "a.svg"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            explain.main(words)
    assert explain.main([str(tmp_path), "--order"]) == 4
