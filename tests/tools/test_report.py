# SPDX-License-Identifier: Apache-2.0
"""occbench report: the document it makes of a folder, what it refuses, and the page itself in a browser."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("plotly")

import made_up
import pandas as pd
from occbench_tools import report
from occbench_tools.report import layout, payload


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


H200 = max((made_up.REPOSITORY / "results" / "nvidia-h200").iterdir())
CLIFFS = [
    "experiment",
    "family",
    "variant",
    "sweep",
    "dial",
    "from_value",
    "to_value",
    "from_case_id",
    "to_case_id",
    "cause",
    "predicted",
    "blocks_from",
    "blocks_to",
    "drop",
    "drop_low",
    "drop_high",
    "p_value",
    "verdict",
    "note",
]
EVIL = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">&lt;b>\'"`'


def steps(valid: pd.DataFrame, _: dict[str, Any]) -> pd.DataFrame:
    """Stands in for find_cliffs: where shared memory costs a block, and one that nobody foretold."""
    found = []
    rows = valid[valid["experiment"] == "shared_memory"]
    for (family, variant), line in rows.groupby(["family", "variant"]):
        line = line.sort_values("dynamic_smem_bytes")
        for (_, a), (_, b) in zip(line.iloc[:-1].iterrows(), line.iloc[1:].iterrows(), strict=True):
            if b["blocks_per_sm"] < a["blocks_per_sm"]:
                drop = 1 - b["throughput"] / a["throughput"]
                step = dict(experiment="shared_memory", family=family, variant=variant, cause="shared_memory")
                step |= {f"{end}_case_id": row["case_id"] for end, row in (("from", a), ("to", b))}
                step |= dict(from_value=a["dynamic_smem_bytes"], to_value=b["dynamic_smem_bytes"], note=EVIL)
                step |= dict(blocks_from=a["blocks_per_sm"], blocks_to=b["blocks_per_sm"], drop=drop)
                found.append(step | dict(drop_low=drop, drop_high=drop, verdict="confirmed"))
    if found:
        found.append(found[0] | dict(verdict="absent"))
    return pd.DataFrame(found, columns=CLIFFS)


@pytest.fixture(autouse=True)
def cliffs(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("occbench_tools.cliffs")
    stand_in.find_cliffs = steps  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "occbench_tools.cliffs", stand_in)


def write(folder: Path, rows: list[dict[str, Any]] | None = None, **env: Any) -> Path:  # noqa: ANN401
    """A folder of results; env goes over made_up's, gpu_name into its gpu."""
    made_up.write(folder, cases() if rows is None else rows)
    name = env.pop("gpu_name", None)
    content = made_up.ENV | env
    if name:
        content = content | dict(gpu=made_up.ENV["gpu"] | dict(name=name))
    (folder / "env.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rows = [row | dict(source="model") for row in cases()]
    return write(tmp_path / "model", rows, source="model", gpu_name="model of A100")


def document(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)
    assert found
    return json.loads(found[1])


def unpacked(column: Any, count: int) -> list[Any]:  # noqa: ANN401
    if isinstance(column, list):
        return column
    return [column["d"][i] for i in column["i"]] if "d" in column else [column["c"]] * count


def test_every_row_is_in_the_page_once(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert report.main([str(run), "--output", str(target)]) == 0
    shown = document(target)
    found = {}
    for e in shown["experiments"]:
        columns = {name: unpacked(column, e["count"]) for name, column in e["columns"].items()}
        for i, case_id in enumerate(columns["case_id"]):
            found[e["name"], case_id] = {name: column[i] for name, column in columns.items()}
    rows = {(row["experiment"], row["case_id"]): row for row in cases()}
    assert found.keys() == rows.keys() and sum(e["count"] for e in shown["experiments"]) == len(rows)
    for key, row in rows.items():
        for name, value in row.items():
            if name not in payload.SHARED_BY_RUN:
                assert found[key][name] == (
                    value if isinstance(value, str) else pytest.approx(value, rel=1e-6)
                ), name
    names = [e["name"] for e in shown["experiments"]]
    assert names == payload.order([payload.Run(run)]) and all(e["findings"][0] for e in shown["experiments"])


def test_absent_cliffs_are_not_shown(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    report.main([str(run), "--output", str(target)])
    shown = document(target)
    found = next(e["cliffs"] for e in shown["experiments"] if e["name"] == "shared_memory")
    verdicts = {dict(zip(shown["cliff_columns"], cells, strict=True))["verdict"] for cells in found}
    assert verdicts == {"confirmed"}


def test_with_the_cliffs_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "occbench_tools.cliffs")
    pytest.importorskip("occbench_tools.cliffs")
    target = tmp_path / "page.html"
    assert report.main([str(H200), "--output", str(target)]) == 0
    shown = document(target)
    by_name = {e["name"]: e for e in shown["experiments"]}
    for name in ("registers", "shared_memory"):
        ids = set(unpacked(by_name[name]["columns"]["case_id"], by_name[name]["count"]))
        steps = [dict(zip(shown["cliff_columns"], cells, strict=True)) for cells in by_name[name]["cliffs"]]
        assert steps and {step[f"{end}_case_id"] for step in steps for end in ("from", "to")} <= ids


@pytest.mark.parametrize("experiment", layout.LAYOUTS)
def test_questions_and_dials_are_the_programs(experiment: str) -> None:
    source = (made_up.REPOSITORY / "benchmarks" / f"{experiment}.cpp").read_text(encoding="utf-8")
    how = layout.LAYOUTS[experiment]
    assert f'.question = "{how.question}"' in source and f'.dial = "{how.dial}"' in source


def test_bytes_in_flight() -> None:
    rows = pd.DataFrame(
        [
            dict(
                experiment="bulk_copy",
                warps_per_sm=4,
                blocks_per_sm=2,
                ilp=1,
                bytes_per_access=1,
                bytes_in_flight=512,
            ),
            dict(experiment="tensor_core", warps_per_sm=4, blocks_per_sm=2, ilp=None, bytes_in_flight=512),
            dict(experiment="latency_hiding", warps_per_sm=12, blocks_per_sm=3, ilp=4, bytes_per_access=16),
            dict(experiment="latency_hiding", warps_per_sm=12, blocks_per_sm=3, ilp=4),
        ]
    )
    assert list(payload.in_flight_bytes(rows).fillna(-1)) == [2048, 1024, 12 * 32 * 64, -1]


def test_model_beside_measured_only_if_asked(
    run: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page.html"
    assert report.main([str(run), str(model), "--output", str(target)]) == 2
    said = capsys.readouterr()
    assert "--allow-model" in said.err and said.err.count("\n") == 1 and not target.exists()
    assert report.main([str(run), str(model), "--allow-model", "--output", str(target)]) == 0
    assert [entry["model"] for entry in document(target)["runs"]] == [False, True]
    assert report.main([str(model), "--output", str(target)]) == 0
    assert not any(words for e in document(target)["experiments"] for words in e["findings"])


def test_names_of_runs_differ(run: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", git_commit="fedcba9")
    same = write(tmp_path / "same")
    (tmp_path / "deep").mkdir()
    twin = write(tmp_path / "deep" / "same")
    assert payload.labels([payload.Run(f) for f in (run, other)]) == ["A GPU, 0123456", "A GPU, fedcba9"]
    names = payload.labels([payload.Run(f) for f in (run, same, twin)])
    assert len(set(names)) == 3


def broken(folder: Path, change: Callable[[str], str]) -> Path:
    path = folder / "cases.csv"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda text: text.replace("\n4,", "\n99,"), 4, "schema_version 99"),
        (lambda text: "", 4, "validate"),
        (lambda text: re.sub(r",48,0\.75,", ",many,0.75,", text), 4, "warps_per_sm"),
        (lambda text: text.replace(",valid,", ",invalid,"), 1, "no valid case"),
        (lambda text: text[: text.rindex(",valid,") + 20], 1, "cut off"),
        (lambda text: text + text[text.rindex("\n", 0, -1) + 1 :], 1, "case_id"),
    ],
)
def test_bad_input(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str], str],
    code: int,
    words: str,
) -> None:
    assert report.main([str(broken(run, change)), "--output", str(tmp_path / "page.html")]) == code
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_no_folder_and_no_place(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path / "nowhere")]) == 4
    assert report.main([str(run), "--output", str(tmp_path / "no" / "page.html")]) == 4
    assert capsys.readouterr().err.count("\n") == 2


def test_pictures(run: Path, tmp_path: Path) -> None:
    rows = [row for row in cases() if row["experiment"] in ("shared_memory", "waves")]
    target = tmp_path / "pictures"
    assert (
        report.main([str(write(run, rows)), "--output", str(tmp_path / "p.html"), "--png", str(target)]) == 0
    )
    assert sorted(p.name for p in target.iterdir()) == ["shared_memory.png", "waves.png"]


# The page in a browser.


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    programs = [shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")]
    if not all(programs):
        pytest.skip("no chromium and chromedriver on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1440,900"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    driver.get("data:text/html,")  # the browser's own start is over
    yield driver
    driver.quit()


def opened(browser: Any, page: Path) -> Any:  # noqa: ANN401
    """The page, from disk, with empty logs before it."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    for _ in range(600):
        if browser.execute_script("return window.firstPlot.live"):
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


def pick(browser: Any, section: str, axis: str, value: str) -> None:  # noqa: ANN401
    browser.execute_script(
        "const s = document.querySelector(`#${arguments[0]} select[data-axis=${arguments[1]}]`);"
        "s.value = arguments[2]; s.dispatchEvent(new Event('change'));", section, axis, value,
    )  # fmt: skip


def lines_of(browser: Any, section: str) -> list[dict[str, Any]]:  # noqa: ANN401
    return browser.execute_script(
        "return document.querySelector(`#${arguments[0]} .chart`).data.filter((t) => t.meta === 'line')"
        ".map((t) => ({name: t.name, x: [...t.x], y: [...t.y], rows: t.customdata}))", section,
    )  # fmt: skip


def point_at(browser: Any, section: str) -> str:  # noqa: ANN401
    """Moves the mouse to the middle of the first line; the words of the card that opens."""
    from selenium.webdriver.common.action_chains import ActionChains

    x, y = browser.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "const g = document.querySelector(`#${arguments[0]} .chart`); g.scrollIntoView({block: 'center'});"
        "const t = g.data.find((t) => t.meta === 'line'), i = t.x.length >> 1, b = g.getBoundingClientRect();"
        "const { xaxis, yaxis } = g._fullLayout;"
        "return [b.x + xaxis._offset + xaxis.d2p(t.x[i]), b.y + yaxis._offset + yaxis.d2p(t.y[i])]",
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
    assert size < 8e6
    opened(browser, page)
    first = browser.execute_script("return window.firstPlot")
    with capsys.disabled():
        print(f"\nreport: built in {built_s:.1f} s, {size / 1e6:.1f} MB, first plot painted after "
              f"{first['painted'] / 1e3:.2f} s, live after {first['live'] / 1e3:.2f} s")  # fmt: skip
    sections = browser.execute_script(
        "return [...document.querySelectorAll('main section')].map((s) => s.id)"
    )
    assert len(sections) == len(layout.LAYOUTS)
    assert browser.execute_script("return document.querySelectorAll('.js-plotly-plot').length") < len(
        sections
    )
    bare = [s for s in sections if not browser.find_elements("css selector", f"#{s} .legend .on")]
    assert bare == []

    assert "undefined" not in browser.find_element("tag name", "body").text
    before = lines_of(browser, "latency_hiding")
    pick(browser, "latency_hiding", "x", "in_flight_bytes")
    after = lines_of(browser, "latency_hiding")
    kept = [line["y"] for line in before]  # FMA chains have nothing in flight
    assert after and all(line["y"] in kept for line in after)
    assert max(after[0]["x"]) == 64 * 32 * 4 and max(before[0]["x"]) == 64
    pick(browser, "latency_hiding", "y", "ceiling")
    assert max(max(line["y"]) for line in lines_of(browser, "latency_hiding")) < 105

    pick(browser, "latency_hiding", "x", "warps_per_sm")
    after = lines_of(browser, "latency_hiding")
    browser.find_element("css selector", "#runs input[data-run='0']").click()
    alone = lines_of(browser, "latency_hiding")
    assert 0 < len(alone) < len(after)
    browser.find_element("css selector", "#runs input[data-run='0']").click()
    assert len(lines_of(browser, "latency_hiding")) == len(after)

    words = point_at(browser, "latency_hiding")
    rows = pd.read_csv(H200 / "cases.csv").set_index("case_id")
    row = rows.loc[next(line for line in words.splitlines() if line.startswith("latency_hiding."))]
    for name in row.dropna().index.difference([*payload.SHARED_BY_RUN, "case_id"]):
        assert f"\n{name}\n" in f"\n{words}\n", name
    assert_quiet(browser, page)


def test_keys_theme_and_paper(browser: Any, run: Path, tmp_path: Path) -> None:  # noqa: ANN401
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
    theme = browser.find_element("id", "theme")
    grounds = set()
    for _ in range(3):
        theme.click()
        grounds.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2
    paper = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert paper.startswith(b"%PDF") and paper.count(b"/Type /Page\n") >= len(layout.LAYOUTS)
    drawn = "return document.querySelectorAll('.js-plotly-plot').length"
    assert browser.execute_script(drawn) == len(layout.LAYOUTS)
    texts = browser.execute_script(
        "return document.querySelector('#shared_memory .chart').layout.annotations.map((a) => a.text)"
    )
    assert "Cliffs, by shared memory" in texts and "\u221250 %" in texts  # of the reads, 2 -> 1 blocks
    assert_quiet(browser, page)


def test_hostile_words_stay_words(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    rows = [row for row in cases() if row["experiment"] in ("shared_memory", "block_size")]
    for row in rows[::3]:
        row |= dict(variant=EVIL, case_id=f"{row['case_id']}{EVIL}", limiters=EVIL)
    rows.append(rows[0] | dict(status="skipped", reason=EVIL, case_id=EVIL))
    rows += [row | dict(experiment=f"x{EVIL}", case_id=f"x{row['case_id']}") for row in rows[:6]]
    folder = write(tmp_path / "evil", rows, gpu_name=EVIL, git_commit=EVIL, created_utc=EVIL, host=EVIL)
    page = tmp_path / "page.html"
    twin = write(tmp_path / "twin", rows, gpu_name=EVIL)
    assert report.main([str(folder), str(twin), "--output", str(page)]) == 0
    opened(browser, page)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    time.sleep(0.3)
    assert EVIL[:60] in point_at(browser, "block_size")
    assert browser.execute_script("return [window.hacked, document.images.length, document.title]")[:2] == [
        None,
        0,
    ]
    assert EVIL in browser.find_element("tag name", "h1").text and EVIL in browser.title
    assert EVIL in browser.find_element("css selector", "main details td:last-child").text
    assert (
        browser.execute_script("return document.querySelectorAll('script').length") == 3
    )  # data, Plotly, the page's
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


# The page for teaching.


@pytest.fixture
def calculator(tmp_path: Path) -> Path:
    """The built occbench where there is one; else the arithmetic of A100 and 9.0, for these tests alone."""
    from occbench_tools.report import teach

    with contextlib.suppress(report.Refused):
        return Path(teach.Calculator(None).program)
    path = tmp_path / "occbench"
    path.write_text(f"#!{sys.executable}\n{CALCULATOR}", encoding="utf-8")
    path.chmod(0o755)
    return path


CALCULATOR = """
import json, sys
word = dict(zip(sys.argv[2::2], sys.argv[3::2]))
a100 = word["--device"] == "a100"
if not a100 and word["--device"] != "cc9.0":
    sys.exit("occbench: no such device")
block, registers = int(word["--block-size"]), int(word["--registers"])
smem, barriers = int(word.get("--dynamic-smem", 0)), int(word.get("--barriers", 1))
warps, each, kib = -(-block // 32), -(-registers // 8) * 256, 164 if a100 else 228
limits = dict(warps=64 // warps, blocks=32, registers=4 * (16384 // each) // warps)
limits["shared_memory"] = kib * 1024 // (-(-(smem + 1024) // 128) * 128)
if not a100:
    limits["barriers"] = 64 // barriers
if -(-warps // 4) * 4 * each > 65536:
    limits["registers"] = 0
blocks = min(limits.values())
text = min(2048 // block, 32, 65536 // (registers * block), kib * 1024 // smem if smem else 99)
print(json.dumps(dict(
    blocks_per_sm=blocks, warps_per_sm=blocks * warps, occupancy=blocks * warps / 64,
    occupancy_textbook=text * block / 2048, status="ok" if blocks else "cannot launch: registers",
    limiters="+".join(name for name, most in limits.items() if most == blocks),
    allocated_registers_per_block=each * warps, allocated_smem_per_block_bytes=smem + 1024,
    unused_per_sm=dict(
        warps=64 - blocks * warps, blocks=32 - blocks, smem_bytes=kib * 1024 - blocks * (smem + 1024)
    ),
)))
"""


def test_the_books_numbers_and_the_exact_ones(run: Path, tmp_path: Path, calculator: Path) -> None:
    from occbench_tools.report import teach

    page = tmp_path / "teach.html"
    assert teach.main([str(run), "--occbench", str(calculator), "--output", str(page)]) == 0
    lessons = {lesson["id"]: lesson for lesson in document(page)["sections"]}
    assert list(lessons) == [lesson.id for lesson in teach.LESSONS]

    def row(lesson: str, words: str) -> list[Any]:
        body = next(part for part in lessons[lesson]["before"] if part["kind"] == "table")["body"]
        found = next(cells for cells in body if cells[0] == words)
        return [cell if isinstance(cell, str) else cell["text"].split(":")[0] for cell in found[1:]]

    assert row("block-slots", "32 threads, 32 registers") == ["50 %", "50 %, 32 blocks", "50 %, 32 blocks"]
    assert row("block-slots", "96 threads, 32 registers")[:2] == ["98.4 %", "98.4 %, 21 blocks"]
    assert row("block-slots", "768 threads, 32 registers")[:2] == ["75 %", "75 %, 2 blocks"]
    assert row("register-cliff", "512 threads, 31 registers")[:2] == ["100 %", "100 %, 4 blocks"]
    assert row("register-cliff", "512 threads, 33 registers")[:2] == ["75 %", "75 %, 3 blocks"]
    assert row("register-units", "256 threads, 33 registers")[:2] == ["87.5 %", "75 %, 6 blocks"]
    assert row("register-units", "64 threads, 33 registers")[:2] == ["96.9 %", "75 %, 24 blocks"]
    smem = row("shared-memory", "256 threads, 32 registers, 32 KiB shared")
    assert smem == ["62.5 %", "50 %, 4 blocks", "75 %, 6 blocks"]
    assert row("no-launch", "320 threads, 200 registers") == ["15.6 %", "0 %", "0 %"]
    assert row("barriers", "64 threads, 32 registers, 16 barriers")[2] == "12.5 %, 4 blocks"
    texts = " ".join(part["text"] for part in lessons["shared-memory"]["before"] if "text" in part)
    assert "128 B" in texts and "132 B/thread" in texts
    law = " ".join(part["text"] for part in lessons["little"]["before"] if "text" in part)
    assert f"{650 / made_up.CLOCK * 1e9:.0f} ns" in law  # of its pointer chase


def test_teaching_needs_a_calculator(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from occbench_tools.report import teach

    assert teach.main([str(run), "--occbench", str(tmp_path / "none"), "--output", str(tmp_path / "p")]) == 4
    said = capsys.readouterr().err
    assert "none" in said and said.count("\n") == 1


def test_lessons_in_a_browser(browser: Any, tmp_path: Path, calculator: Path) -> None:  # noqa: ANN401
    from occbench_tools.report import teach

    page = tmp_path / "teach.html"
    assert teach.main([str(H200), "--occbench", str(calculator), "--output", str(page)]) == 0
    opened(browser, page)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    drawn = browser.execute_script("return document.querySelectorAll('.js-plotly-plot .scatter').length")
    assert drawn >= 2 * len(teach.LESSONS)
    words = browser.find_element("tag name", "main").text
    assert "50 %, 4 blocks: shared memory" in words and "undefined" not in words
    # A lesson shows the lines that it speaks of, and no others.
    for lesson in teach.LESSONS:
        labels = browser.execute_script(
            "const on = document.querySelectorAll(`#${arguments[0]} .legend .on`);"
            "return [...on].map((e) => e.dataset.line)",
            lesson.id,
        )
        assert labels and all(any(re.search(word, label) for word in lesson.show) for label in labels)
    assert_quiet(browser, page)
