# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests of the tools."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """A warning would reach a user's terminal: here it is an error."""
    config.addinivalue_line("filterwarnings", "error")


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command's main() with these words: what it prints. It must end with `code`."""

    def run(main: Callable[[list[str]], int], *words: object, code: int = 0) -> str:
        assert main([*map(str, words)]) == code
        return capsys.readouterr().out

    return run


@pytest.fixture
def fleet_check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `occbench fleet check` with these words: exit code, stdout, stderr."""
    import occbench_fleet

    def check(*words: object) -> tuple[int, str, str]:
        code = occbench_fleet.main(["check", *map(str, words)])
        return code, *capsys.readouterr()

    return check


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window, whose console and network are logged."""
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
    driver.get("data:text/html,")  # the browser's own start is over, and what it asked for is not a page's
    for log in ("browser", "performance"):
        driver.get_log(log)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def quick(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The folder that quickstart leaves where there is no GPU."""
    import pages

    return once("model-h200", pages.quick_run)


@pytest.fixture(scope="session")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that somebody sent: beside it lies what must not be run."""
    import planted

    return planted.plant(tmp_path_factory.mktemp("sent"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A made-up run of all experiments."""
    import pages

    return pages.write(tmp_path / "run")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The same as a model's."""
    import pages

    rows = [row | dict(source="model") for row in pages.cases()]
    return pages.write(tmp_path / "model", rows, source="model", gpu_name="model of A100")


@pytest.fixture
def made_up_cliffs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of those that are found, which take seconds, and which made-up rows have not."""
    import pages
    from occbench_tools.report import payload

    monkeypatch.setattr(payload, "table_of", lambda document: pages.steps(document["rows"], {}))
    asked = payload.document_of
    monkeypatch.setattr(
        payload, "document_of", lambda folder, rows, env: asked(folder, rows, env) | dict(rows=rows)
    )


@pytest.fixture
def no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the input, unless a test types."""
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.fixture(scope="session")
def calculator() -> Any:  # noqa: ANN401 - a Calculator, whose package needs pandas
    from occbench_tools.command import CommandError
    from occbench_tools.teach.calculator import Calculator

    with contextlib.suppress(CommandError):
        return Calculator(None)
    pytest.skip("teach asks occbench calc, and none is built")
