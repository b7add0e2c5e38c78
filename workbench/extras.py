"""The packages that only an extra of the installation brings, and what to say without one.

The command itself, the terminal lessons and every check that needs no such package do without.
"""

from collections.abc import Mapping

EXTRAS: Mapping[str, str] = {
    "apsw": "power-loss",
    "greenlet": "schedules",
    "hypothesis": "test",
    "jinja2": "play",
    "starlette": "play",
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
