"""A browser for the tests of pages.

Where no Chromium is installed these tests are skipped, unless ADMIT_ONE_BROWSER=required: then they
fail. The browser is the system's own, and no page of these tests may ask for anything else than a
file of the test itself.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from stateful_tests.html_pages import (
    ROOT,
    make_false_history,
    make_long_history,
    make_reports,
    write_history,
    write_others,
    write_pages,
)

VARIABLE = "ADMIT_ONE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MILLISECONDS = 20_000
expect.set_options(timeout=TIMEOUT_MILLISECONDS)
SIZES = {"phone": (360, 740), "desk": (1280, 800)}


@dataclass
class Visit:
    """A page that is open, all that it has complained of, and all that it has asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        """Note what the page says to its console."""
        self.complaints.append(message.text)

    def note(self, request: Request) -> None:
        """Note what the page asks for."""
        self.requests.append(request.url)

    def open(self, file: Path, anchor: str = "") -> Page:
        """Open a file, as a person does who clicks on it."""
        self.page.goto(f"{file.as_uri()}{anchor}")
        return self.page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the browser of this system once."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        if os.environ.get(VARIABLE) == "required":
            pytest.fail(f"no Chromium is installed, and {VARIABLE}=required")
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(params=SIZES)
def visit(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visit]:
    """Open a window of one size; at the end nobody has complained, and nothing was loaded."""
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    visit = Visit(context.new_page())
    visit.page.set_default_timeout(TIMEOUT_MILLISECONDS)
    visit.page.on("console", visit.hear)
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on("request", visit.note)
    yield visit
    context.close()
    assert visit.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in visit.requests)


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files of all the traces."""
    return write_pages(make_reports(), tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a history."""
    return write_history(make_false_history(), tmp_path_factory.mktemp("history") / "history.html")


@pytest.fixture(scope="session")
def exploration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a scope with all its states."""
    file = tmp_path_factory.mktemp("exploration") / "page.html"
    subprocess.run(
        [
            *(sys.executable, "-m", "workbench.cli", "explore"),
            *("reservation", "TINY", "--html", str(file)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
        cwd=ROOT,
    )
    return file


@pytest.fixture(scope="session")
def pages(
    traces: dict[str, Path],
    history: Path,
    exploration: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """Return the files of every kind of page."""
    folder = tmp_path_factory.mktemp("others")
    others = write_others(folder)
    long = write_history(make_long_history(), folder / "long.html")
    histories = {"history": history, "long history": long}
    return {**traces, **others, **histories, "exploration": exploration}
