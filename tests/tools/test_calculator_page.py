# SPDX-License-Identifier: Apache-2.0
"""occbench calc --page: the page in a browser, driven as a person would."""

from __future__ import annotations

import gzip
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from pages import assert_quiet, built

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests/samples"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = built()
    if program is None:
        pytest.skip("no program is built")
    file = tmp_path_factory.mktemp("calculator") / "calculator.html"
    words = ["--device", "a100", "--block-size", "512", "--registers", "33"]
    subprocess.run([program, "calc", "--page", file, *words], check=True, capture_output=True)
    return file


def until(browser: Any, words: str) -> Any:  # noqa: ANN401
    """The value of a JavaScript expression once it is true."""
    for _ in range(200):
        if found := browser.execute_script(f"return {words}"):
            return found
        time.sleep(0.05)
    raise AssertionError(words)


def opened(browser: Any, page: Path, state: str = "") -> None:  # noqa: ANN401
    browser.get("data:text/html,")
    browser.get(page.as_uri() + state)
    until(browser, "globalThis.calculator?.start")


def text(browser: Any, element: str) -> str:  # noqa: ANN401
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", element)


def fill(browser: Any, element: str, value: str) -> None:  # noqa: ANN401
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input')); calculator.update()", element, value,
    )  # fmt: skip


def test_answers_the_query_and_each_input(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    assert text(browser, "headline") == "3 blocks, 48 warps per SM: 75.0 %, limited by registers"
    fill(browser, "registers_per_thread", "32")
    assert "100.0 %" in text(browser, "headline")
    fill(browser, "dynamic_smem_bytes", "64K")
    assert "2 blocks, 32 warps" in text(browser, "headline")
    fill(browser, "dynamic_smem_bytes-slider", "0")
    fill(browser, "device", "RTX 5090")
    assert "3 blocks, 48 warps" in text(browser, "headline")
    fill(browser, "limit-registers_per_sm", "32K")
    assert "2 blocks, 32 warps" in text(browser, "headline")
    fill(browser, "grid_size", "500")
    assert "SMs without a block: 0" in text(browser, "numbers")
    assert_quiet(browser, page)


def test_says_why_not(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    fill(browser, "registers_per_thread", "300")
    assert text(browser, "headline") == "cannot launch: 300 registers per thread: a thread has at most 255"
    for element, value in (("registers_per_thread", "<b>"), ("device", "h9000"), ("grid_size", "-1")):
        opened(browser, page)
        fill(browser, element, value)
        assert text(browser, "problem") and text(browser, "headline") == "No answer", element
        assert not browser.execute_script("return document.getElementById('problem').children.length")
    assert_quiet(browser, page)


def test_link_round_trip(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    fill(browser, "block_size", "96")
    fill(browser, "limit-registers_per_sm", "48K")
    browser.execute_script("document.getElementById('pin').click()")
    fill(browser, "device", "h100")
    headlines = [text(browser, "headline"), text(browser, "pinned")]
    link = browser.execute_script("return calculator.copies('link')")
    opened(browser, page, "#" + link.split("#")[1])
    assert [text(browser, "headline"), text(browser, "pinned")] == headlines
    assert "a100" in headlines[1]


@pytest.mark.parametrize("name", ["ptxas.txt", "res_usage.txt", "pytorch_trace.json", "packed"])
def test_reads_kernels(browser: Any, page: Path, tmp_path: Path, name: str) -> None:  # noqa: ANN401
    file = SAMPLES / name
    if name == "packed":
        file = tmp_path / "ptxas.txt.gz"
        file.write_bytes(gzip.compress((SAMPLES / "ptxas.txt").read_bytes()))
    opened(browser, page)
    browser.find_element("id", "file").send_keys(str(file))
    until(browser, "document.querySelector('#kernels td button')")
    browser.execute_script("document.querySelector('#kernels th:nth-child(2) button').click()")
    name = browser.execute_script(
        "const b = document.querySelector('#kernels td button'); b.click(); return b.textContent"
    )
    assert name and "per SM" in text(browser, "headline")
    assert_quiet(browser, page)


def test_refuses_what_is_no_kernel(browser: Any, page: Path, tmp_path: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(bytes(40 << 20)))
    for file, words in ((page, "holds no kernel"), (bomb, "unpacks to more than 100 times its size")):
        browser.find_element("id", "file").send_keys(str(file))
        until(browser, f"document.getElementById('reading').textContent.includes({json.dumps(words)})")
    assert_quiet(browser, page)


def test_predicts_beside_what_was_measured(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page, "#device=h200&block_size=256&registers_per_thread=33")
    browser.execute_script("document.getElementById('predict').click()")
    until(browser, "document.getElementById('conclusion').textContent")
    assert "Dashed: measured, run nvidia-h200/" in text(browser, "cap-speed")
    assert_quiet(browser, page)


def test_copies(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    fill(browser, "dynamic_smem_bytes", "8K")
    line = browser.execute_script("return calculator.copies('line')")
    program = built()
    assert program is not None
    printed = subprocess.run([program, *line.split()[1:]], capture_output=True, text=True, check=True).stdout
    assert browser.execute_script("return calculator.copies('table')") == printed
    assert browser.execute_script("return calculator.copies('bounds')") == "__launch_bounds__(512, 3)"
    assert browser.execute_script("return calculator.copies('csv')").startswith("device,block_size,")


def test_keyboard_reaches_everything(browser: Any, page: Path) -> None:  # noqa: ANN401
    from selenium.webdriver import ActionChains, Keys

    opened(browser, page)
    reached = set()
    for _ in range(80):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.add(
            browser.execute_script("return document.activeElement.id || document.activeElement.textContent")
        )
    wanted = {
        "device",
        "block_size",
        "block_size-slider",
        "grid_size",
        "pin",
        "text",
        "read",
        "file",
        "kind",
        "predict",
    }
    assert wanted <= reached, wanted - reached
    browser.execute_script("document.getElementById('block_size-slider').focus()")
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    until(browser, "document.getElementById('block_size').value === '544'")


def test_fits_a_phone(browser: Any, page: Path) -> None:  # noqa: ANN401
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened(browser, page)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
