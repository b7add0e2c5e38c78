"""Blocks of a Markdown page that a command of `admit-one` has printed.

A block stands between two comments; the first one holds the command:

    <!-- generated: admit-one explore admission TINY --mermaid -->
    …
    <!-- end -->

`python -m workbench.generated_blocks README.md` rewrites them, and with `--check` it compares them
with what the commands print now. A `recorded` block is the same for a command that takes long: it
is rewritten only with `--recorded`, and of it a check demands only that it isn't empty.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from model.checking.explore import Verdict
from workbench.exit_codes import EXIT_CODES

BLOCK = re.compile(
    r"<!-- (?P<kind>generated|recorded): (?P<command>admit-one .*?) -->\n"
    r"(?P<body>.*?)<!-- end -->",
    re.DOTALL,
)
SECONDS = re.compile(r"\d+(\.\d+)? s\b")
COLUMNS = 100
MOST_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page: how it came to be, by which command, and what stands there now."""

    kind: str
    command: str
    body: str


def find_blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    for match in BLOCK.finditer(page):
        yield Block(match["kind"], match["command"], match["body"])


def run_command(command: str) -> str:
    """Return what a command of `admit-one` prints, in a pipe of fixed width."""
    _, *arguments = shlex.split(command)
    finished = subprocess.run(
        [sys.executable, "-m", "workbench.cli", *arguments],
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=MOST_SECONDS,
        check=True,
    )
    return finished.stdout.rstrip("\n")


def build_body(command: str, run: Callable[[str], str] = run_command) -> str:
    """Return a block's lines: a diagram as Mermaid, anything else as it looks in a terminal."""
    printed = run(command)
    if "--mermaid" in shlex.split(command):
        return f"```mermaid\n{printed}\n```\n"
    return f"```console\n$ {command}\n{printed}\n```\n"


def rewrite(page: str, *, with_recorded: bool, run: Callable[[str], str] = run_command) -> str:
    """Return the page with its blocks made anew; a block that differs by seconds alone stays."""

    def replace_block(match: re.Match[str]) -> str:
        if match["kind"] == "recorded" and not with_recorded:
            return match[0]
        body = build_body(match["command"], run)
        if mask_seconds(body) == mask_seconds(match["body"]):
            return match[0]
        return f"<!-- {match['kind']}: {match['command']} -->\n{body}<!-- end -->"

    return BLOCK.sub(replace_block, page)


def mask_seconds(text: str) -> str:
    """Return the text without the one thing that differs from run to run."""
    return SECONDS.sub("… s", text)


def find_stale_lines(page: Path) -> list[str]:
    """Return what a rewrite would change in a page, as a diff, and which records are missing."""
    text = page.read_text("utf-8")
    made = rewrite(text, with_recorded=False)
    diff = difflib.unified_diff(
        text.splitlines(), made.splitlines(), f"{page}", f"{page}, made anew", lineterm=""
    )
    empty = [
        f"{page}: `{block.command}` was never recorded"
        for block in find_blocks(text)
        if block.kind == "recorded" and not block.body.strip()
    ]
    return [*diff, *empty]


def main(
    pages: list[Path],
    *,
    recorded: Annotated[bool, typer.Option("--recorded", help="Make the long ones too.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; fail if stale.")] = False,
) -> None:
    """Rewrite the generated blocks of these pages, or check that they are up to date."""
    if not check:
        for page in pages:
            page.write_text(rewrite(page.read_text("utf-8"), with_recorded=recorded), "utf-8")
        return
    stale = [line for page in pages for line in find_stale_lines(page)]
    if stale:
        names = shlex.join(str(page) for page in pages)
        typer.echo("\n".join([*stale, f"repeat: python -m workbench.generated_blocks {names}"]))
        raise typer.Exit(EXIT_CODES[Verdict.FAIL])


if __name__ == "__main__":
    typer.run(main)
