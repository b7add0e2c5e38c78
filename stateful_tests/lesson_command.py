"""The command `admit-one lesson` as tests run it: in a process of its own."""

import json
import subprocess
import sys
from functools import lru_cache
from typing import Any

PROGRAM = """
from workbench.cli import build_app

build_app(("lesson",))(prog_name="admit-one")
"""
MOST_SECONDS = 240


def command_line(*arguments: str) -> list[str]:
    """Return how the command is started."""
    return [sys.executable, "-c", PROGRAM, "lesson", *arguments]


def run_lesson(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a pipe, with nothing to read."""
    return subprocess.run(
        command_line(*arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=MOST_SECONDS,
        check=False,
    )


@lru_cache(maxsize=1)
def list_lessons() -> list[dict[str, Any]]:
    """Return what the command lists."""
    listed: list[dict[str, Any]] = json.loads(run_lesson("--json").stdout)
    return listed


def lesson_names() -> tuple[str, ...]:
    """Return the names of the lessons, in their order."""
    return tuple(lesson["name"] for lesson in list_lessons())
