"""The explorer in a process of its own, and what a test reads off its pages."""

import html
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from urllib.parse import urlsplit

PROGRAM = """
from workbench.cli import build_app

build_app(("play",))(prog_name="admit-one")
"""
START_SECONDS = 60
ANSWER_SECONDS = 60
SEARCH_TRIES = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered: its status, its headers by lower-case name, its page."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class PromisedCall:
    """A call as a page lists it: where it leads, and what it would answer."""

    address: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Server:
    """A running explorer; `first` is the address that it announced."""

    process: subprocess.Popen[str]
    first: str

    @property
    def root(self) -> str:
        """The address without a path: "http://127.0.0.1:43121"."""
        parts = urlsplit(self.first)
        return f"{parts.scheme}://{parts.netloc}"

    def ask(
        self, path: str, *, method: str = "GET", headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request, follow nothing, and return the answer."""
        host, port = urlsplit(self.first).hostname, urlsplit(self.first).port
        connection = HTTPConnection(host or "", port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, headers={"Connection": "close", **(headers or {})})
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read().decode())
        finally:
            connection.close()

    def read(self, path: str) -> str:
        """Return a page that must be there."""
        answer = self.ask(path.partition("#")[0])
        if answer.status != HTTPStatus.OK:
            raise AssertionError(f"{path}: {answer.status} {answer.text}")
        return answer.text

    def find_way(self, path: str) -> str:
        """Return where "take me to" leads, however often the page has to ask again."""
        for _ in range(SEARCH_TRIES):
            answer = self.ask(path)
            if answer.status == HTTPStatus.SEE_OTHER:
                return answer.headers["location"]
            if answer.status != HTTPStatus.ACCEPTED:
                raise AssertionError(f"{path}: {answer.status} {answer.text}")
        raise AssertionError(f"{path}: the search never ends")


@contextmanager
def run_server(*arguments: str) -> Iterator[Server]:
    """Yield an explorer on a free port, and end it."""
    command = [sys.executable, "-c", PROGRAM, "play", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline() if process.stdout is not None else ""
        if "http://" not in line:
            raise AssertionError(f"the explorer did not start: {process.communicate()[1]}")
        watchdog.cancel()
        yield Server(process, find(r"(http://\S+)", line))
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def find(pattern: str, text: str) -> str:
    """Return what the one group of a pattern matches in a page, as a reader sees it."""
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        raise AssertionError(f"{pattern!r} is not in {text}")
    return html.unescape(found[1])


def read_calls(page: str) -> list[PromisedCall]:
    """Return the calls that a page offers, in their order."""
    rows = re.findall(
        r'<li class="(?:moves|stays)[^"]*">\s*<a href="([^"]+)">(.*?)</a>', page, re.DOTALL
    )
    return [
        PromisedCall(html.unescape(address), find(r", would answer (?:</span>)?([^<]+)<", row))
        for address, row in rows
    ]


def read_outcome(page: str) -> str:
    """Return the outcome of the last step that a page shows."""
    return find(r'<p class="outcome [a-z]+" role="status">([^<]*)</p>', page)


def read_address(page: str) -> str:
    """Return the address that a page gives to be shared, without its host."""
    return find(r'data-address="([^"]*)"', page)


def read_undo(page: str) -> str:
    """Return the address of the position one step back."""
    return find(r'id="undo" href="([^"]+)"', page)


def count_steps(page: str) -> int:
    """Return the number of steps of a page's trace."""
    trace = re.search(r'<ol class="trace">(.*?)</ol>', page, re.DOTALL)
    return 0 if trace is None else trace[1].count("<li")
