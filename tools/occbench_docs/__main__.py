# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_docs --write | --check: see tools/docs."""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from occbench_tools.lines import write_whole

from occbench_docs import DOCS, ROOT, DocsError, experiments, man, measured, pages, pictures
from occbench_docs.blocks import block
from occbench_docs.figures import chinese_figure, figure
from occbench_docs.marks import fill


def refresh_pages(write: bool, only: Collection[Path] = ()) -> int:
    """0 all are current, 1 one is stale, 4 a mark cannot be filled in. `only`: if any, no other page."""
    status = 0
    for path, skeleton in experiments.skeletons().items():
        if only and path not in only:
            continue
        if not path.exists() and write:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, skeleton)
        elif not path.exists():
            print_error(f"{path.relative_to(ROOT)}: this experiment has no page")
            status = 1
    existing = pages()
    if unknown := [path for path in only if path not in existing]:
        raise DocsError(f"{unknown[0]} is not a page")
    for path in only or existing:
        name = path.relative_to(ROOT)
        text = path.read_text(encoding="utf-8")
        try:
            filled, stale = fill(text, block, chinese_figure if path.parent == DOCS / "zh" else figure)
        except DocsError as error:
            print(f"{name}:{error}", file=sys.stderr)
            status = 4
            continue
        if write and filled != text:
            write_whole(path, filled)
            print(f"{name}: written")
        elif not write:
            for mark in stale:
                print_error(f"{name}:{mark.line}: {mark}")
                status = status or 1
    return status


def refresh_pictures(write: bool) -> int:
    """0 all are current, 1 one is not."""
    status = 0
    for path, svg in pictures.stale_pictures():
        name = path.relative_to(ROOT)
        if not write:
            print_error(f"{name}: {'stale' if svg else 'no experiment of the run'}")
            status = 1
        elif svg:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, svg)
            print(f"{name}: drawn")
        else:
            path.unlink()
            print(f"{name}: removed")
    return status


def refresh_man_page(write: bool) -> int:
    """0 it matches the program's help, 1 it does not."""
    wanted = man.page()
    if wanted is None:
        print("tools/docs: help2man is not installed: the man page is not updated", file=sys.stderr)
        return 0
    return refresh(man.PAGE, wanted, "the program's help", write)


def refresh_measured(write: bool) -> int:
    """0 the calculator's measured curves are those of the committed runs, 1 they are not."""
    return refresh(measured.FILE, measured.text(), "the committed runs", write)


def refresh(path: Path, wanted: str, source: str, write: bool) -> int:
    """0 the file has the text that `source` gives, or was written; 1 it does not."""
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        return 0
    if not write:
        print_error(f"{path.relative_to(ROOT)}: does not match {source}")
        return 1
    write_whole(path, wanted)
    print(f"{path.relative_to(ROOT)}: written")
    return 0


def print_error(what: str) -> None:
    print(f"{what}; run tools/docs --write", file=sys.stderr)


def main() -> int:
    """The worst status of all."""
    parser = argparse.ArgumentParser(prog="tools/docs", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--write", action="store_true", help="fill in every mark of README.md and docs/, draw pictures"
    )
    what.add_argument("--check", action="store_true", help="name the marks and pictures that are stale")
    parser.add_argument(
        "pages", nargs="*", type=Path, metavar="PAGE", help="only these pages, and no picture (default: all)"
    )
    options = parser.parse_args()
    try:
        if options.pages:
            return refresh_pages(options.write, [path.resolve() for path in options.pages])
        parts = (refresh_pages, refresh_pictures, refresh_man_page, refresh_measured)
        return max(refresh(options.write) for refresh in parts)
    except DocsError as error:
        print(f"tools/docs: {error}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
