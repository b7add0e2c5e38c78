"""`admit-one play`: what its pages show is what the model does, and what it refuses."""

import html
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from conformance.mutants.catalogue import MUTANTS
from model.checking.explore import explore
from model.checking.trace_explanation import describe_outcome
from model.machine import action_name, outcome_name, property_sentence
from model.scopes import MACHINES, SCOPES
from stateful_tests.play_server import (
    PROGRAM,
    Server,
    count_steps,
    read_address,
    read_calls,
    read_outcome,
    read_undo,
    run_server,
)

WALK_STEPS = 12
TINY_STATES = 500


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run one explorer for all tests of this module."""
    with run_server("admission", "SMALL") as running:
        yield running


def run_play(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run `admit-one play` where it must end by itself."""
    return subprocess.run(
        [sys.executable, "-c", before + PROGRAM, "play", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def read_sentences(machine: str) -> dict[str, str]:
    """Return the sentence of each property of a machine by its name."""
    known = MACHINES[machine]
    checks: list[Callable[..., object]] = [*known.invariants, *known.step_properties]
    return {check.__name__: property_sentence(check) for check in checks}


def find_shortest_lengths(machine: str) -> dict[str, int]:
    """Return the length of a shortest trace to each (action, outcome) of TINY, by a plain search.

    Each initial state is searched to its end before the next, as `explore` does.
    """
    known, scope = MACHINES[machine], SCOPES[machine]["TINY"]
    lengths: dict[str, int] = {}
    visited = set()
    for initial in known.initial_states(scope):
        level, depth = [initial], 0
        while level:
            depth += 1
            following = []
            for state in level:
                for action in known.offered_actions(scope, state):
                    after, outcome = known.step(state, action)
                    lengths.setdefault(
                        f"{action_name(type(action))} {outcome_name(outcome)}", depth
                    )
                    if after not in visited:
                        visited.add(after)
                        following.append(after)
            level = following
        assert len(visited) <= TINY_STATES
    return lengths


# ── The page is the model ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", MACHINES)
def test_the_start_offers_every_call_of_the_scope(server: Server, machine: str) -> None:
    """The page lists each call that the scope offers, with the outcome that the model gives."""
    known, scope = MACHINES[machine], SCOPES[machine]["SMALL"]
    (initial,) = known.initial_states(scope)

    calls = read_calls(server.read(f"/{machine}/SMALL"))

    expected = [
        describe_outcome(machine, known.step(initial, action)[1])
        for action in known.offered_actions(scope, initial)
    ]
    assert sorted(call.outcome for call in calls) == sorted(expected)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(3))
def test_a_call_answers_what_was_promised(server: Server, machine: str, seed: int) -> None:
    """Along a walk each call has the outcome that the page before promised, and none is broken."""
    chance = random.Random(seed)
    page = server.read(f"/{machine}/SMALL")
    for step in range(1, WALK_STEPS + 1):
        call = chance.choice(read_calls(page))
        page = server.read(call.address)
        assert read_outcome(page) == call.outcome
        assert count_steps(page) == step
        assert "All of it holds here." in page


@pytest.mark.parametrize("machine", MACHINES)
def test_every_property_is_listed(server: Server, machine: str) -> None:
    """The page has the sentence of each invariant and of each step property."""
    page = html.unescape(server.read(f"/{machine}/TINY"))

    for sentence in read_sentences(machine).values():
        assert sentence in page


def test_the_address_opens_the_same_page_again(server: Server) -> None:
    """The address of a position leads to that position, and so do those of undo."""
    way = server.find_way("/admission/SMALL/to?goal=admit%20tenant_full").partition("#")[0]

    page = server.read(way)

    assert read_address(page) == way
    assert server.read(read_address(page)) == page
    assert count_steps(server.read(read_undo(page))) == count_steps(page) - 1


def test_each_initial_state_can_be_started_from(server: Server) -> None:
    """A record next to the last generation is there from the start, and the address says so."""
    page = server.read("/admission/TINY?t=1:")

    assert "999999999" in page
    assert read_address(page) == "/admission/TINY?t=1:"


def test_a_trace_ends_where_the_address_would_be_too_long(server: Server) -> None:
    """After two hundred steps no call is offered, and a longer trace is refused."""
    page = server.read(f"/admission/TINY?t={'.'.join(['0'] * 200)}")

    assert count_steps(page) == 200
    assert read_calls(page) == []
    assert "as long as an address may be" in page
    assert server.ask(f"/admission/TINY?t={'.'.join(['0'] * 201)}").status == 400


# ── Take me to ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", MACHINES)
def test_each_pair_is_reached_by_a_shortest_way(server: Server, machine: str) -> None:
    """Every (action, outcome) of TINY is shown after as few steps as a plain search needs."""
    for pair, length in find_shortest_lengths(machine).items():
        page = server.read(server.find_way(f"/{machine}/TINY/to?goal={quote(pair)}"))
        assert count_steps(page) == length, pair
        assert read_outcome(page).startswith(pair.partition(" ")[2]), pair


@pytest.mark.parametrize("machine", MACHINES)
def test_each_witness_is_reached_by_a_shortest_way(server: Server, machine: str) -> None:
    """Every witness of TINY is shown after as many steps as `explore` needs."""
    known = MACHINES[machine]
    sentences = {witness.__name__: property_sentence(witness) for witness in known.witnesses}

    for name, trace in explore(known, SCOPES[machine]["TINY"]).witnesses.items():
        page = server.read(server.find_way(f"/{machine}/TINY/to?goal={name}"))
        assert count_steps(page) == len(trace), name
        assert f"<b>A witness:</b> {sentences[name]}" in html.unescape(page)


def test_what_is_out_of_reach_says_why(server: Server) -> None:
    """A pair that the scope can't reach is refused with the scope's own reason."""
    answer = server.ask("/admission/TINY/to?goal=admit%20tenant_full")

    assert answer.status == 404
    assert SCOPES["admission"]["TINY"].unreachable["admit tenant_full"] in answer.text


# ── A mutant beside ───────────────────────────────────────────────────────────────────────


def test_the_starts_are_named(server: Server) -> None:
    """Where a scope has several initial states, each is offered by what it is like."""
    page = server.read("/admission/TINY")

    for state in ("queued", "quarantined"):
        assert f">a store with one {state} record near the generation limit</a>" in page
    assert ">an absent store</a>" in page


@pytest.mark.parametrize("name", ["model-capacity-checked-before-adding", "model-no-deduplication"])
def test_a_mutant_parts_where_its_property_breaks(server: Server, name: str) -> None:
    """The page marks where the mutant parts, and names the property that it breaks there."""
    (mutant,) = (each for each in MUTANTS if each.name == name)
    board = f"/{mutant.machine}/{mutant.scope}"
    query = f"mutant={name}"

    page = server.read(server.find_way(f"{board}/to?goal=broken%20{mutant.killer}&{query}"))

    assert count_steps(page) == mutant.shortest
    said, _, broken = page.partition("The mutant answered")
    sentence = read_sentences(mutant.machine)[mutant.killer]
    assert f"<b>Broken by the mutant:</b> {sentence}" in broken
    assert "<b>Broken" not in said
    parting = server.read(server.find_way(f"{board}/to?goal=parting&{query}"))
    assert count_steps(parting) <= mutant.shortest
    assert "Here they part." in parting
    undone = server.read(read_undo(parting))
    assert "The mutant has done the same so far." in undone
    assert "mutant: " in undone


def test_a_mutant_of_another_initial_state_parts_from_the_start(server: Server) -> None:
    """Where a mutant changes the scope's own records, the two part before any step."""
    name = "model-an-old-record-sized-in-characters"

    page = server.read(server.find_way(f"/admission/TINY/to?goal=parting&mutant={name}"))

    assert count_steps(page) == 0
    assert "Here they part." in page


@pytest.mark.parametrize("machine", MACHINES)
def test_every_mutant_of_a_model_can_be_run_beside_it(server: Server, machine: str) -> None:
    """The page offers each mutant of the machine's model, and shows its diff."""
    mutants = [each for each in MUTANTS if each.is_of_the_model and each.machine == machine]
    offered = server.read(f"/{machine}/TINY")
    for mutant in mutants:
        assert f'<option value="{mutant.name}"' in offered
        assert "The mistake as a diff" in server.read(f"/{machine}/TINY?mutant={mutant.name}")


# ── What is refused ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["example.org", "example.org:80", "127.0.0.1.example.org", ""])
def test_a_foreign_host_is_refused(server: Server, host: str) -> None:
    """A name that was pointed at this machine gets nothing."""
    answer = server.ask("/admission/TINY", headers={"Host": host})

    assert answer.status == 400
    assert "admission" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_reading_is_answered(server: Server, method: str) -> None:
    """No request of another site can change anything: there is nothing that takes one."""
    answer = server.ask("/admission/TINY", method=method, headers={"Origin": "http://example.org"})

    assert answer.status == 405


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/admission/NOWHERE", 404),
        ("/nowhere/TINY", 404),
        ("/admission/TINY/elsewhere", 404),
        ("/static/../play.py", 404),
        ("/static/%2e%2e/application.py", 404),
        ("/admission/TINY?t=zz", 400),
        ("/admission/TINY?t=9:", 400),
        ("/admission/TINY?t=0.1-000000", 400),
        ("/admission/TINY?t=0..1", 400),
        ("/admission/TINY?t=%3Cscript%3E", 400),
        ("/admission/TINY?t=0&t=1", 400),
        ("/admission/TINY?other=1", 400),
        ("/admission/TINY?mutant=none-of-that-name", 400),
        ("/admission/TINY?mutant=model-no-deduplication", 400),
        ("/admission/TINY/to", 404),
        ("/admission/TINY/to?goal=admit%20nonsense", 404),
        ("/admission/TINY/to?goal=parting", 404),
        (f"/admission/TINY?t={'0' * 700}", 400),
        (f"/admission/TINY?t={'0' * 3000}", 414),
        (f"/admission/TINY?t={'0' * 40000}", 414),
    ],
)
def test_what_names_nothing_is_refused_in_words(server: Server, path: str, status: int) -> None:
    """Input is bounded and checked: what is wrong is said, and nothing of it is repeated raw."""
    answer = server.ask(path)

    assert answer.status == status
    assert "<script>" not in answer.text


@pytest.mark.parametrize("path", ["/admission/TINY", "/", "/nowhere", "/static/play.js"])
def test_every_answer_has_the_headers_that_protect(server: Server, path: str) -> None:
    """No answer may be stored, framed, sniffed, or run a script that is not the page's own."""
    headers = server.ask(path).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


# ── The command ───────────────────────────────────────────────────────────────────────────


def test_the_command_begins_where_it_is_told() -> None:
    """A trace and a mutant on the command line are where the bare address leads."""
    mutant = "model-capacity-checked-before-adding"
    with run_server("admission", "--trace", "0.2.6", "--mutant", mutant) as running:
        lead = running.ask("/")
        page = running.read(lead.headers["location"])

    assert running.first.endswith(lead.headers["location"])
    assert count_steps(page) == 3
    assert "Here they part." in page


def test_an_interrupt_ends_the_command_quietly() -> None:
    """Ctrl-C is the way to end it: exit code 0, and no traceback."""
    with run_server("reservation") as running:
        running.process.send_signal(signal.SIGINT)
        _, said = running.process.communicate(timeout=30)

    assert running.process.returncode == 0
    assert said == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",),
        ("admission", "NOWHERE"),
        ("admission", "--trace", "zz"),
        ("admission", "--mutant", "none-of-that-name"),
        ("admission", "--port", "70000"),
    ],
)
def test_wrong_usage_ends_with_two(arguments: tuple[str, ...]) -> None:
    """What names nothing to play is said before anything is served."""
    ended = run_play(*arguments)

    assert ended.returncode == 2
    assert ended.stdout == ""


def test_a_port_that_is_taken_is_wrong_usage(server: Server) -> None:
    """A second explorer on the same port says so."""
    ended = run_play("admission", "--port", server.root.rpartition(":")[2])

    assert ended.returncode == 2
    assert "--port" in ended.stderr


@pytest.mark.parametrize("package", ["jinja2", "starlette", "uvicorn"])
def test_without_its_extra_the_command_says_what_is_missing(package: str) -> None:
    """Without a package of the extra the exit code is 2, and the message names the extra."""
    ended = run_play("admission", before=f"import sys\nsys.modules[{package!r}] = None\n")

    assert ended.returncode == 2
    assert f"needs {package}" in ended.stderr
    assert "admit-one[play]" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_other_commands_work_without_the_extra() -> None:
    """Nothing but the explorer's server imports the packages of its extra."""
    missing = ("jinja2", "starlette", "uvicorn")
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({missing!r}))\n"
        "from workbench.cli import main\nimport workbench.commands.play\nmain()\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program, "explore", "reservation", "TINY"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert ended.returncode == 0
