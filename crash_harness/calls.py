"""Actions of a model as plain calls for a child, and outcomes as the plain answers it must give.

A child knows no model, so what goes to it and what comes back is plain. Opening a store is an
operation here, though no action of a model: it changes nothing, whatever becomes of it.

Not here: what a child makes of a call (`child`).
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from crash_harness.forking import Call
from model import admission_vocabulary as admission
from model import reservation_vocabulary as reservation
from model.machine import Machine, action_name, outcome_name

OPENED, STORE_MISSING = "ready", "store_missing"

COMMITS_WITH_ANSWER = 3
"""An attempt whose receiver has answered: it has reserved, entered and performed."""


@dataclass(frozen=True, slots=True)
class Open:
    """Open a store: `kind` is "admission", "ledger" or "receiver"; `file` is the ledger's."""

    kind: str
    file: str = ""


ERROR_NAMES = {
    "store_missing": "StoreMissing",
    "limits_mismatch": "LimitsMismatch",
    "ledger_mismatch": "LedgerMismatch",
    "clock_regression": "ClockRegression",
    "generation_exhausted": "GenerationExhausted",
    "unknown_intent": "UnknownIntent",
    "permit_used": "PermitUsed",
}


def operation_name(action: Any) -> str:
    """Return the name of an operation: "admit", "init_ledger", "open ledger"."""
    if isinstance(action, Open):
        return f"open {action.kind}"
    kind = type(action)
    if kind not in _NAMES:
        _NAMES[kind] = action_name(kind)
    return _NAMES[kind]


_NAMES: dict[type[Any], str] = {}
"""A name is asked for once a call, and takes a regular expression to be made."""


def step(machine: Machine[Any, Any, Any], state: Any, action: Any) -> tuple[Any, Any]:
    """Return the state after an action, and its outcome."""
    if isinstance(action, Open):
        return state, OPENED if exists(state, action) else STORE_MISSING
    return machine.step(state, action)


def allowed_after_exit(
    machine: Machine[Any, Any, Any], state: Any, action: Any, commits: int
) -> frozenset[Any]:
    """Return the states that may be found after an exit, by the number of commits before it."""
    if isinstance(action, Open):
        return frozenset({state})
    if isinstance(action, reservation.Attempt) and action.meanwhile is not None:
        return _allowed_meanwhile(machine, state, action, action.meanwhile, commits)
    return machine.allowed_after_exit(state, action, commits)


def _allowed_meanwhile(
    machine: Machine[Any, Any, Any],
    state: Any,
    action: reservation.Attempt,
    meanwhile: reservation.Confirm,
    commits: int,
) -> frozenset[Any]:
    """Return what may be found where another process confirms as soon as the receiver answers."""
    alone = machine.allowed_after_exit(state, replace(action, meanwhile=None), commits)
    if commits < COMMITS_WITH_ANSWER:
        return alone
    if commits == COMMITS_WITH_ANSWER:
        return frozenset(machine.step(found, meanwhile)[0] for found in alone)
    return machine.allowed_after_exit(state, action, commits)


def exists(state: Any, action: Open) -> bool:
    """Tell whether the store that is to be opened is there."""
    if action.kind == "admission":
        return state.limits is not None
    if action.kind == "receiver":
        return bool(state.receiver.exists)
    return reservation.find_ledger(state, action.file).name is not None


def strip_hands(state: Any, action: Any) -> Any:
    """Return the state without what no one needs for this action: all other permits.

    Cases that differ only in what other workers hold are one case.
    """
    if not isinstance(state, reservation.State):
        return state
    workers = []
    for worker in state.workers:
        kept: tuple[reservation.Held, ...] = ()
        if (
            isinstance(action, reservation.Enter | reservation.Perform | reservation.Send)
            and action.worker == worker.name
        ):
            held = reservation.find_held(worker, action.intent_id, action.seq)
            kept = () if held is None else (held,)
        workers.append(replace(worker, hand=kept))
    return replace(state, workers=tuple(workers))


def empty_hands(state: Any) -> Any:
    """Return what is durable of a state: nobody holds anything."""
    return strip_hands(state, None)


def repeat_of(action: Any) -> Any:
    """Return what a caller does who got no answer: the same call again (C2).

    A permit is lost with its process (B4), so `enter`, `perform` and `send` can't be repeated:
    a new send needs a new reservation, and that is an attempt.
    """
    if isinstance(
        action, reservation.Enter | reservation.Perform | reservation.Send | reservation.Attempt
    ):
        return reservation.Attempt(action.worker, action.intent_id)
    return action


def plain_call(state: Any, action: Any, folder: Path) -> Call:
    """Return the call of an action, on the stores in this folder, as a child takes it."""
    arguments, paths = _arguments_and_files(state, action)
    return Call(
        operation=operation_name(action),
        arguments=arguments,
        paths={kind: str(folder / f"{name}.db") for kind, name in paths.items()},
    )


def _arguments_and_files(state: Any, action: Any) -> tuple[tuple[Any, ...], Mapping[str, str]]:
    """Return the plain arguments of an action, and the name of each file by kind of store."""
    if isinstance(action, Open):
        name = f"ledger-{action.file}" if action.kind == "ledger" else action.kind
        return (), {action.kind: name}
    if isinstance(state, admission.State):
        fields = astuple(action)
        return (fields[0] if isinstance(action, admission.Init) else fields), {
            "admission": "admission"
        }
    return _reservation_call(state, action)


def _reservation_call(  # noqa: C901 - a row for each action
    state: reservation.State, action: reservation.Action
) -> tuple[tuple[Any, ...], Mapping[str, str]]:
    receiver = {"receiver": "receiver"}

    def ledger(file: str) -> dict[str, str]:
        return {"ledger": f"ledger-{file}"}

    match action:
        case reservation.InitReceiver():
            return (), receiver
        case reservation.InitLedger(file, name):
            return (name,), ledger(file)
        case reservation.OpenIntent(file, intent_id, payload, safety, cap):
            return (intent_id, payload, str(safety), cap), ledger(file)
        case reservation.Confirm(file, intent_id, seq, receipt):
            return (intent_id, seq, astuple(receipt)), ledger(file)
        case reservation.Reserve(worker, intent_id):
            return (intent_id,), ledger(reservation.find_worker(state, worker).ledger)
        case reservation.Attempt(worker, intent_id, meanwhile):
            own = ledger(reservation.find_worker(state, worker).ledger)
            other = (
                ()
                if meanwhile is None
                else ((meanwhile.intent_id, meanwhile.seq, astuple(meanwhile.receipt)),)
            )
            return (intent_id, *other), {**own, **receiver}
        case reservation.Enter() | reservation.Perform() | reservation.Send():
            held = reservation.find_held(
                reservation.find_worker(state, action.worker), action.intent_id, action.seq
            )
            if held is None:
                raise LookupError(f"{action.worker} holds no permit for {action}")
            permit = held.permit
            is_used = held.stage is not reservation.Stage.FRESH
            values = (permit.ledger, permit.intent_id, permit.seq, permit.payload)
            return (*values, str(permit.safety), is_used), receiver
        case reservation.Crash():
            raise LookupError("a crash is no call")


def plain_answer(outcome: Any) -> Any:
    """Return what a child must be about to return, or raise, where the model has this outcome."""
    name = outcome_name(outcome)
    if name in ERROR_NAMES:
        return ["raised", ERROR_NAMES[name]]
    answers: Mapping[type[Any], Callable[[Any], Any]] = {
        admission.Claimed: lambda each: ["Token", *astuple(each.token)],
        reservation.Reserved: lambda each: ["Permit", *astuple(each.permit)],
        reservation.Received: lambda each: ["Receipt", *astuple(each.receipt)],
        reservation.Confirmed: lambda each: ["Confirmed", ["Receipt", *astuple(each.receipt)]],
    }
    if type(outcome) in answers:
        return answers[type(outcome)](outcome)
    return None if name in {"ready", "nothing_due", OPENED} else name


def is_expected(answer: Any, outcome: Any) -> bool:
    """Tell whether a child's answer is the model's outcome."""
    if outcome_name(outcome) == "entered":  # the implementation hands the call on
        return isinstance(answer, list) and answer[0] == "Call"
    expected = plain_answer(outcome)
    if isinstance(expected, list) and expected[0] == "raised":
        return isinstance(answer, list) and answer[:2] == expected
    return bool(answer == expected)
