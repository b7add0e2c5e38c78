"""HTML and SVG as values: a plain text is escaped, and markup stays as it is."""

import html
from collections.abc import Iterable
from dataclasses import dataclass

from model.checking.trace_words import make_printable

VOID = frozenset({"input", "link", "meta"})


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of a page that is already escaped."""

    text: str


Child = Markup | str | None
Attribute = str | int | float | bool | None

NOTHING = Markup("")


def escape(text: str) -> str:
    """Return a text as it may stand in a page; control characters become visible escapes."""
    return html.escape(make_printable(text))


def break_name(text: str) -> Markup:
    """Return a text in which a long name may be broken after each underscore."""
    return Markup(escape(text).replace("_", "_<wbr>"))


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element: `class_` is `class`, `aria_label` is `aria-label`.

    An attribute that is None or False is left out, and one that is True has no value.
    """
    shown = "".join(_write_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{shown}>")
    return Markup(f"<{tag}{shown}>{join(children).text}</{tag}>")


def _write_attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    key = name.removesuffix("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'


def join(children: Iterable[Child], separator: str = "") -> Markup:
    """Return pieces one after the other."""
    texts = (_write_child(child) for child in children if child is not None)
    return Markup(separator.join(texts))


def _write_child(child: Markup | str) -> str:
    return child.text if isinstance(child, Markup) else escape(child)
