# SPDX-License-Identifier: Apache-2.0
"""Folders for the report's pages to show, and what is asked of a page: as a document, and in a browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import made_up
import pandas as pd

H200 = made_up.newest_run("nvidia-h200")
EVIL = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">&lt;b>\'"`'
CLIFFS = [
    "experiment", "family", "kernel", "sweep", "dial", "from_value", "to_value", "from_case_id",
    "to_case_id", "cause", "predicted", "blocks_from", "blocks_to", "drop", "drop_low", "drop_high",
    "p_value", "verdict", "note",
]  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """made_up's, each with a name of its own, and reads that say how wide they are."""
    rows, seen = made_up.cases(), set()
    for i, row in enumerate(rows):
        if width := re.match(r"read-f32-(\d+)B", row["variant"]):
            row["bytes_per_access"] = int(width[1])
        if row["case_id"] in seen:
            row["case_id"] = row["case_id"].replace(f"{row['experiment']}.", f"{row['experiment']}.n{i}.", 1)
        seen.add(row["case_id"])
    return rows


def write(folder: Path, rows: list[dict[str, Any]] | None = None, **env: Any) -> Path:  # noqa: ANN401
    """A folder of results; env goes over made_up's, gpu_name into its gpu."""
    made_up.write(folder, cases() if rows is None else rows)
    name = env.pop("gpu_name", None)
    content = made_up.ENV | env
    if name:
        content = content | dict(gpu=made_up.ENV["gpu"] | dict(name=name))
    (folder / "env.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def steps(valid: pd.DataFrame, _: dict[str, Any]) -> pd.DataFrame:
    """Stands in for find_cliffs: where shared memory costs a block, and one that nobody predicted."""
    found = []
    rows = valid[valid["experiment"] == "shared_memory"]
    for (family, variant), line in rows.groupby(["family", "variant"]):
        line = line.sort_values("dynamic_smem_bytes")
        for (_, a), (_, b) in zip(line.iloc[:-1].iterrows(), line.iloc[1:].iterrows(), strict=True):
            if b["blocks_per_sm"] < a["blocks_per_sm"]:
                drop = 1 - b["throughput"] / a["throughput"]
                step = dict(experiment="shared_memory", family=family, kernel=variant, cause="shared_memory")
                step |= {f"{end}_case_id": row["case_id"] for end, row in (("from", a), ("to", b))}
                step |= dict(from_value=a["dynamic_smem_bytes"], to_value=b["dynamic_smem_bytes"], note=EVIL)
                step |= dict(blocks_from=a["blocks_per_sm"], blocks_to=b["blocks_per_sm"], drop=drop)
                found.append(step | dict(drop_low=drop, drop_high=drop, verdict="confirmed"))
    if found:
        found.append(found[0] | dict(verdict="absent"))
    return pd.DataFrame(found, columns=CLIFFS)


def built() -> Path | None:
    """The program: $OCCBENCH, or the newest that was built here."""
    if named := os.environ.get("OCCBENCH"):
        return Path(named)
    found = made_up.REPOSITORY.glob("build/*/benchmarks/occbench")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def quick_run(folder: Path) -> Path:
    """What quickstart shows where there is no GPU: preset quick on the model of an H200, all experiments.

    Where nothing is built, the made-up run as a model's, with as few cases of clusters as a model times: one.
    """
    if program := built():
        words = [program, "run", "--device", "model:h200", "--preset", "quick", "--output", folder]
        subprocess.run(words, check=True, capture_output=True, timeout=300)
        return folder
    rows = [row | dict(source="model") for row in cases()]
    clusters = [row for row in rows if row["experiment"] == "clusters"]
    rows = [row for row in rows if row not in clusters[1:]]
    return write(folder, rows, source="model", gpu_name="H200")


def document(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)
    assert found
    return json.loads(found[1])


def opened(browser: Any, page: Path) -> Any:  # noqa: ANN401
    """The page, from disk, with empty logs before it."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    for _ in range(600):
        if browser.execute_script("return window.firstPainted"):
            return browser
        time.sleep(0.05)
    raise AssertionError(browser.get_log("browser"))


def assert_quiet(browser: Any, page: Path) -> None:  # noqa: ANN401
    """No word on the console, and nothing fetched but the file itself."""
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith(("data:", "blob:"))} <= {page.as_uri()}
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def assert_whole(browser: Any, page: Path) -> None:  # noqa: ANN401
    """Every experiment has its entry at the side, with words, and its chart, with points; all is quiet."""
    shown = document(page)
    names = [plan["id"] for plan in shown["opening"]]
    names += [f"experiment-{each['name']}" for each in shown["experiments"]]
    entries = browser.execute_script(
        "return [...document.querySelectorAll('#findings td')].map((e) =>"
        " [e.querySelector('a').getAttribute('href').slice(1), e.querySelector('p').innerText.trim()])"
    )
    assert [name for name, _ in entries] == names and all(words for _, words in entries)
    assert [e.get_attribute("id") for e in browser.find_elements("tag name", "section")] == names
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    points = {name: points_of(browser, name) for name in names}
    assert all(points.values()), [name for name in names if not points[name]]
    assert browser.find_elements("css selector", ".failed") == []
    assert_quiet(browser, page)


# Points of a section's lines where its canvas is not bare.
DRAWN = """
const {figure, plots: [plot]} = sections.find((s) => s.element.id === arguments[0]);
if (!plot) return 0;
const {width, height} = plot.ctx.canvas, sheet = new OffscreenCanvas(width, height).getContext('2d');
sheet.drawImage(plot.ctx.canvas, 0, 0);
const pixels = sheet.getImageData(0, 0, width, height).data;
const points = figure.traces.filter((t) => t.kind === 'line').flatMap((t) => t.points);
return points.filter(({at, value}) => {
  const [x, y] = [plot.valToPos(at, 'x', true), plot.valToPos(value, 'y', true)];
  return pixels[4 * (Math.round(y) * width + Math.round(x)) + 3] > 0;
}).length;
"""


def points_of(browser: Any, section: str) -> int:  # noqa: ANN401
    """How many points the chart of a section shows when it has come into the window; 0 if there is none."""
    browser.execute_script("document.getElementById(arguments[0]).scrollIntoView()", section)
    for _ in range(100):
        if found := browser.execute_script(DRAWN, section):
            return found
        time.sleep(0.05)
    return 0


def teach_main(calculator: Any, *words: object) -> int:  # noqa: ANN401
    """The exit code of occbench teach."""
    from occbench_tools import teach

    return teach.main([*map(str, words), "--occbench", str(calculator.program)])
