"""A history as a value, as a file and as a picture."""

import random

import pytest

from model.admission_vocabulary import (
    Admit,
    Answer,
    Claim,
    Claimed,
    Redrive,
    Resolve,
    Token,
)
from model.checking.history import (
    UNKNOWN,
    History,
    Operation,
    dump_history,
    format_timeline,
    load_history,
    make_history,
)
from model.checking.trace_shapes import TraceFormatError
from model.machine import action_name
from model.scopes import MACHINES, SCOPES
from stateful_tests.drawn_histories import draw_history

ADMIT = Admit("r1", "A", "aa")


def test_a_history_survives_being_written_and_read() -> None:
    """JSON gives back the very history, unanswered operations included."""
    history = draw_history(random.Random(3), processes=4, length=30, unknowns=3)

    assert load_history(dump_history(history)) == history


def test_a_malformed_history_names_the_place() -> None:
    """A file that is no history is refused with the place that is wrong."""
    text = dump_history(make_history("admission", [Operation("a", ADMIT, Answer.REPLAY, 1, 2)]))

    with pytest.raises(TraceFormatError, match="format"):
        load_history("{}")
    with pytest.raises(TraceFormatError, match=r"operations\[0\]"):
        load_history(text.replace('"called"', '"invoked"'))
    with pytest.raises(TraceFormatError, match="outcome"):
        load_history(text.replace('"REPLAY"', '"PERHAPS"').replace('"replay"', '"perhaps"'))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"called": 1', '"called": 0, "called": 1'),
        ('"version": 2', '"version": 1'),
        ('"version": 2', '"version": 2, "more": 1'),
        ('"called": 1', '"called": true'),
        ('"machine": "admission"', '"machine": 3'),
        ('"problem": ""', '"problem": NaN'),
        ('"found": null', '"found": {}'),
        ("{", "[" * 100_000),
    ],
)
def test_a_history_is_read_as_strictly_as_a_trace(old: str, new: str) -> None:
    """A key that stands twice, one too many, a wrong kind of value: each is refused."""
    text = dump_history(make_history("admission", [Operation("a", ADMIT, Answer.REPLAY, 1, 2)]))
    assert old in text

    with pytest.raises(TraceFormatError):
        load_history(text.replace(old, new, 1))


def test_a_history_in_which_a_process_does_two_things_at_once_is_refused() -> None:
    """A process calls again only after it was answered."""
    twice = [Operation("a", ADMIT, UNKNOWN, 1, None), Operation("a", ADMIT, Answer.REPLAY, 2, 3)]

    with pytest.raises(ValueError, match="before it has an answer"):
        make_history("admission", twice)
    with pytest.raises(ValueError, match="in the order of their calls"):
        History("admission", tuple(reversed(twice)))
    with pytest.raises(ValueError, match="returns exactly if"):
        Operation("a", ADMIT, Answer.REPLAY, 1, None)


def test_a_timeline_has_a_row_for_each_process_and_a_line_for_each_operation() -> None:
    """The picture shows who was under way when, and what each call was."""
    history = make_history(
        "admission",
        [
            Operation("a", ADMIT, Answer.ACCEPTED, 0, 60),
            Operation("bb", Claim(0), Claimed(Token("r1", 1)), 40, 100),
            Operation("a", Resolve(Token("r1", 1), 1), UNKNOWN, 80, None),
            Operation("c", Redrive("r1", 1), Answer.STALE, 90, 100),
        ],
    )

    lines = format_timeline(history, columns=50)

    assert len(lines) == 3 + 4
    assert lines[0].startswith("a  [")
    assert lines[0].endswith("…")
    assert lines[1].startswith("bb ")
    assert "redrive (request_id" in lines[-1]
    assert format_timeline(History("admission", ())) == []


def test_every_action_of_a_machine_can_be_part_of_a_history() -> None:
    """The file format knows every action and every outcome that TINY shows."""
    for machine in MACHINES.values():
        scope = SCOPES[machine.name]["TINY"]
        state = machine.initial_states(scope)[0]
        seen = set()
        for _ in range(12):
            moves = [(a, *machine.step(state, a)) for a in machine.offered_actions(scope, state)]
            for action, _, outcome in moves:
                seen.add(action_name(type(action)))
                history = make_history(machine.name, [Operation("p", action, outcome, 1, 2)])
                assert load_history(dump_history(history)) == history
            state = next((after for _, after, _ in moves if after != state), state)
        assert len(seen) >= 6
