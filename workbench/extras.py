"""The packages that only an extra of the installation brings, and what to say without one.

The extra `command` is for `admit-one` itself; the terminal lessons and most checks need no other.
"""

from collections.abc import Mapping

EXTRAS: Mapping[str, str] = {
    "apsw": "power-loss",
    "greenlet": "schedules",
    "hypothesis": "test",
    "jinja2": "play",
    "rich": "command",
    "starlette": "play",
    "typer": "command",
    "uvicorn": "play",
}
"""The extra that brings each package."""


def explain_missing(error: ModuleNotFoundError) -> str:
    """Say which extra brings the package that is missing; any other error is raised again."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    extra = EXTRAS[package]
    return f"needs {package}, of the extra {extra!r}: pip install 'admit-one[{extra}]'"
