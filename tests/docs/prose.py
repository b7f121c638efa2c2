# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/ as pages, sentences, numbers with a unit, and links."""

from __future__ import annotations

import re

from occbench_docs import ROOT, pages
from occbench_docs.marks import BEGIN, END, FIGURE

PAGES = [path.relative_to(ROOT).as_posix() for path in pages()]
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|(?<=[\u3002\uff01\uff1f\uff1a])\s*")  # in Chinese no blank follows
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
UNITS = (
    "GB/s|TB/s|MB/s|TFLOP/s|GFLOP/s|FLOP/s|FLOP|KiB|MiB|GiB|KB|MB|GB|TB|B|byte|bytes|bit|ns|us|ms|s|seconds?|minutes?|"
    "MHz|GHz|Hz|W|J|%|points?|times|cycles?|warps?|registers?|threads?|blocks?|lanes?|SMs?|barriers?|cases?|launches|"
    "samples?|rounds?|experiments?|FMAs?|loads?|iterations?|lines?|operands?|x"
)
NUMBER = re.compile(
    rf"(?<![\w.,-])[+-]?\d[\d,]*(?:\.\d+)?(?: x \d+)*[- ]?(?:{UNITS}|(?<= x \d) results)(?![\w/])"
)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def sentences(text: str) -> list[str]:
    """Sentences of the running text and of each table cell, without code and comments."""
    text = COMMENT.sub(" ", FENCE.sub(" ", text))
    text = re.sub(r"^#+ [^\n]*[^\n.!?:]$", r"\g<0>.", text, flags=re.MULTILINE)  # headings end
    rows = re.findall(r"^\|[^\n]*$", text, re.MULTILINE)
    running = re.sub(r"^\|[^\n]*$", " ", text, flags=re.MULTILINE)
    parts = [running, *(cell for row in rows for cell in row.strip("|").split("|"))]
    return [sentence for part in parts for sentence in SENTENCE_END.split(re.sub(r"\s+", " ", part).strip())]


def without_generated(text: str) -> list[tuple[int, str]]:
    """Hand-written lines with their numbers, without figures and commands."""
    kept, inside, fence = [], False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if BEGIN.match(line) or line == END:
            inside = line != END
        elif not inside:
            if opened := re.match(r" *(?:```+|~~~+)(\w*)", line):
                fence = "" if fence else opened[1] or "text"
            elif fence and (fence != "console" or re.match(r"\$ | {4}", line)):
                continue  # code and commands claim nothing
            kept.append((number, FIGURE.sub(" ", line)))
    return kept


def numbers(text: str) -> list[tuple[int, str]]:
    """Each number with a unit outside generated blocks and figures, with its line."""
    found = []
    for number, line in without_generated(text):
        line = re.sub(r"`[^` ]+`|\]\([^)]*\)|<!--.*?-->", " ", line)  # names, addresses, comments
        found += [(number, hit[0]) for hit in NUMBER.finditer(line)]
    return found


def links(text: str) -> list[str]:
    """Targets of links and images within the repository."""
    text = re.sub(r"`[^`]*`", " ", COMMENT.sub(" ", FENCE.sub(" ", text)))
    found = re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", text)
    return [target for target in found if not re.match(r"\w+:", target)]


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub and MkDocs name them."""
    heads = re.findall(r"^#+ (.+?)\s*$", COMMENT.sub(" ", FENCE.sub(" ", text)), re.MULTILINE)
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", head.lower()).strip()) for head in heads}
