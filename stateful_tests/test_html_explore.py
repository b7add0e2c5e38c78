"""`admit-one explore --html`: the life cycle, and the states of a small scope as a picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from model.checking.explore import explore
from model.scopes import MACHINES, SCOPES
from stateful_tests.html_pages import ROOT, Page, parse_page


def draw(folder: Path, *arguments: str) -> tuple[Page, subprocess.CompletedProcess[str]]:
    """Return the page of a search, and how the command ended."""
    file = folder / "page.html"
    shown = subprocess.run(
        [sys.executable, "-m", "workbench.cli", "explore", *arguments, "--html", str(file)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    return parse_page(file.read_text("utf-8")), shown


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """Return the page of each machine's smallest scope."""
    return {
        machine: draw(tmp_path_factory.mktemp(machine), machine, "TINY")[0] for machine in MACHINES
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_the_page_has_every_state_and_every_step(machine: str, pages: dict[str, Page]) -> None:
    """A node and a card for each state; a line for each pair of states that a step joins."""
    model, scope = MACHINES[machine], SCOPES[machine]["TINY"]
    found = explore(model, scope)
    pairs = set()
    level = list(model.initial_states(scope))
    seen = set(level)
    while level:
        state = level.pop()
        for action in model.offered_actions(scope, state):
            after, _ = model.step(state, action)
            if after != state:
                pairs.add((state, after))
            if after not in seen:
                seen.add(after)
                level.append(after)

    page = pages[machine]

    assert len(page.find("a", "node")) == len(page.find("article", "card")) == found.states
    assert len(page.find("line", "step")) == len(pairs)
    assert len(page.find("a", "end")) == len(found.deadlocks)
    marked = {trace.states[-1] for trace in found.witnesses.values()}
    assert len(page.find("a", "witness")) == len(marked)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_life_cycle_is_the_one_that_mermaid_shows(machine: str, pages: dict[str, Page]) -> None:
    """Each arrow of the diagram is a row of the table, and a line of the picture."""
    mermaid = subprocess.run(
        [sys.executable, "-m", "workbench.cli", "explore", machine, "TINY", "--mermaid"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
        cwd=ROOT,
    ).stdout
    arrows = re.findall(r"(\S+) --> (\S+) : (\w+) / (\w+)", mermaid)

    page = pages[machine]

    for source, target, action, outcome in arrows:
        start = "absent" if source == "[*]" else source
        assert f"{action} {outcome} {start} → {target}" in page.text
    ends = {(source, target) for source, target, _, _ in arrows}
    assert len(page.find("path", "arrow")) == len(ends)


def test_no_label_of_the_life_cycle_lies_on_another(pages: dict[str, Page]) -> None:
    """The labels of arrows keep apart, as wide as their letters are."""
    for page in pages.values():
        labels = [
            (float(text["x"] or 0), float(text["y"] or 0))
            for text in page.find("text")
            if text.get("class") in {"action", "soft"} and text.get("text-anchor") == "middle"
        ]
        for number, (x, y) in enumerate(labels):
            for other_x, other_y in labels[number + 1 :]:
                assert abs(y - other_y) > 12 or abs(x - other_x) > 60


def test_the_shortest_way_to_a_state_has_as_many_steps_as_its_row_says(
    pages: dict[str, Page],
) -> None:
    """The parent of a state stands one row above it."""
    page = pages["reservation"]
    depths = {node["data-number"]: int(node["data-depth"] or 0) for node in page.find("a", "node")}

    for node in page.find("a", "node"):
        parent = node.get("data-parent")
        if parent is None:
            assert node["data-depth"] == "0"
        else:
            assert depths[node["data-number"]] == depths[parent] + 1


def test_a_large_scope_has_its_life_cycle_and_no_picture_of_its_states(tmp_path: Path) -> None:
    """Beyond five hundred states the page says so, and a search that was given up says that too."""
    page, shown = draw(tmp_path, "reservation", "SMALL", "--budget", "900")

    assert shown.returncode == 3
    assert page.find("a", "node") == []
    assert "A picture of the states is drawn up to 500" in page.text
    assert page.find("svg", "life")
    assert "verdict: undetermined" in page.text


def test_the_page_stands_beside_any_other_output(tmp_path: Path) -> None:
    """With `--html` standard output is what it would be without."""
    _, shown = draw(tmp_path, "reservation", "TINY", "--mermaid")

    assert shown.returncode == 0
    assert f"page: {tmp_path / 'page.html'}" in shown.stderr
    assert shown.stdout.startswith("stateDiagram-v2")


def test_a_file_in_no_folder_is_wrong_usage(tmp_path: Path) -> None:
    """It is refused before the search, not after it."""
    file = tmp_path / "nowhere" / "page.html"
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "workbench.cli",
            "explore",
            "admission",
            "TINY",
            "--html",
            str(file),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        cwd=ROOT,
    )

    assert shown.returncode == 2
    assert "no such file or directory" in " ".join(shown.stderr.replace("│", " ").split())


def test_a_page_of_states_loads_nothing(pages: dict[str, Page]) -> None:
    """It has one style and one script, and links to itself alone."""
    page = pages["reservation"]

    assert len(page.scripts) == len(page.styles) == 1
    for link in page.find("a"):
        assert (link["href"] or "").startswith("#")
    assert not any("src" in attributes or "style" in attributes for _, attributes in page.tags)
