# SPDX-License-Identifier: Apache-2.0
"""occbench calc --page: the page in a browser, driven as a person would."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from pages import assert_quiet, built

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests/samples"
FORMS = [next(path for path in sorted(folder.iterdir()) if path.name != "form.json")
         for folder in sorted((ROOT / "tests/forms").iterdir())]  # fmt: skip
TRACE_BYTES = 1_000_000 * int(os.environ.get("CALCULATOR_TRACE_MB", "2"))
# Drops a file of this name, type and content on the page.
DROP = """
const bytes = Uint8Array.from(atob(arguments[1]), (c) => c.charCodeAt(0)), data = new DataTransfer();
data.items.add(new File([bytes], arguments[0]));
document.body.dispatchEvent(new DragEvent("dragover", {dataTransfer: data, bubbles: true, cancelable: true}));
document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
"""


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
    for _ in range(1200):  # a minute: other tests may keep the cores busy
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
    assert text(browser, "no-formula") == ""
    fill(browser, "barriers", "0")
    assert text(browser, "no-formula") == "No formula applies to 1 of 15 numbers: barriers."
    assert_quiet(browser, page)


FIELDS = {
    "block_size": "128", "registers_per_thread": "64", "static_smem_bytes": "20000",
    "dynamic_smem_bytes": "40000", "barriers": "16", "cluster_size": "4", "carveout_percent": "50",
    "max_block_size": "512", "grid_size": "777",
}  # fmt: skip


def test_each_field_and_slider_changes_the_answer(browser: Any, page: Path) -> None:  # noqa: ANN401
    """What stands in a field is in the answer, the slider and the link; what a slider says, in the field."""
    opened(browser, page, "#device=h200")
    for name, value in FIELDS.items():
        fill(browser, name, value)
        answered = browser.execute_script(f"return calculator.ask(calculator.query()).answer.{name}")
        assert str(answered) == value, name
        slider = browser.execute_script(f"return document.getElementById('{name}-slider').value")
        assert abs(int(slider) - int(value)) < 128, (name, slider)
        assert f"{name}={value}" in browser.execute_script("return calculator.copies('link')")
        most = browser.execute_script(f"return document.getElementById('{name}-slider').max")
        fill(browser, f"{name}-slider", most)
        assert browser.execute_script(f"return document.getElementById('{name}').value") == most, name
        fill(browser, name, value)
    limits = browser.execute_script("return [...document.querySelectorAll('#limits input')].map((i) => i.id)")
    assert len(limits) == 9
    for limit in limits:
        fill(browser, limit, "4096")
        assert f"{limit.replace('-', '.')}=4096" in browser.execute_script("return calculator.copies('link')")
    assert_quiet(browser, page)


def test_says_why_not(browser: Any, page: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    fill(browser, "registers_per_thread", "300")
    assert text(browser, "headline") == "cannot launch: 300 registers per thread: a thread has at most 255"
    assert text(browser, "no-formula").startswith("No formula applies to 12 of 12 numbers: warps per block, ")
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


def kernels_of(file: Path) -> tuple[int, str]:
    """How many the program finds, and its error."""
    program = built()
    assert program is not None
    is_code = file.suffix in (".cubin", ".fatbin")
    reader = ["inspect", file] if is_code else ["calc", file, "--block-size", "256", "--device", "h200"]
    done = subprocess.run([program, *reader, "--format", "json"], capture_output=True, text=True)
    return (len(json.loads(done.stdout)), "") if done.stdout else (0, done.stderr)


@pytest.mark.parametrize("file", [*FORMS, SAMPLES / "inspect.cubin"], ids=lambda file: f"{file.parent.name}")
def test_drop_and_paste_of_each_form(browser: Any, page: Path, file: Path) -> None:  # noqa: ANN401
    count, error = kernels_of(file)
    opened(browser, page, "#device=h200")
    content = file.read_bytes()
    ways = [(DROP, [file.name, base64.b64encode(content).decode()])]
    if b"\0" not in content:
        area = "const e = document.getElementById('text'); e.value = arguments[0]; "
        ways.append((area + "e.dispatchEvent(new Event('paste'))", [content.decode("utf-8", "replace")]))
    for script, words in ways:
        browser.execute_script("document.getElementById('reading').textContent = ''")
        browser.execute_script(script, *words)
        reading = "document.getElementById('reading').textContent"
        until(browser, f"{reading} && {reading} !== 'reading ...'")
        shown = browser.execute_script("return document.querySelectorAll('#kernels tbody tr').length")
        assert shown == count, (text(browser, "reading"), error)
    assert_quiet(browser, page)


def test_page_stays_responsive_with_a_long_trace(browser: Any, page: Path, tmp_path: Path) -> None:  # noqa: ANN401
    """CALCULATOR_TRACE_MB: how long (2). The page answers while its worker reads."""
    event = json.loads((SAMPLES / "pytorch_trace.json").read_text())
    kernels = [each for each in event["traceEvents"] if each.get("cat") == "kernel"]
    one = json.dumps(kernels)[1:-1]
    trace = tmp_path / "trace.json"
    with trace.open("w") as file:
        file.write(f'{{"deviceProperties": {json.dumps(event["deviceProperties"])}, "traceEvents": [{one}')
        for _ in range(TRACE_BYTES // len(one)):
            file.write("," + one)
        file.write("]}")
    opened(browser, page, "#device=h200")
    browser.find_element("id", "file").send_keys(str(trace))
    fill(browser, "registers_per_thread", "64")
    assert "4 blocks, 32 warps" in text(browser, "headline")
    for _ in range(100 + TRACE_BYTES // 100_000):
        if browser.execute_script("return document.querySelector('#kernels td button')"):
            break
        time.sleep(0.1)
    assert text(browser, "reading").startswith("3 kernels"), text(browser, "reading")
    assert_quiet(browser, page)


def test_rejects_files_without_kernels(browser: Any, page: Path, tmp_path: Path) -> None:  # noqa: ANN401
    opened(browser, page)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(bytes(40 << 20)))
    for file, words in ((page, "holds no kernel"), (bomb, "unpacks to more than 100 times its size")):
        browser.find_element("id", "file").send_keys(str(file))
        until(browser, f"document.getElementById('reading').textContent.includes({json.dumps(words)})")
    assert_quiet(browser, page)


def test_prediction_shows_the_measured_curve(browser: Any, page: Path) -> None:  # noqa: ANN401
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


def test_every_control_is_keyboard_reachable(browser: Any, page: Path) -> None:  # noqa: ANN401
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


def test_full_session_by_keyboard(browser: Any, page: Path) -> None:  # noqa: ANN401
    """A footprint, a formula, a comparison, a pasted log, one of its kernels, and a prediction."""
    from selenium.webdriver import ActionChains, Keys

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def go_to(condition: str) -> None:
        for _ in range(120):
            if browser.execute_script(f"const e = document.activeElement; return {condition}"):
                return
            press(Keys.TAB)
        raise AssertionError(condition)

    opened(browser, page, "#device=h200")
    go_to("e.id === 'registers_per_thread'")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys("64").perform()
    until(browser, "document.getElementById('headline').textContent.startsWith('4 blocks, 32 warps')")
    go_to("e.tagName === 'SUMMARY' && e.textContent.startsWith('Registers allow')")
    press(Keys.ENTER)
    until(browser, "document.querySelector('#numbers details[open] code').textContent.includes('floor(')")
    go_to("e.id === 'pin'")
    press(Keys.SPACE)
    until(browser, "!document.getElementById('pinned').hidden")
    go_to("e.id === 'text'")
    log = ["Compiling entry function 'k' for 'sm_90'", "Used 40 registers"]
    press("\n".join("ptxas info    : " + line for line in log))
    go_to("e.id === 'read'")
    press(Keys.ENTER)
    until(browser, "document.querySelector('#kernels td button')")
    go_to("e.closest('#kernels td')")
    press(Keys.ENTER)
    until(browser, "document.getElementById('registers_per_thread').value !== '64'")
    go_to("e.id === 'predict'")
    press(Keys.ENTER)
    until(browser, "document.getElementById('conclusion').textContent")
    assert_quiet(browser, page)


def test_accessible(browser: Any, page: Path) -> None:  # noqa: ANN401
    """axe finds nothing at three widths, light and dark, with every part of the page open."""
    package = pytest.importorskip("axe_core_python", reason="axe_core_python is not installed")
    opened(browser, page, "#device=h200&grid_size=500&vs=device%3Drtx4090")
    fill(browser, "text", (SAMPLES / "ptxas.txt").read_text())
    browser.execute_script("for (const e of document.querySelectorAll('details')) e.open = true")
    browser.execute_script("for (const id of ['read', 'predict']) document.getElementById(id).click()")
    until(browser, "document.getElementById('conclusion').textContent")
    browser.execute_script((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    try:
        for width in (390, 1440, 2560):
            for scheme in ("light", "dark"):
                size = {"width": width, "height": 2000, "deviceScaleFactor": 1, "mobile": False}
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
                found = browser.execute_async_script(
                    "const done = arguments[0]; axe.run().then((r) => done(r.violations.map((v) => v.id)))"
                )
                assert found == [], (width, scheme)
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_fits_a_phone(browser: Any, page: Path) -> None:  # noqa: ANN401
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened(browser, page)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
