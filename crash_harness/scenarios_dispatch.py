"""The eight frozen scenarios of the dispatch budget, with the numbers of the source article.

Three numbers are told apart everywhere: `spent` (committed reservations), `receiver_calls`
(entries at the receiver) and `effects` (business rows there).

The design that refunds is wrong, and stands here alone: no implementation can do it.

Not here: how a call reaches a process, and the model's word on each outcome (`scenarios_stage`).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crash_harness.contest_list import INTENT, LEDGER, PAYLOAD
from crash_harness.contest_worker import Stop
from crash_harness.scenarios_stage import LEDGER_FILE, RECEIVER_FILE, Play, Stage
from model.machine import outcome_name
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Attempt,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Received,
    Reserved,
    Safety,
    State,
    find_intent,
    find_ledger,
    put_intent,
)

Result = dict[str, Any]

FAULTS: dict[int, tuple[Stop, int]] = {
    71: (Stop(LEDGER_FILE, "before", "commit", exit_code=71), 0),
    72: (Stop(LEDGER_FILE, "after", "commit", exit_code=72), 1),
    73: (Stop(RECEIVER_FILE, "after", "commit", nth=2, exit_code=73), 3),
    74: (Stop(LEDGER_FILE, "after", "commit", nth=2, exit_code=74), 4),
}
"""The fault points of an attempt by exit code: where it is, and how many steps have committed."""

DYING = "dying"
FRESH = "fresh"
NAMES = (DYING, FRESH)


def fault_71_before_the_reservation_commits(stage: Stage) -> Result:
    """A process that leaves before its reservation commits has spent nothing."""
    return _leave_once(stage, 71)


def fault_72_before_the_send(stage: Stage) -> Result:
    """A process that leaves before it sends has spent one, and the next attempt spends another."""
    return _leave_once(stage, 72)


def fault_73_before_the_receipt_arrives(stage: Stage) -> Result:
    """A lost receipt costs a second call, and brings no second effect."""
    return _leave_once(stage, 73)


def fault_74_after_the_confirmation(stage: Stage) -> Result:
    """A process that leaves after its confirmation has finished: nothing more is sent."""
    return _leave_once(stage, 74)


def eight_processes_for_three_permits(stage: Stage) -> Result:
    """Eight processes share three permits: three calls, one effect, one receipt."""
    played = stage.race("dispatch-three-permits")
    rounds = [list(answers.values()) for answers in played.answers]
    tallies = [
        dict(sorted(Counter(outcome_name(each) for each in answers).items())) for answers in rounds
    ]
    outcomes = [each for answers in rounds for each in answers]
    receipts = {each.receipt for each in outcomes if isinstance(each, Received)}
    return {
        "rounds": dict(zip(("reserve", "send", "confirm"), tallies, strict=False)),
        "seqs": sorted(each.permit.seq for each in outcomes if isinstance(each, Reserved)),
        "receipts": len(receipts),
        "state": _shorten(played.snapshot or {}),
    }


def a_refund_breaks_the_budget(stage: Stage) -> Result:
    """The wrong design: who refunds a reservation without a receipt sends more than its cap."""
    with stage.dispatch(*NAMES) as play:
        _open(play, IDEMPOTENT, cap=1)
        rounds = []
        for _ in range(3):
            stop, commits = FAULTS[73]
            code = play.exit_at(Attempt(DYING, INTENT), stop, commits)
            counted = count(play)
            play.execute(LEDGER_FILE, REFUND, _refund(play.state))
            rounds.append({"exit_code": code, "before_the_refund": counted})
        return {"rounds": rounds, "cap": 1, **count(play), "state": _shorten(play.see())}


REFUND = (
    f"delete from reservation where intent_id = '{INTENT}' and ticket is null",  # noqa: S608 - a constant
    f"update intent set spent = 0 where intent_id = '{INTENT}'",  # noqa: S608 - the same
)


def exhausted_with_nothing_sent(stage: Stage) -> Result:
    """Safety before liveness: two processes that never sent have spent the budget of two."""
    with stage.dispatch(*NAMES) as play:
        _open(play, IDEMPOTENT, cap=2)
        stop, commits = FAULTS[72]
        codes = [play.exit_at(Attempt(DYING, INTENT), stop, commits) for _ in range(2)]
        return {
            "exit_codes": codes,
            "third_attempt": play.call(Attempt(FRESH, INTENT)),
            **count(play),
            "state": _shorten(play.see()),
        }


def a_non_idempotent_unknown_stops(stage: Stage) -> Result:
    """Without a receipt a non-idempotent intent stops, sent or not; the rest is never used."""
    result = {}
    for name, code in (("receipt_lost", 73), ("never_sent", 72)):
        with stage.dispatch(*NAMES) as play:
            _open(play, NON_IDEMPOTENT, cap=3)
            stop, commits = FAULTS[code]
            result[name] = {
                "exit_code": play.exit_at(Attempt(DYING, INTENT), stop, commits),
                "at_exit": count(play),
                "second_attempt": play.call(Attempt(FRESH, INTENT)),
                "third_attempt": play.call(Attempt(FRESH, INTENT)),
                **count(play),
                "state": _shorten(play.see()),
            }
    return result


def count(play: Play) -> dict[str, int]:
    """Return the three numbers that must never be confused, as the stores hold them."""
    snapshot = play.see()
    ledger, receiver = snapshot.get(LEDGER, {}), snapshot.get("receiver", {})
    return {
        "spent": sum(each["spent"] for each in ledger.get("intents", ())),
        "receiver_calls": len(receiver.get("calls", ())),
        "effects": len(receiver.get("effects", ())),
    }


def _leave_once(stage: Stage, code: int) -> Result:
    """Leave an attempt at a fault point with cap 2, then attempt once more in another process."""
    with stage.dispatch(*NAMES) as play:
        _open(play, IDEMPOTENT, cap=2)
        stop, commits = FAULTS[code]
        return {
            "exit_code": play.exit_at(Attempt(DYING, INTENT), stop, commits),
            "at_exit": count(play),
            "fresh_attempt": play.call(Attempt(FRESH, INTENT)),
            "afterwards": count(play),
            "state": _shorten(play.see()),
        }


def _open(play: Play, safety: Safety, cap: int) -> None:
    play.call(InitLedger(LEDGER, LEDGER))
    play.call(InitReceiver())
    play.call(OpenIntent(LEDGER, INTENT, PAYLOAD, safety, cap))


def _refund(state: State) -> State:
    """Return the state that the refund makes: the protocol has no such step."""
    intent = find_intent(find_ledger(state, LEDGER), INTENT)
    if intent is None:
        raise AssertionError("the intent was opened before")
    return put_intent(state, LEDGER, replace(intent, spent=0, reservations=()))


def _shorten(snapshot: dict[str, Any]) -> Result:
    """Return the state as it is stored: the intents, and what was called and done by number."""
    ledger, receiver = snapshot.get(LEDGER, {}), snapshot.get("receiver", {})
    return {
        "intents": ledger.get("intents"),
        "acknowledged": {
            str(each["seq"]): each["acknowledged"] for each in ledger.get("reservations", ())
        },
        "called_seqs": [each["seq"] for each in receiver.get("calls", ())],
        "tickets": [each["ticket"] for each in receiver.get("effects", ())],
    }


SCENARIOS: tuple[Callable[[Stage], Result], ...] = (
    fault_71_before_the_reservation_commits,
    fault_72_before_the_send,
    fault_73_before_the_receipt_arrives,
    fault_74_after_the_confirmation,
    eight_processes_for_three_permits,
    a_refund_breaks_the_budget,
    exhausted_with_nothing_sent,
    a_non_idempotent_unknown_stops,
)
