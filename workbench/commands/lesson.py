"""`admit-one lesson`: why each rule is there, told by the specification that runs."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.lessons.blocks import Page
from workbench.lessons.build import (
    build_page,
    find_lesson_evidence,
    find_solution,
    name_step,
)
from workbench.lessons.catalogue import GROUPS, LESSONS, UnknownLesson, find_lesson
from workbench.lessons.evidence import Missing
from workbench.lessons.html import write_pages
from workbench.lessons.lesson import Lesson, RunPage
from workbench.lessons.rules import NoRules, read_rules
from workbench.lessons.terminal import find_terminal, show_page
from workbench.output import kept_for_the_report
from workbench.progress import progress_bar
from workbench.tables import format_table
from workbench.wrong_usage import refuse_unwritable, require_folder


def lesson(
    name: Annotated[str | None, typer.Argument(help="a lesson; without it they are listed")] = None,
    *,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FOLDER",
            callback=require_folder,
            help="Write all lessons as pages into this folder.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what the lesson shows as JSON, for machines.")
    ] = False,
) -> None:
    """Learn why each rule is there: questions, wrong designs, traces, exercises."""
    if html is not None and (name is not None or as_json):
        raise typer.BadParameter("--html writes all lessons, and takes no name and no --json")
    try:
        read_rules()
        chosen = None if name is None else find_lesson(name)
    except (NoRules, UnknownLesson) as error:
        raise typer.BadParameter(str(error)) from error
    if html is not None:
        files = write_lessons(html)
        typer.echo(f"{len(files)} pages; begin with {files[0]}")
    elif chosen is None:
        typer.echo(_list_as_json() if as_json else "\n".join(format_list()))
    elif as_json:
        with kept_for_the_report():
            values = build_values(chosen)
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        show_page(_build((chosen,))[0], find_terminal())


def format_list() -> list[str]:
    """Return the lessons in their order, by groups, with the rules that each names."""
    lines: list[str] = []
    for title, lessons in GROUPS.items():
        rows = [(each.name, each.title, " ".join(each.rules)) for each in lessons]
        lines += [title, *format_table(("lesson", "what it is about", "rules"), rows), ""]
    first = shlex.join(["admit-one", "lesson", LESSONS[0].name])
    return [*lines, f"Begin with: {first}"]


def _list_as_json() -> str:
    values = [
        {"name": each.name, "title": each.title, "rules": each.rules, "group": group}
        for group, lessons in GROUPS.items()
        for each in lessons
    ]
    return json.dumps(values, indent=2, ensure_ascii=False)


def _build(lessons: Sequence[Lesson | RunPage]) -> list[Page]:
    """Return the pages of lessons; their engines run now, which may take a while."""
    pages = []
    with kept_for_the_report(), progress_bar("lessons", len(lessons)) as advance:
        for number, each in enumerate(lessons, start=1):
            pages.append(build_page(each))
            advance(number)
    return pages


def write_lessons(folder: Path) -> list[Path]:
    """Write every lesson as a page, and one that lists them."""
    pages = {page.name: page for page in _build(LESSONS)}
    groups = {title: [pages[each.name] for each in lessons] for title, lessons in GROUPS.items()}
    with refuse_unwritable(folder):
        return write_pages(groups, folder)


def build_values(chosen: Lesson | RunPage) -> dict[str, Any]:
    """Return a lesson as JSON has it: its blocks, and what was run for it."""
    page = build_page(chosen)
    blocks = [{"kind": type(block).__name__.lower(), **asdict(block)} for block in page.blocks]
    values = {"name": page.name, "title": page.title, "rules": page.rules, "blocks": blocks}
    if isinstance(chosen, RunPage):
        return values
    try:
        mistake = asdict(find_lesson_evidence(chosen))
    except Missing as missing:
        mistake = {"missing": str(missing)}
    solution, command = find_solution(chosen.exercise)
    return {
        **values,
        "steps": [name_step(step) for step in chosen.steps],
        "claims": [claim.__name__ for claim in chosen.claims],
        "mistake": {"name": chosen.mistake.name, **_without_blocks(mistake)},
        "exercise": {
            "name": chosen.exercise.change.name,
            "file": chosen.exercise.change.file,
            "killer": chosen.exercise.change.killer,
            "shortest": chosen.exercise.change.shortest,
            "command": command,
            **_without_blocks(asdict(solution)),
        },
    }


def _without_blocks(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in {"blocks", "end"}}
