# SPDX-License-Identifier: Apache-2.0
"""occbench report: the page itself, in a browser."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import report
from occbench_tools.report import payload
from pages import EVIL, H200, assert_quiet, assert_whole, cases, document, opened, points_of, write

EXPERIMENTS = sorted(made_up.ENV["experiments"])
pytestmark = pytest.mark.usefixtures("made_up_cliffs")


# drawn(section): the words that its plots write, with their places in pixels of the chart.
WORDS = """
const drawn = (section) => section.plots.flatMap((plot) => {
  const words = [], context = plot.ctx, ratio = uPlot.pxRatio;
  const from = plot.root.getBoundingClientRect().top - section.chart.getBoundingClientRect().top;
  context.fillText = (text, x, y) => {
    if (text === '') return;
    const size = context.measureText(text), at = context.getTransform().transformPoint({x, y});
    words.push({text, left: (at.x - size.actualBoundingBoxLeft) / ratio,
      right: (at.x + size.actualBoundingBoxRight) / ratio,
      top: (at.y - size.actualBoundingBoxAscent) / ratio + from,
      bottom: (at.y + size.actualBoundingBoxDescent) / ratio + from});
  };
  plot.batch(() => plot.redraw(false, false));  // at once
  delete context.fillText;
  return words;
});
"""


def pick(browser: Any, section: str, axis: str, value: str) -> None:  # noqa: ANN401
    browser.execute_script(
        "const s = document.querySelector(`#${arguments[0]} select[data-axis=${arguments[1]}]`);"
        "s.value = arguments[2]; s.dispatchEvent(new Event('change'));", section, axis, value,
    )  # fmt: skip


def lines_of(browser: Any, section: str) -> list[dict[str, Any]]:  # noqa: ANN401
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    assert points_of(browser, section)
    return browser.execute_script(
        "return sections.find((s) => s.element.id === arguments[0]).figure.traces"
        ".filter((t) => t.kind === 'line').map((t) => ({name: t.label, x: t.points.map((p) => p.at),"
        " y: t.points.map((p) => p.value)}))", section,
    )  # fmt: skip


def point_at(browser: Any, section: str) -> str:  # noqa: ANN401
    """Moves the mouse to the middle of the first line; the words of the card that opens."""
    from selenium.webdriver.common.action_chains import ActionChains

    x, y = browser.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "const s = sections.find((s) => s.element.id === arguments[0]), [plot] = s.plots;"
        "s.chart.scrollIntoView({block: 'center'});"
        "const { points } = s.figure.traces.find((t) => t.kind === 'line');"
        "const point = points[points.length >> 1];"
        "const b = plot.over.getBoundingClientRect();"
        "return [b.x + plot.valToPos(point.at, 'x'), b.y + plot.valToPos(point.value, 'y')]",
        section,
    )  # fmt: skip
    move = ActionChains(browser, duration=50)
    move.w3c_actions.pointer_action.move_to_location(int(x) - 3, int(y))
    move.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    move.perform()
    for _ in range(40):
        if words := browser.execute_script(
            "const c = document.getElementById('row'); return c.hidden ? '' : c.innerText"
        ):
            return words
        time.sleep(0.05)
    return ""


def test_in_a_browser(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN401
    other, page = write(tmp_path / "other", gpu_name="Another GPU"), tmp_path / "page.html"
    begin = time.monotonic()
    assert report.main([str(H200), str(other), "--output", str(page)]) == 0
    built_s, size = time.monotonic() - begin, page.stat().st_size
    assert size < 3.5e6
    opened(browser, page)
    first = browser.execute_script("return window.firstPainted")
    with capsys.disabled():
        print(f"\nreport: built in {built_s:.1f} s, {size / 1e6:.1f} MB, first chart painted after "
              f"{first / 1e3:.2f} s")  # fmt: skip
    sections = browser.execute_script(
        "return [...document.querySelectorAll('main section')].map((s) => s.id)"
    )
    assert sections[0] == "throughput-over-occupancy"
    assert len(sections) == 1 + len(json.loads((H200 / "env.json").read_text())["experiments"])
    assert browser.execute_script("return sections.filter((s) => s.plots.length).length") < len(sections)
    bare = [s for s in sections if not browser.find_elements("css selector", f"#{s} .legend .on")]
    assert bare == []

    assert "undefined" not in browser.find_element("tag name", "body").text
    before = lines_of(browser, "experiment-latency_hiding")
    pick(browser, "experiment-latency_hiding", "x", "in_flight_bytes")
    after = lines_of(browser, "experiment-latency_hiding")
    kept = [line["y"] for line in before]  # FMA chains have nothing in flight
    assert after and all(line["y"] in kept for line in after)
    most = {line["name"]: max(line["x"]) for line in after}
    reads = {name: re.fullmatch(r"read-f32-(\d+)B-ilp(\d+)", name) for name in most}
    assert sum(map(bool, reads.values())) >= 2
    for name, sizes in reads.items():
        assert not sizes or most[name] == 64 * 32 * int(sizes[1]) * int(sizes[2]), name
    assert max(before[0]["x"]) == 64
    texts = browser.execute_script(
        WORDS + "return drawn(sections.find((s) => s.element.id === 'experiment-latency_hiding'))"
        ".map((word) => word.text)"
    )
    assert "32 KiB" in texts and "0 B" not in texts  # every tick of a logarithmic axis has its number
    pick(browser, "experiment-latency_hiding", "y", "ceiling")
    assert max(max(line["y"]) for line in lines_of(browser, "experiment-latency_hiding")) < 105

    pick(browser, "experiment-latency_hiding", "x", "warps_per_sm")
    after = lines_of(browser, "experiment-latency_hiding")
    browser.find_element("css selector", "#runs input[data-run='0']").click()
    alone = lines_of(browser, "experiment-latency_hiding")
    assert 0 < len(alone) < len(after)
    browser.find_element("css selector", "#runs input[data-run='0']").click()
    assert len(lines_of(browser, "experiment-latency_hiding")) == len(after)

    words = point_at(browser, "experiment-latency_hiding")
    rows = pd.read_csv(H200 / "cases.csv").set_index("case_id")
    row = rows.loc[next(line for line in words.splitlines() if line.startswith("latency_hiding."))]
    row = row.rename(lambda column: column.replace("_per_pass", "_per_iteration")).dropna()
    for name in row.index.difference([*payload.SHARED_BY_RUN, "case_id"]):
        assert f"\n{name}\n" in f"\n{words}\n", name
    assert_quiet(browser, page)


def test_keyboard_theme_and_print(browser: Any, run: Path, tmp_path: Path) -> None:  # noqa: ANN401
    from selenium.webdriver.common.keys import Keys

    page = tmp_path / "page.html"
    report.main([str(run), "--output", str(page)])
    opened(browser, page)
    chart, card = browser.find_element("css selector", "section .chart"), browser.find_element("id", "row")
    browser.execute_script("arguments[0].focus()", chart)
    chart.send_keys(Keys.ARROW_RIGHT)
    first = card.text
    chart.send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    assert card.text.startswith("A GPU") and card.text != first
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not card.is_displayed()
    browser.execute_script("scrollTo({top: 0, behavior: 'instant'})")  # the focus went down to the chart
    theme = browser.find_element("id", "theme")
    grounds = set()
    for _ in range(3):
        theme.click()
        grounds.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2
    paper = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert paper.startswith(b"%PDF") and paper.count(b"/Type /Page\n") >= len(EXPERIMENTS)
    drawn = "return sections.filter((s) => s.plots.length).length"
    assert browser.execute_script(drawn) == 1 + len(EXPERIMENTS)  # and the opening
    texts = browser.execute_script(
        WORDS + "return drawn(sections.find((s) => s.element.id === 'experiment-shared_memory'))"
        ".map((word) => word.text)"
    )
    assert "Cliffs, by shared memory" in texts and "\u221250 %" in texts  # of the reads, 2 -> 1 blocks
    assert_quiet(browser, page)


def test_hostile_text_is_not_executed(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    rows = [row for row in cases() if row["experiment"] in ("shared_memory", "block_size")]
    for row in rows[::3]:
        row |= dict(variant=EVIL, curve=EVIL, data_type=EVIL)
    rows.append(rows[0] | dict(status="skipped", reason=EVIL, case_id="skipped"))
    rows += [row | dict(experiment=f"x{EVIL}", case_id=f"x{row['case_id']}") for row in rows[:6]]
    folder = write(tmp_path / "evil", rows, gpu_name=EVIL, git_commit=EVIL, created_utc=EVIL, host=EVIL)
    page = tmp_path / "page.html"
    twin = write(tmp_path / "twin", rows, gpu_name=EVIL)
    assert report.main([str(folder), str(twin), "--output", str(page)]) == 0
    opened(browser, page)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    time.sleep(0.3)
    assert EVIL[:60] in point_at(browser, "experiment-block_size")
    assert browser.execute_script("return [window.hacked, document.images.length, document.title]")[:2] == [
        None,
        0,
    ]
    assert EVIL in browser.find_element("tag name", "h1").text and EVIL in browser.title
    cells = browser.find_elements("css selector", "main details td:last-child")
    assert any(EVIL in cell.text for cell in cells)
    assert (
        browser.execute_script("return document.querySelectorAll('script').length") == 3
    )  # data, uPlot, the page's
    assert_quiet(browser, page)


def test_experiment_names_do_not_clash_with_page_ids(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """What has the id `uPlot` would stand for it."""
    rows = [row for row in cases() if row["experiment"] == "registers"]
    names = ["uPlot", "sections", "footer", "row", "data", "main"]
    rows += [row | dict(experiment=name, case_id=f"{name}{row['case_id']}") for name in names for row in rows]
    page = tmp_path / "page.html"
    assert report.main([str(write(tmp_path / "evil", rows)), "--output", str(page)]) == 0
    opened(browser, page)
    assert browser.execute_script("return typeof uPlot") == "function"
    assert browser.find_elements("css selector", ".failed") == []
    assert points_of(browser, "experiment-uPlot") and points_of(browser, "experiment-registers")
    assert browser.find_element("id", "footer").tag_name == "footer"
    assert_quiet(browser, page)


def test_model_is_marked_in_every_entry(browser: Any, run: Path, model: Path, tmp_path: Path) -> None:  # noqa: ANN401
    page = tmp_path / "page.html"
    report.main([str(run), str(model), "--allow-model", "--output", str(page)])
    opened(browser, page)
    entries = browser.execute_script(
        "return [...document.querySelectorAll('.legend .on')].map((e) => e.textContent)"
    )
    assert entries and all("model of A100" in words for words in entries)
    assert "MODEL" in browser.find_element("id", "banner").text
    report.main([str(model), "--output", str(page)])
    opened(browser, page)
    assert "nothing on this page was measured" in browser.find_element("id", "banner").text
    entries = browser.execute_script(
        "return [...document.querySelectorAll('.legend .on')].map((e) => e.textContent)"
    )
    assert entries and all("model of A100" in words for words in entries)
    report.main([str(run), "--output", str(page)])
    opened(browser, page)
    assert not browser.find_element("id", "banner").is_displayed()


def test_page_of_a_quickstart_run(browser: Any, quick: Path, tmp_path: Path) -> None:  # noqa: ANN401
    page = tmp_path / "page.html"
    assert report.main([str(quick), "--output", str(page)]) == 0
    asked = json.loads((quick / "env.json").read_text())["experiments"]
    assert {e["name"] for e in document(page)["experiments"]} == set(asked)
    assert len(asked) >= len(EXPERIMENTS)
    assert_whole(opened(browser, page), page)
    assert browser.find_element("css selector", "#findings h2").text == "Predictions"
    assert len(pd.read_csv(quick / "cases.csv").query("experiment == 'clusters' and status == 'valid'")) == 1


def one_each() -> list[dict[str, Any]]:
    """One case of each experiment."""
    return list({row["experiment"]: row for row in cases()}.values())


@pytest.mark.parametrize(
    "rows",
    [
        [row for row in cases() if row["experiment"] == "waves"],
        one_each()[:1],
        one_each(),
        [row | dict(working_set_bytes=0) for row in cases() if row["experiment"] == "pointer_chase"],
        [row | dict(experiment="of_tomorrow") for row in cases() if row["experiment"] == "gemv"],
    ],
    ids=["one experiment", "one case", "one case each", "nothing on a log axis", "unknown"],
)
def test_page_of_unusual_runs(browser: Any, tmp_path: Path, rows: list[dict[str, Any]]) -> None:  # noqa: ANN401
    page = tmp_path / "page.html"
    assert report.main([str(write(tmp_path / "run", rows)), "--output", str(page)]) == 0
    assert_whole(opened(browser, page), page)


def test_devices_and_a_model_beside_them(browser: Any, run: Path, quick: Path, tmp_path: Path) -> None:  # noqa: ANN401
    page, other = tmp_path / "page.html", write(tmp_path / "other", gpu_name="Another GPU")
    for folders in ([run], [run, other], [run, quick, "--allow-model"], [quick, other, "--allow-model"]):
        assert report.main([*map(str, folders), "--output", str(page)]) == 0
        assert_whole(opened(browser, page), page)


def test_predictions_are_marked(browser: Any, tmp_path: Path, quick: Path) -> None:  # noqa: ANN401
    """In each section, and at the side where a device stands beside it."""
    page, entry = tmp_path / "page.html", "#findings a[href='#experiment-registers'] + p"
    own = write(tmp_path / "own", [row for row in cases() if row["experiment"] == "latency_hiding"])
    for folders, mark in (([quick], "Predicted. "), ([quick, own, "--allow-model"], "model of H200. ")):
        assert report.main([*map(str, folders), "--output", str(page)]) == 0
        opened(browser, page)
        assert browser.find_element("css selector", "#experiment-registers .words").text.startswith(mark)
        side = browser.find_element("css selector", entry).text
        assert side.startswith("Predicted: ") == (len(folders) > 1) and side
    measured = "#findings a[href='#experiment-latency_hiding'] + p"
    assert not browser.find_element("css selector", measured).text.startswith("Predicted")


def test_one_failing_section_does_not_stop_the_others(
    browser: Any,  # noqa: ANN401
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = payload.experiment_of

    def broken(name: str, *rest: Any) -> dict[str, Any]:  # noqa: ANN401
        return made(name, *rest) | (dict(groups=None) if name in ("latency_hiding", "waves") else {})

    monkeypatch.setattr(payload, "experiment_of", broken)
    page = tmp_path / "page.html"
    assert report.main([str(run), "--output", str(page)]) == 0
    opened(browser, page)
    said = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert ["TypeError" in words for words in said] == [True] * 3
    failed = browser.find_elements("css selector", "section .failed")
    assert [e.find_element("xpath", "..").get_attribute("id") for e in failed] == [
        "throughput-over-occupancy", "experiment-latency_hiding", "experiment-waves",
    ]  # fmt: skip
    assert all("could not be drawn" in e.text for e in failed)
    assert len(browser.find_elements("css selector", "#findings a")) == 1 + len(EXPERIMENTS)
    for name in ("intensity", "block_size", "clusters", "energy"):
        assert points_of(browser, f"experiment-{name}"), name


OVERFLOW = (
    WORDS
    + """
const found = [];
for (const section of sections) {
  const words = drawn(section), frame = section.chart.getBoundingClientRect();
  const within = (b) => b.left >= -1 && b.right <= frame.width + 1 && b.top >= -1
    && b.bottom <= frame.height + 1;
  const left = (a, b) => a.right < b.left + 1, above = (a, b) => a.bottom < b.top + 3;
  const apart = (a, b) => left(a, b) || left(b, a) || above(a, b) || above(b, a);
  const over = words.some((one, i) => words.slice(i + 1).some((other) => !apart(one, other)));
  if (!words.length || over || !words.every(within)) found.push(section.element.id);
}
return found;
"""
)


@pytest.fixture
def two_devices(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The page on both committed runs."""
    h100 = made_up.newest_run("nvidia-h100-80gb-hbm3")

    def make(page: Path) -> None:
        assert report.main([str(H200), str(h100), "--output", str(page)]) == 0

    return once("two-devices.html", make)


@pytest.mark.parametrize("width", [390, 1440])
def test_charts_are_not_clipped(browser: Any, two_devices: Path, width: int) -> None:  # noqa: ANN401
    """Of two devices: the words of a chart are within it and over no others; the picture fits its place."""
    page = two_devices
    metrics = dict(width=width, height=844, deviceScaleFactor=1, mobile=width < 760)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        opened(browser, page)
        # One at a time: all together take longer than a script may, where the machine is busy.
        for place in range(browser.execute_script("return sections.length")):
            browser.execute_script("sections[arguments[0]].draw()", place)
        time.sleep(1)
        root = "document.documentElement"  # a scroll bar takes of its width in some browsers
        assert browser.execute_script(f"return {root}.scrollWidth - {root}.clientWidth") == 0
        assert browser.execute_script(OVERFLOW) == []
        assert browser.execute_script(
            "const i = document.querySelector('#devices img'), place = i.closest('#devices');"
            "return i.naturalWidth > 0 && i.clientWidth <= place.clientWidth && !i.closest('.scroll')"
        )
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_draws_the_prediction_band(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    ends = dict(throughput_predicted_low=0.9, throughput_predicted_high=1.2)
    rows = [
        made_up.with_prediction(row) | {name: share * row["throughput"] for name, share in ends.items()}
        for row in cases()
        if row["experiment"] == "shared_memory"
    ]
    page = tmp_path / "page.html"
    assert report.main([str(write(tmp_path / "run", rows)), "--output", str(page)]) == 0
    opened(browser, page)
    assert points_of(browser, "experiment-shared_memory")
    said = browser.execute_script(
        "return sections.find((s) => s.element.id === 'experiment-shared_memory').figure.traces"
        ".filter((t) => t.kind === 'model').map((t) => [t.points.map((p) => p.value),"
        " t.points.map((p) => p.high - p.value), t.points.map((p) => p.value - p.low)])"
    )
    assert said
    for middle, above, below in said:
        assert above == pytest.approx([0.2 * y for y in middle], rel=1e-3)
        assert below == pytest.approx([0.1 * y for y in middle], rel=1e-3)
