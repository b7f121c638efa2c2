# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_docs --write | --check: see tools/docs."""

from __future__ import annotations

import argparse
import sys

from occbench_docs import ROOT, DocsError, pages
from occbench_docs.blocks import block
from occbench_docs.figures import figure
from occbench_docs.marks import fill


def main() -> int:
    """0 all is as it should be, 1 a page is stale, 4 a mark cannot be filled in."""
    parser = argparse.ArgumentParser(prog="tools/docs", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="fill in every mark of README.md and docs/")
    what.add_argument("--check", action="store_true", help="name the marks that are not as they should be")
    options = parser.parse_args()
    status = 0
    for path in pages():
        name = path.relative_to(ROOT)
        text = path.read_text(encoding="utf-8")
        try:
            filled, stale = fill(text, block, figure)
        except DocsError as error:
            print(f"{name}:{error}", file=sys.stderr)
            status = 4
            continue
        if options.write and filled != text:
            path.write_text(filled, encoding="utf-8")
            print(f"{name}: written")
        elif stale and options.check:
            for mark in stale:
                print(f"{name}:{mark.line}: {mark}; tools/docs --write mends it", file=sys.stderr)
            status = status or 1
    return status


if __name__ == "__main__":
    sys.exit(main())
