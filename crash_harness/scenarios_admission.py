"""The eleven frozen scenarios of durable admission, with the numbers of the source article.

Each is a function from a stage to a result: counts and states, as JSON has them. A scenario's
name is its function's name, and its docstring says what it shows.

Not here: how a call reaches a process, and the model's word on each outcome (`scenarios_stage`).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from crash_harness.contest_worker import Stop
from crash_harness.contests import Played
from crash_harness.scenarios_stage import ADMISSION_FILE, Play, Stage
from model.admission_vocabulary import (
    Admit,
    CancelUnstarted,
    Claim,
    Init,
    Quarantine,
    Redrive,
    Resolve,
    Token,
)
from model.machine import outcome_name

Result = dict[str, Any]
_Place = Literal["before", "after"]
EXIT_CODE = 73
EXPIRY_TICK = 5
NOT_STORED = {"request_id", "payload"}


def identity(stage: Stage) -> Result:
    """A known id is a replay with the same content, a conflict by tenant and by payload."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "first": play.call(Admit("one", "A", "work")),
            "same_content": play.call(Admit("one", "A", "work")),
            "other_tenant": play.call(Admit("one", "B", "work")),
            "other_payload": play.call(Admit("one", "A", "play")),
            "state": see(play),
        }


def identity_at_full_capacity(stage: Stage) -> Result:
    """A full store still knows its ids: replay and conflict come before capacity."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "accepted": _fill(play),
            "replay": play.call(Admit("a1", "A", "work")),
            "conflict": play.call(Admit("a1", "A", "play")),
            "new_id": play.call(Admit("new", "C", "work")),
            "state": see(play),
        }


def a_refused_id_is_free(stage: Stage) -> Result:
    """A refusal binds nothing: the id may come back with another payload."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "one": play.call(Admit("one", "A", "work")),
            "two": play.call(Admit("two", "A", "work")),
            "three_refused": play.call(Admit("three", "A", "work")),
            "usage_full": see(play)["usage"],
            "one_cancelled": play.call(CancelUnstarted("one")),
            "three_with_another_payload": play.call(Admit("three", "A", "other work")),
            "state": see(play),
        }


def utf8_bytes_of_a_tenant(stage: Stage) -> Result:
    """Bytes are UTF-8 bytes: thirty characters of three bytes leave no room for 39 more."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "thirty_characters": play.call(Admit("first", "A", "中" * 30)),
            "usage_after_the_first": see(play)["usage"],
            "39_bytes_more": play.call(Admit("second", "A", "a" * 39)),
            "state": see(play),
        }


def bytes_of_all_tenants(stage: Stage) -> Result:
    """The byte budget is global too: 192 bytes of two tenants leave no room for 65 of a third."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "first_96_bytes": play.call(Admit("first", "A", "a" * 96)),
            "second_96_bytes": play.call(Admit("second", "B", "b" * 96)),
            "65_bytes_more": play.call(Admit("third", "C", "c" * 65)),
            "state": see(play),
        }


def cancel_only_when_never_claimed(stage: Stage) -> Result:
    """Only a request that nobody has claimed is cancelled; against a claim, one of both wins."""
    with stage.admission() as play:
        play.call(Init())
        result = {
            "accepted": play.call(Admit("one", "A", "work")),
            "claimed": play.call(Claim(0)),
            "cancel_claimed": play.call(CancelUnstarted("one")),
            "reclaimed_after_expiry": play.call(Claim(EXPIRY_TICK)),
            "cancel_reclaimed": play.call(CancelUnstarted("one")),
            "quarantined": play.call(Quarantine(Token("one", 2), EXPIRY_TICK)),
            "redriven": play.call(Redrive("one", 2)),
            "cancel_redriven": play.call(CancelUnstarted("one")),
            "cancel_unknown": play.call(CancelUnstarted("two")),
            "state": see(play),
        }
    for name, actions in (
        ("cancel_commits_first", (CancelUnstarted("one"), Claim(0))),
        ("claim_commits_first", (Claim(0), CancelUnstarted("one"))),
    ):
        with stage.admission() as play:
            play.call(Init())
            play.call(Admit("one", "A", "work"))
            first, second = play.race_in_order(*actions)
            result[name] = {"first": first, "second": second, "state": see(play)}
    raced = stage.race("cancel-against-claim")
    outcomes = {outcome_name(each) for answers in raced.answers for each in answers.values()}
    result["free_race"] = {"winners": len(outcomes & {"cancelled", "claimed"})}
    return result


def life_cycle(stage: Stage) -> Result:
    """The charge of one three-byte request is held until it is done, and given back once."""
    actions: Mapping[str, Any] = {
        "admit": Admit("one", "A", "中"),
        "claim": Claim(0),
        "old_token_at_expiry": Resolve(Token("one", 1), 5),
        "claim_after_expiry": Claim(5),
        "old_token_after_reclaim": Resolve(Token("one", 1), 6),
        "quarantine": Quarantine(Token("one", 2), 6),
        "redrive": Redrive("one", 2),
        "claim_after_redrive": Claim(7),
        "token_from_before_quarantine": Resolve(Token("one", 2), 7),
        "resolve": Resolve(Token("one", 4), 8),
        "resolve_again": Resolve(Token("one", 4), 8),
        "replay": Admit("one", "A", "中"),
    }
    with stage.admission() as play:
        play.call(Init())
        result: Result = {
            name: {"outcome": play.call(action), "usage": see(play)["usage"]}
            for name, action in actions.items()
        }
        return {**result, "state": see(play)}


def eight_exits(stage: Stage) -> Result:
    """A process that leaves with code 73 leaves the state before its commit or the one after."""
    accepted = (Init(), Admit("one", "A", "work"))
    claimed = (*accepted, Claim(0))
    admit = Admit("one", "A", "work")
    done = Resolve(Token("one", 1), 1)
    cancel = CancelUnstarted("one")
    places: tuple[tuple[str, tuple[Any, ...], Any, _Place, str], ...] = (
        ("accept_between_intent_and_task", (Init(),), admit, "before", "insert into task"),
        ("accept_before_commit", (Init(),), admit, "before", "commit"),
        ("accept_after_commit", (Init(),), admit, "after", "commit"),
        ("done_between_effect_and_done", claimed, done, "before", "update task"),
        ("done_before_commit", claimed, done, "before", "commit"),
        ("done_after_commit", claimed, done, "after", "commit"),
        ("cancel_before_commit", accepted, cancel, "before", "commit"),
        ("cancel_after_commit", accepted, cancel, "after", "commit"),
    )
    result = {}
    for name, setup, action, place, statement in places:
        with stage.admission() as play:
            for each in setup:
                play.call(each)
            stop = Stop(ADMISSION_FILE, place, statement, exit_code=EXIT_CODE)
            result[name] = {
                "exit_code": play.exit_at(action, stop, commits=int(place == "after")),
                "found": see(play),
                "repeated": play.call(action),
                "usage_after_repeat": see(play)["usage"],
            }
    return result


def twelve_processes(stage: Stage) -> Result:
    """Of twelve processes four are accepted with distinct tenants, two with one tenant."""
    return {
        "distinct_tenants": _summarise(stage.race("admit-distinct-tenants")),
        "one_tenant": _summarise(stage.race("admit-one-tenant")),
    }


def ten_finished_tasks(stage: Stage) -> Result:
    """History is kept: ten finished tasks leave no usage, ten identities and ten effects."""
    outcomes: Counter[str] = Counter()
    with stage.admission() as play:
        play.call(Init())
        for number in range(1, 11):
            name = f"task-{number}"
            outcomes[play.call(Admit(name, "A", "work"))] += 1
            outcomes[play.call(Claim(number)).partition(" ")[0]] += 1
            outcomes[play.call(Resolve(Token(name, 1), number))] += 1
        replayed = play.call(Admit("task-1", "A", "work"))
        return {"outcomes": dict(outcomes), "replay_of_the_first": replayed, **_count(play.see())}


def a_tenant_cap_is_no_reservation(stage: Stage) -> Result:
    """With two tenants at their caps a third is refused, although it never asked before."""
    with stage.admission() as play:
        play.call(Init())
        return {
            "accepted": _fill(play),
            "third_tenant": play.call(Admit("c1", "C", "work")),
            "state": see(play),
        }


def see(play: Play) -> Result:
    """Return the state as it is stored: records and effects by id, and sizes for payloads."""
    snapshot = play.see()
    if not snapshot:
        return {"usage": None}
    records = {
        each["request_id"]: {name: each[name] for name in each if name not in NOT_STORED}
        for each in snapshot["records"]
    }
    return {
        "usage": snapshot["usage"],
        "tenants": snapshot["tenants"],
        "clock": snapshot["clock"],
        "records": records,
        "effects": [each["request_id"] for each in snapshot["effects"]],
    }


def _fill(play: Play) -> int:
    """Fill the store with two requests of each of two tenants; return how many were accepted."""
    wanted = [Admit(f"{t.lower()}{n}", t, "work") for t in ("A", "B") for n in (1, 2)]
    return [play.call(admit) for admit in wanted].count("accepted")


def _count(snapshot: Mapping[str, Any]) -> Result:
    """Return what is left of a snapshot without the names of winners."""
    records = snapshot.get("records", [])
    return {
        "usage": snapshot.get("usage"),
        "identities": len(records),
        "effects": len(snapshot.get("effects", [])),
        "states": dict(sorted(Counter(each["state"] for each in records).items())),
    }


def _summarise(played: Played) -> Result:
    outcomes = Counter(
        outcome_name(each) for answers in played.answers for each in answers.values()
    )
    return {"outcomes": dict(sorted(outcomes.items())), **_count(played.snapshot or {})}


SCENARIOS: tuple[Callable[[Stage], Result], ...] = (
    identity,
    identity_at_full_capacity,
    a_refused_id_is_free,
    utf8_bytes_of_a_tenant,
    bytes_of_all_tenants,
    cancel_only_when_never_claimed,
    life_cycle,
    eight_exits,
    twelve_processes,
    ten_finished_tasks,
    a_tenant_cap_is_no_reservation,
)
