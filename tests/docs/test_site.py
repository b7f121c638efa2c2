# SPDX-License-Identifier: Apache-2.0
"""The built site works without a network, all links resolve, and search works from a file."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("material")

from occbench_docs import ROOT
from occbench_docs import site as hook
from PIL import Image
from prose import PAGES

WIDE, NARROW = (1440, 900), (390, 844)


@pytest.fixture(scope="session")
def site(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Builds the site into another folder than tools/docs does. A warning of MkDocs fails."""
    return once("site", build)


def build(folder: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tools"), "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


class Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = dict(attributes)
        self.names |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and told.get("href"):
            self.links.append(told["href"])
        for name in ("src", "href"):
            # rel: canonical, prev and next load nothing.
            if tag != "a" and told.get(name) and told.get("rel") not in ("canonical", "prev", "next"):
                self.loads.append(told[name])


def test_site_has_every_page(site: Path) -> None:
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in PAGES if page.startswith("docs/")}
    assert {path.relative_to(site).with_suffix("").as_posix() for path in site.glob("**/*.html")} == {
        "404",
        "calculator-page",
        *pages,
    }


def test_links_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.glob("**/*.html") if path.name != "404.html"}
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            if link.startswith(("http:", "https:", "mailto:", "data:")):
                continue
            target, _, anchor = link.partition("#")
            file = (path.parent / unquote(target)).resolve() if target else path
            if not file.is_file() or (anchor and file in pages and unquote(anchor) not in pages[file].names):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_pages_load_nothing_external(site: Path) -> None:
    for path in site.glob("**/*.html"):
        assert [url for url in Page(path).loads if "//" in url] == [], path.relative_to(site)


def test_no_break_between_number_and_unit(site: Path) -> None:
    assert "27.5\u00a0%" in (site / "model.html").read_text(encoding="utf-8")


def test_html_contains_no_marks(site: Path) -> None:
    for path in site.glob("**/*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<!-- =" not in text and "<!-- generated" not in text and "<!-- SPDX" not in text, (
            path.relative_to(site)
        )


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    programs = [shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")]
    if not all(programs):
        pytest.skip("no chromium and chromedriver on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()


def opened(browser: Any, page: Path, size: tuple[int, int], scheme: str = "light") -> None:  # noqa: ANN401
    """Opens a page from disk in a window of that content size, without a network."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size is NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    browser.get(page.as_uri())
    browser.execute_script("localStorage.clear()")  # the scheme chosen last
    browser.get(page.as_uri())


def assert_quiet(browser: Any) -> None:  # noqa: ANN401
    """No console message and no network request."""
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith(("file:", "data:", "blob:"))} == set()


LOOKED_AT = [
    "index",
    "install",
    "occupancy",
    "experiments/index",
    "experiments/registers",
    "commands",
    "row",
    "model",
    "questions",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_pages_fit(site: Path, browser: Any, name: str, size: tuple[int, int], scheme: str) -> None:  # noqa: ANN401
    """Only scrollable elements are wider than the window; pictures load; the console is quiet."""
    opened(browser, site / f"{name}.html", size, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
    pictures = "[...document.querySelectorAll('.md-content img')]"
    assert browser.execute_script(f"return {pictures}.every((i) => i.complete && i.naturalWidth > 0)")
    dark = browser.execute_script("return document.body.dataset.mdColorScheme") == "slate"
    assert dark == (scheme == "dark")
    assert_quiet(browser)
    if folder := os.environ.get("OCCBENCH_SCREENSHOTS"):
        stem = f"{name.replace('/', '-')}-{size[0]}-{scheme}.png"
        browser.save_screenshot(str(Path(folder) / stem))


def test_row_tables_fit_the_column(site: Path, browser: Any) -> None:  # noqa: ANN401
    """No table of this page is wider than the column of text."""
    opened(browser, site / "row.html", WIDE)
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.md-typeset__scrollwrap')]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.trim().slice(0, 60))"
    )
    assert wide == []


def test_page_follows_colour_scheme_and_sets_language(site: Path, browser: Any) -> None:  # noqa: ANN401
    opened(browser, site / "zh" / "occupancy.html", WIDE)
    assert browser.execute_script("return document.documentElement.lang") == "zh"
    wish = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    for _ in range(50):
        if (scheme := browser.execute_script("return document.body.dataset.mdColorScheme")) == "slate":
            break
        time.sleep(0.1)
    assert scheme == "slate"


def test_copy_button_omits_prompts_and_output(site: Path, browser: Any) -> None:  # noqa: ANN401
    opened(browser, site / "inspect.html", WIDE)
    copied = browser.execute_script(
        "const code = [...document.querySelectorAll('.highlight code')]"
        ".find((e) => e.querySelector('.gp') && e.querySelector('.go'));"
        "code.setAttribute('data-md-copying', ''); return [code.textContent, code.innerText]"
    )
    assert copied[0].startswith("$ occbench ") and len(copied[0].splitlines()) > 3
    assert copied[1].startswith("occbench ") and len(copied[1].split("\n\n")[0].splitlines()) == 1


@pytest.mark.parametrize("wish", ["dark", "light"], ids=["by the screen", "by the button"])
def test_pictures_are_dark_on_dark_pages(site: Path, browser: Any, wish: str) -> None:  # noqa: ANN401
    """Up to its edges and for every screen setting; samples the middle of each side."""
    opened(browser, site / "experiments" / "registers.html", WIDE, wish)
    if wish == "light":
        for _ in range(2):  # as the system, light, dark
            browser.execute_script(
                "document.querySelector('[data-md-component=palette] label:not([hidden])').click()"
            )
    assert browser.execute_script("return document.body.dataset.mdColorScheme") == "slate"
    picture = browser.find_element("css selector", ".md-content img")
    time.sleep(0.3)  # the colours fade in
    shot = Image.open(io.BytesIO(picture.screenshot_as_png)).convert("L")
    width, height = shot.size
    rim = [(2, height // 2), (width - 3, height // 2), (width // 2, 2), (width // 2, height - 3)]
    assert [shot.getpixel(place) for place in rim if shot.getpixel(place) > 60] == []


def test_repository_url_comes_from_pyproject(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pyproject.toml alone has the URL; a host that cannot exist counts as none."""
    urls = '[project.urls]\nSource = "https://{}"\n'
    monkeypatch.setattr(hook, "ROOT", tmp_path)
    for host, told in (
        ("occbench.invalid/x", None),
        ("host.example/a/occbench", "https://host.example/a/occbench"),
    ):
        (tmp_path / "pyproject.toml").write_text(urls.format(host), encoding="utf-8")
        assert hook.source_url() == told


def test_long_names_in_tables_may_wrap() -> None:
    name = "registers.register_pressure.load-live19"
    table = f"<table><tr><td><code>{name}</code></td><td><code>short.name</code></td></tr></table>"
    made = hook.on_page_content(f"<code>{name}</code>{table}")
    assert made.startswith(f"<code>{name}</code>") and "<code>short.name</code>" in made
    assert hook.on_page_content("<table><tr><td><code>a \\| b</code></td></tr></table>").count("a | b") == 1
    assert '<code class="long">registers.<wbr>register_<wbr>pressure.<wbr>load-<wbr>live19</code>' in made


@pytest.mark.parametrize(("words", "page"), [("spilling", "spilling"), ("carveout_percent", "row")])
def test_search_from_a_file(site: Path, browser: Any, words: str, page: str) -> None:  # noqa: ANN401
    opened(browser, site / "index.html", WIDE)
    browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    field = browser.find_element("css selector", "[data-md-component=search-query]")
    field.send_keys(words)
    links = "return [...document.querySelectorAll('.md-search-result__link')].map((a) => a.href)"
    for _ in range(200):
        if found := browser.execute_script(links):
            break
        time.sleep(0.05)
    else:
        raise AssertionError(browser.get_log("browser"))
    assert any(f"/{page}.html" in link for link in found)
    assert_quiet(browser)
