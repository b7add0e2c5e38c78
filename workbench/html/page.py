"""The frame of every page: one file, a strict policy, the same style."""

import base64
import hashlib
from functools import lru_cache
from importlib import resources

from workbench.html.markup import Markup, element, join

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M4 0v16M12 0v16' stroke='%23888' stroke-width='1.5'/%3E"
    "%3Cpath d='M4 8h7' stroke='%232f6fb5' stroke-width='2'/%3E"
    "%3Ccircle cx='12' cy='8' r='3' fill='%232f6fb5'/%3E%3C/svg%3E"
)


@lru_cache(maxsize=16)
def read_asset(name: str) -> str:
    """Return a style sheet or a script of this package."""
    return resources.files("workbench.html").joinpath(name).read_text("utf-8")


def build_page(
    title: str, *body: Markup, styles: tuple[str, ...], scripts: tuple[str, ...], rules: str = ""
) -> str:
    """Return a page as text; `rules` are style rules of this page alone, without values of others.

    Texts from outside never stand in a style or a script: the digests vouch for all of both.
    """
    style = "\n".join([*map(read_asset, styles), rules])
    script = "\n".join(map(read_asset, scripts))
    policy = "; ".join(
        [
            "default-src 'none'",
            "img-src data:",
            f"style-src '{digest(style)}'",
            f"script-src '{digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("link", rel="icon", href=ICON),
        element("style", Markup(style)),
    )
    content = element("body", *body, element("script", Markup(script)))
    return f"<!doctype html>\n{element('html', head, content, lang='en').text}\n"


def digest(content: str) -> str:
    """Return the digest by which a policy allows a style or a script."""
    value = base64.b64encode(hashlib.sha256(content.encode()).digest())
    return f"sha256-{value.decode()}"


def build_masthead(*crumbs: str) -> Markup:
    """Return the line at the head of a page: whose it is, and what it is about."""
    shown = [element("span", crumb) for crumb in crumbs if crumb]
    return element(
        "p",
        element("strong", "admit-one"),
        *shown,
        class_="masthead",
    )


def build_commands(label: str, command: str) -> Markup:
    """Return a command to copy; a line of it ends between two words, and not at a hyphen."""
    words = join([element("span", word) for word in command.split(" ")], " ")
    return element(
        "p",
        element("span", label, class_="label"),
        element("code", words, class_="command", tabindex=0),
        class_="repeat",
    )


def list_items(items: list[Markup], tag: str = "ul", class_: str | None = None) -> Markup:
    """Return a list, or nothing where there are no items."""
    if not items:
        return Markup("")
    return element(tag, join(element("li", item) for item in items), class_=class_)
