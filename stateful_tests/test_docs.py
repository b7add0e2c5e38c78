"""The pages for people: what they claim is run, compared or looked up here."""

import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.scopes import SCOPES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROTOCOLS = ROOT / "docs" / "protocols.md"
RULES = {"A": 18, "B": 12, "C": 5, "D": 19, "E": 11}
PACKAGES = ("bench", "conformance", "crash_harness", "impl", "model", "stateful_tests", "workbench")
MOST_LINES = 400
CODE_FOLDERS = ("model", "stateful_tests", "crash_harness", "conformance")
LIST_CHECKS = """
from workbench.profiles import MACHINES, Profile, plan_checks

print(*(check.name for check in plan_checks(Profile.QUICK, MACHINES, 1)), sep="\\n")
"""
DEFINED = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)


def name_page(page: Path) -> str:
    """Return a page's path within the project."""
    return str(page.relative_to(ROOT))


def find_names() -> Iterator[str]:
    """Yield the name of each function and class of the model, the engines and the tests."""
    for folder in CODE_FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield from DEFINED.findall(file.read_text("utf-8"))
    for machine in SCOPES:
        for scope in SCOPES[machine].values():
            yield scope.name


def find_table_rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of all tables below a heading of a page, up to the end."""
    text = page.read_text("utf-8").partition(f"\n{heading}\n")[2]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if not set("".join(row)) <= set("-| ")]


def test_the_readme_snippet_runs_as_it_is_printed() -> None:
    """The snippet of the README is a doctest."""
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")

    assert results.attempted >= 10
    assert results.failed == 0


def test_the_readme_shows_what_the_commands_print() -> None:
    """Diagrams, transcripts, help and scope numbers are those of the commands, seconds apart."""
    checked = subprocess.run(
        [sys.executable, "-m", "workbench.generated_blocks", "--check", "README.md"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_stale_block_fails_and_shows_the_difference(tmp_path: Path) -> None:
    """A page whose block was written by hand is told from what the command prints."""
    page = tmp_path / "page.md"
    page.write_text("<!-- generated: admit-one scopes -->\nby hand\n<!-- end -->\n", "utf-8")
    command = [sys.executable, "-m", "workbench.generated_blocks", str(page)]

    checked = subprocess.run(
        [*command, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    subprocess.run(command, cwd=ROOT, timeout=60, check=True)

    assert checked.returncode == 1
    assert "-by hand" in checked.stdout
    assert "by hand" not in page.read_text("utf-8")
    assert "$ admit-one scopes" in page.read_text("utf-8")


def test_a_record_that_was_never_made_fails(tmp_path: Path) -> None:
    """A recorded block is not compared, but it may not be empty."""
    page = tmp_path / "page.md"
    page.write_text("<!-- recorded: admit-one verify -->\n<!-- end -->\n", "utf-8")

    checked = subprocess.run(
        [sys.executable, "-m", "workbench.generated_blocks", "--check", str(page)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert checked.returncode == 1
    assert "`admit-one verify` was never recorded" in checked.stdout


def test_the_recorded_run_has_the_checks_and_the_numbers_of_today() -> None:
    """What takes long is recorded: its times may be old, its checks and its states may not."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = text.partition("<!-- recorded: admit-one verify --profile quick -->")[2]
    lines = [line for line in block.partition("<!-- end -->")[0].splitlines() if ": " in line]
    recorded = {
        name.removeprefix("pass").strip(): said
        for name, _, said in (line.partition(": ") for line in lines if line.startswith("pass "))
    }

    planned = subprocess.run(
        [sys.executable, "-c", LIST_CHECKS], capture_output=True, check=True, encoding="utf-8"
    )

    assert list(recorded) == planned.stdout.splitlines()
    assert f"pass: {len(recorded)} of {len(recorded)} checks passed" in block
    searched = [name.split() for name in recorded if name.startswith(("model", "exhaustive"))]
    assert searched
    for engine, machine, scope in searched:
        counts = SCOPES[machine][scope].expected
        said = (
            f"{counts.states:,} states, {counts.transitions:,} transitions, {counts.calls:,} calls"
        )
        assert recorded[f"{engine} {machine} {scope}"].startswith(said)


def test_the_readme_has_both_diagrams() -> None:
    """The life of a record and the life of an intent are generated blocks of the README."""
    text = (ROOT / "README.md").read_text("utf-8")

    for machine in SCOPES:
        assert f"<!-- generated: admit-one explore {machine} TINY --mermaid -->" in text


def test_the_readme_lists_every_scope_with_its_numbers() -> None:
    """Each scope stands in the README's table with the numbers recorded for it."""
    text = (ROOT / "README.md").read_text("utf-8")

    for machine, scopes in SCOPES.items():
        for scope in scopes.values():
            numbers = scope.expected
            row = rf"^{machine} +{scope.name} +{numbers.states:,} +{numbers.transitions:,} "
            assert re.search(row, text, re.MULTILINE), scope.name


@pytest.mark.parametrize("section", RULES)
def test_every_rule_has_its_number_once(section: str) -> None:
    """The rules of a section are numbered 1, 2, 3 … without a gap, each defined once."""
    text = PROTOCOLS.read_text("utf-8")

    found = re.findall(rf"^(?:- |\| )\*\*{section}(\d+)\b", text, re.MULTILINE)

    assert [int(number) for number in found] == list(range(1, RULES[section] + 1))


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_rule_that_a_page_names_exists(page: Path) -> None:
    """A rule's number in a page leads to a rule."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)

    for section, number in re.findall(r"\b([A-E])(\d{1,2})\b", text):
        assert 1 <= int(number) <= RULES[section], f"{section}{number}"


def test_every_topic_names_rules_and_judges_that_exist() -> None:
    """Each row of the table of topics leads to rules, and to properties, witnesses or tests."""
    known = set(find_names())
    rows = [
        row
        for row in find_table_rows(PROTOCOLS, "## Where each topic is tested")
        if row[0] != "topic"
    ]

    assert len(rows) >= 30
    for topic, rules, judges in rows:
        names = re.findall(r"`(\w+)`", judges)
        assert re.fullmatch(r"[A-E]\d+(, [A-E]\d+)*", rules), topic
        assert names, topic
        assert set(names) <= known, topic


def test_every_behaviour_rule_has_a_topic() -> None:
    """A rule of either protocol that no topic names would be judged by nobody that we can name."""
    rows = find_table_rows(PROTOCOLS, "## Where each topic is tested")
    named = {rule for row in rows for rule in re.findall(r"\b[AB]\d+\b", row[1])}
    every = {f"{section}{number}" for section in "AB" for number in range(1, RULES[section] + 1)}

    # These are about an implementation and not about a state: two writers, a reader, bad input.
    # Their topics are added with their tests.
    assert every - named <= {"A6", "A15", "A16"}


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    """A relative link of a page names a file of the project."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    """A path in backquotes that begins with a folder of ours is a file or folder."""
    folders = "model|impl|conformance|crash_harness|stateful_tests|workbench|bench|docs"
    text = page.read_text("utf-8")

    for target in re.findall(rf"`((?:{folders})/[\w./-]*)`", text):
        assert (ROOT / target).exists(), target


def test_every_decision_is_listed() -> None:
    """The list of decisions has each page once, with the title that the page has."""
    folder = ROOT / "docs" / "adr"
    pages = sorted(folder.glob("[0-9]*.md"))

    listed = re.findall(
        r"^\| \[(\d{4})\]\((\S+)\) \| (.+) \|$",
        (folder / "README.md").read_text("utf-8"),
        re.MULTILINE,
    )

    assert [name for _, name, _ in listed] == [page.name for page in pages]
    for number, name, title in listed:
        first_line = (folder / name).read_text("utf-8").splitlines()[0]
        assert first_line == f"# {number}. {title}"


def test_every_bug_on_record_names_a_test_that_exists_or_a_part_of_its_page() -> None:
    """A row of the track record leads to a test, or to a section that shows the bug."""
    page = ROOT / "docs" / "track_record.md"
    text = page.read_text("utf-8")
    known = set(find_names())
    rows = [
        line.strip("|").split(" | ")
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith("| bug")
    ]

    assert rows
    for row in rows:
        bug, _, _, proof, command = (cell.strip() for cell in row)
        tests = re.findall(r"`(test_\w+)`", proof)
        sections = re.findall(r"\(#([\w-]+)\)", proof)
        headings = {
            re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-")
            for line in text.splitlines()
            if line.startswith("## ")
        }
        assert tests or sections, bug
        assert set(tests) <= known, bug
        assert set(sections) <= headings, bug
        assert command.startswith("`"), bug


def test_no_file_is_longer_than_the_guide_allows() -> None:
    """What has more lines has a part that can be read alone."""
    files = [file for folder in PACKAGES for file in (ROOT / folder).rglob("*.py")]

    assert len(files) > len(PACKAGES)
    assert [f for f in files if len(f.read_text("utf-8").splitlines()) > MOST_LINES] == []
