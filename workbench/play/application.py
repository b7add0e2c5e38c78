"""The page as a web application: addresses in, HTML out; it keeps nothing between two requests.

Only GET is answered, and only for a Host that names the loopback address: a page of another site,
or a name that was pointed at this machine, gets nothing. Input is bounded before it is read.
"""

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.play.address import AddressError, build_query, decode_trace
from workbench.play.board import Board, Position, find_board, play
from workbench.play.goals import NoSuchGoalError, find_goal
from workbench.play.journeys import Journey, Journeys, Search
from workbench.play.page import build_page

HOSTS = ("127.0.0.1", "localhost")
MOST_QUERY_CHARACTERS = 2_000
WAIT_SECONDS = 1.0
"""A search that ends within this time is answered at once; else the page asks again."""
STATIC = Path(__file__).parent / "static"

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class HeaderMiddleware:
    """Puts the same headers on every response, those of errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        await self.app(scope, receive, send_with_headers)


class Explorer:
    """What the addresses of the page answer."""

    def __init__(self, first: str) -> None:
        self.first = first
        self.journeys = Journeys()
        self.templates = Environment(
            loader=PackageLoader("workbench.play"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def render(self, template: str, answer: HTTPStatus, **values: Any) -> HTMLResponse:
        """Return a page."""
        text = self.templates.get_template(template).render(values)
        return HTMLResponse(text, answer)

    def show_first(self, _request: Request) -> Response:
        """Lead from the bare address to the position that the command names."""
        return RedirectResponse(self.first, HTTPStatus.SEE_OTHER)

    def show_position(self, request: Request) -> Response:
        """Show a position."""
        values = read_query(request, ("t", "mutant"))
        board = read_board(request, values)
        position = read_position(board, values)
        return self.render("play.html", HTTPStatus.OK, page=build_page(position, self.journeys))

    def lead_to(self, request: Request) -> Response:
        """Lead to a case by the shortest way, once it is found."""
        values = read_query(request, ("goal", "mutant"))
        board = read_board(request, values)
        name = values.get("goal", "")
        try:
            goal, search = find_goal(board, self.journeys, name)
        except NoSuchGoalError as error:
            raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error
        journey = wait_for(search, name)
        if journey is not None:
            position = play(board, journey.start, journey.actions)
            return RedirectResponse(f"{build_query(position)}#now", HTTPStatus.SEE_OTHER)
        if search.is_over.is_set():
            raise HTTPException(HTTPStatus.NOT_FOUND, say_not_found(goal.text, search))
        return self.render(
            "searching.html", HTTPStatus.ACCEPTED, goal=goal, states=search.states, path=board.path
        )

    def show_error(self, _request: Request, error: Exception) -> Response:
        """Say what is wrong with a request."""
        status, detail = HTTPStatus.INTERNAL_SERVER_ERROR, "the program failed"
        if isinstance(error, HTTPException):
            status, detail = HTTPStatus(error.status_code), error.detail
        return self.render("error.html", status, status=status, detail=detail, first=self.first)


def wait_for(search: Search, name: str) -> Journey | None:
    """Return what a search has found under a name, given a moment for it."""
    until = monotonic() + WAIT_SECONDS
    while name not in search.found and monotonic() < until:
        if search.is_over.wait(0.02):
            break
    return search.found.get(name)


def say_not_found(text: str, search: Search) -> str:
    """Return why a case was not found by a search that is over."""
    if search.problem:
        return f"{text}: {search.problem}"
    if search.is_complete:
        return f"{text}: it happens in none of the {search.states:,} states of this scope"
    return f"{text}: not found within {search.states:,} states, and there are more"


def read_query(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a query, each at most once and of a known name."""
    if len(request.url.query) > MOST_QUERY_CHARACTERS:
        detail = f"an address has {MOST_QUERY_CHARACTERS} characters at most"
        raise HTTPException(HTTPStatus.REQUEST_URI_TOO_LONG, detail)
    items = request.query_params.multi_items()
    values = dict(items)
    if len(values) != len(items) or set(values) - set(names):
        detail = f"the address may have these values, each once: {', '.join(names)}"
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail)
    return values


def read_board(request: Request, values: Mapping[str, str]) -> Board:
    """Return the board that a request names."""
    machine, scope = request.path_params["machine"], request.path_params["scope"]
    try:
        find_board(machine, scope)
    except LookupError as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error
    try:
        return find_board(machine, scope, values.get("mutant", ""))
    except LookupError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from error


def read_position(board: Board, values: Mapping[str, str]) -> Position:
    """Return the position that a request names."""
    try:
        return decode_trace(board, values.get("t", ""))
    except AddressError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from error


def build_application(first: str) -> ASGIApp:
    """Return the application; `first` is the address to which the bare one leads."""
    explorer = Explorer(first)
    application = Starlette(
        routes=[
            Route("/", explorer.show_first),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/{machine}/{scope}", explorer.show_position),
            Route("/{machine}/{scope}/to", explorer.lead_to),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False)
        ],
        exception_handlers={HTTPException: explorer.show_error, Exception: explorer.show_error},
    )
    return HeaderMiddleware(application)
