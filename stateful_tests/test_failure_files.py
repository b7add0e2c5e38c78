"""Every check that fails writes something to look at, and says where.

The checks run in a copy of the project with a planted mistake, as a person would run them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from model.checking.history import load_history
from model.checking.trace_json import load_report
from stateful_tests.html_pages import parse_page
from stateful_tests.project_copies import (
    copy_project,
    plant,
    run_command,
    run_program,
    run_verify,
)

FOLDER = "admit-one-failures"

EVERY_CHECK = """
from model.checking.explore import Verdict
from workbench.check import Finding
from workbench.commands.verify import format_finding
from workbench.profiles import MACHINES, Profile, plan_checks

for check in plan_checks(Profile.FULL, MACHINES, 1):
    report = ("what <it> says", f"about {check.name}")
    finding = Finding(Verdict.FAIL, "little", {}, report, name=check.name, repeat="again and again")
    print(check.name, *format_finding(finding), sep="\\n", end="\\n\\n")
"""
COUNTS = """
from workbench.tables import count

print(count(1, "call"), count(0, "loss", "losses"), count(1_200, "call"), sep=", ")
"""
TWICE = """
from model.checking.explore import Verdict
from workbench.check import Finding
from workbench.failure_files import write_failure

for name, traces in (("model X", 2), ("model X-ids", 1), ("model X", 0)):
    write_failure(Finding(Verdict.FAIL, "little", {}, (), ({},) * traces, name=name))
"""


@dataclass(frozen=True)
class Planted:
    """A mistake, and the checks that must fail by it, with a trace, a history or a page alone."""

    mutant: str
    traces: tuple[str, ...]
    histories: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


PLANTED = (
    Planted("model-capacity-checked-before-adding", ("model admission TINY",)),
    Planted(
        "slot-released-at-claim",
        (
            "exhaustive admission TINY",
            "walk admission SMALL",
            "hypothesis admission",
            "crash admission",
        ),
    ),
    Planted(
        "admit-checks-outside-the-transaction",
        ("schedules admission",),
        histories=("histories admission",),
        pages=("contests",),
    ),
    Planted("synchronous-normal", ("power-loss admission",)),
)


def name_file(check: str, ending: str) -> str:
    """Return the path of a file of a check, as it is printed."""
    return f"{FOLDER}/{check.lower().replace(' ', '-')}{ending}"


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mutant)
def test_a_check_that_fails_writes_its_pages_and_says_where(
    planted: Planted, tmp_path: Path
) -> None:
    """Each has a page; a trace and a history each have a file and a page of their own."""
    folder = plant(planted.mutant, tmp_path)
    checks = (*planted.traces, *planted.histories, *planted.pages)

    done = run_verify(folder, *checks)

    assert done.returncode == 1, done.stdout
    assert done.stdout.count("repeat: admit-one verify ") == len(checks)
    pages = [name_file(check, ".html") for check in checks]
    for check in planted.traces:
        report = load_report((folder / name_file(check, "-1.json")).read_text("utf-8"))
        assert report.failures
        pages.append(name_file(check, "-1.html"))
    for check in planted.histories:
        text = (folder / name_file(check, "-history-1.json")).read_text("utf-8")
        assert load_history(text).operations
        pages.append(name_file(check, "-history-1.html"))
    for name in pages:
        assert name in done.stdout
        page = parse_page((folder / name).read_text("utf-8"))
        assert "Repeat" in page.text
        links = [link["href"] or "" for link in page.find("a")]
        assert all((folder / FOLDER / link).is_file() for link in links if link[:1] != "#")
    found = json.loads((folder / "found.json").read_text("utf-8"))
    assert sum(map(len, (each["histories"] for each in found["checks"]))) >= len(planted.histories)


@pytest.mark.parametrize(("option", "file"), [("histories", "-history-1"), ("schedules", "-1")])
def test_a_race_that_fails_writes_its_page_and_says_where(
    option: str, file: str, tmp_path: Path
) -> None:
    """Histories and schedules of `admit-one race` are kept as those of `verify` are."""
    folder = plant("admit-checks-outside-the-transaction", tmp_path)

    done = run_command(folder, "race", f"--{option}", "--machine", "admission")

    assert done.returncode == 1, done.stdout
    for ending in (f"{file}.json", f"{file}.html", ".html"):
        name = name_file(f"race {option} admission", ending)
        assert name in done.stdout
        assert (folder / name).is_file()


def test_a_changed_frozen_result_is_shown_on_a_page(tmp_path: Path) -> None:
    """The scenarios have neither a trace nor a history: their page has the report."""
    folder = copy_project(tmp_path)
    results = folder / "crash_harness" / "results.json"
    text = results.read_text("utf-8")
    results.write_text(text.replace('"queued"', '"done"', 1), "utf-8")

    done = run_verify(folder, "experiment")

    assert done.returncode == 1, done.stdout
    assert name_file("experiment", ".html") in done.stdout
    page = parse_page((folder / name_file("experiment", ".html")).read_text("utf-8"))
    assert "stored done, new queued" in page.text
    assert "admit-one verify --profile quick --only experiment" in page.text


def test_an_engine_that_can_not_run_is_shown_on_a_page(tmp_path: Path) -> None:
    """Where the implementation does not even load, the page of the check says why."""
    folder = copy_project(tmp_path)
    store = folder / "impl" / "sqlite" / "admission_store.py"
    store.write_text(f"{store.read_text('utf-8')}\nraise RuntimeError('planted')\n", "utf-8")

    done = run_verify(folder, "deaths-inside-commit admission")

    assert done.returncode == 1, done.stdout
    page = folder / name_file("deaths-inside-commit admission", ".html")
    assert "RuntimeError: planted" in parse_page(page.read_text("utf-8")).text


def test_every_check_of_a_profile_has_a_page_of_its_own(tmp_path: Path) -> None:
    """Whatever a check is called, its files have names that no other check's have."""
    blocks = run_program(EVERY_CHECK, tmp_path).strip().split("\n\n")

    assert len(blocks) == len(list((tmp_path / FOLDER).iterdir()))
    for block in blocks:
        check = block.splitlines()[0]
        page = parse_page((tmp_path / name_file(check, ".html")).read_text("utf-8"))
        assert name_file(check, ".html") in block
        assert f"what <it> says about {check}" in page.text
        assert "again and again" in page.text


def test_a_finding_is_told_where_its_pages_can_not_be_written(tmp_path: Path) -> None:
    """The report and the command that repeats it are there, and one line says why no page is."""
    (tmp_path / FOLDER).write_text("this is no folder", "utf-8")

    blocks = run_program(EVERY_CHECK, tmp_path).strip().split("\n\n")

    for block in blocks:
        assert "what <it> says" in block
        assert f"can't write pages into {FOLDER}: file exists" in block
        assert block.endswith("repeat: again and again")


def test_a_number_agrees_with_its_noun(tmp_path: Path) -> None:
    """One is not many."""
    assert run_program(COUNTS, tmp_path) == "1 call, 0 losses, 1,200 calls\n"


def test_older_files_of_the_same_check_are_removed(tmp_path: Path) -> None:
    """What a check left when it failed before is gone, and what another one left is there."""
    run_program(TWICE, tmp_path)

    names = sorted(file.name for file in (tmp_path / FOLDER).iterdir())
    assert names == ["model-x-ids-1.json", "model-x-ids.html", "model-x.html"]
