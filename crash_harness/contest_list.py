"""The contests: which calls real processes make at the same moment, and how often each may win.

A contest is data. Each of its rounds says who makes which call, once all answers of the round
before are in; the calls of a round are released together. The second gate of the dispatch is such
a round: all have reserved, or been refused, before the first one sends.

Not here: how a contest is run and judged (`contests`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crash_harness.contest_worker import Cast
from model.admission_vocabulary import (
    ABSENT,
    Admit,
    CancelUnstarted,
    Claim,
    Init,
    Limits,
    Resolve,
    Token,
)
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Confirm,
    InitLedger,
    InitReceiver,
    Ledger,
    OpenIntent,
    Received,
    Receiver,
    Reserve,
    Reserved,
    Send,
    State,
    Worker,
)

Answers = Mapping[str, Any]
"""The outcomes of one round, by worker."""
Round = Callable[[Sequence[Answers]], Mapping[str, Any]]
"""Who makes which call, given the answers of all rounds so far."""
Tally = Mapping[str, int]
"""How often each outcome comes."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Calls made together, the store that they meet, and the tallies that each round may have.

    `setup` is done before, by one process. `is_on_open_stores`: every other repetition opens the
    stores before the start, so that only the transactions race.
    """

    name: str
    claim: str
    machine: str
    workers: tuple[str, ...]
    rounds: tuple[Round, ...]
    tallies: tuple[tuple[Tally, ...], ...]
    setup: tuple[Any, ...] = ()
    is_on_open_stores: bool = False

    @property
    def cast(self) -> Cast:
        """The files and workers of the store."""
        if self.machine == "admission":
            return Cast()
        return Cast((LEDGER,), tuple((worker, LEDGER) for worker in self.workers))

    @property
    def initial(self) -> Any:
        """The model's state before the set-up: nothing exists."""
        if self.machine == "admission":
            return ABSENT
        workers = tuple(Worker(name, ledger) for name, ledger in self.cast.workers)
        return State((Ledger(LEDGER),), Receiver(), workers)


LEDGER = "L1"
INTENT = "i1"
PAYLOAD = "pay invoice 7"


def name_workers(count: int) -> tuple[str, ...]:
    """Return the names of this many workers."""
    return tuple(f"w{number}" for number in range(1, count + 1))


def _together(*actions: Any) -> Round:
    """One call for each worker, in the order of their names."""
    calls = dict(zip(name_workers(len(actions)), actions, strict=True))
    return lambda _answers: calls


def _reserve_all(count: int) -> Round:
    return _together(*(Reserve(worker, INTENT) for worker in name_workers(count)))


def _send_permits(answers: Sequence[Answers]) -> Mapping[str, Any]:
    """Everybody who has got a permit sends it."""
    return {
        worker: Send(worker, outcome.permit.intent_id, outcome.permit.seq)
        for worker, outcome in answers[0].items()
        if isinstance(outcome, Reserved)
    }


def _confirm_receipts(answers: Sequence[Answers]) -> Mapping[str, Any]:
    """Everybody who has got a receipt confirms its reservation with it."""
    return {
        worker: Confirm(LEDGER, INTENT, answers[0][worker].permit.seq, outcome.receipt)
        for worker, outcome in answers[1].items()
        if isinstance(outcome, Received)
    }


LATE_TICK = 5
"""When the lease of a claim at tick 0 expires."""
_OPENED = (InitLedger(LEDGER, LEDGER), InitReceiver())
_FIRST_TOKEN = Token("job", 1)
_CLAIMED = (Init(), Admit("job", "A", "work"), Claim(0))

CONTESTS: tuple[Contest, ...] = (
    Contest(
        name="admit-distinct-tenants",
        claim="Of twelve tenants that ask at once, four are accepted and eight find the store full",
        machine="admission",
        workers=name_workers(12),
        setup=(Init(),),
        rounds=(_together(*(Admit(f"r{n}", f"tenant-{n}", "work") for n in range(1, 13))),),
        tallies=(({"accepted": 4, "global_full": 8},),),
        is_on_open_stores=True,
    ),
    Contest(
        name="admit-one-tenant",
        claim="Of twelve requests of one tenant, two are accepted and ten find the tenant full",
        machine="admission",
        workers=name_workers(12),
        setup=(Init(),),
        rounds=(_together(*(Admit(f"r{n}", "tenant", "work") for n in range(1, 13))),),
        tallies=(({"accepted": 2, "tenant_full": 10},),),
        is_on_open_stores=True,
    ),
    Contest(
        name="admit-same-payload",
        claim="One request brought twice at once is accepted once and replayed once",
        machine="admission",
        workers=name_workers(2),
        setup=(Init(),),
        rounds=(_together(Admit("job", "A", "work"), Admit("job", "A", "work")),),
        tallies=(({"accepted": 1, "replay": 1},),),
        is_on_open_stores=True,
    ),
    Contest(
        name="admit-different-payloads",
        claim="One id brought with two payloads at once is accepted with one; the other conflicts",
        machine="admission",
        workers=name_workers(2),
        setup=(Init(),),
        rounds=(_together(Admit("job", "A", "work"), Admit("job", "A", "play")),),
        tallies=(({"accepted": 1, "conflict": 1},),),
        is_on_open_stores=True,
    ),
    Contest(
        name="cancel-against-claim",
        claim="Of a cancellation and a claim of one request, exactly one wins",
        machine="admission",
        workers=name_workers(2),
        setup=(Init(), Admit("job", "A", "work")),
        rounds=(_together(CancelUnstarted("job"), Claim(0)),),
        tallies=(({"cancelled": 1, "nothing_due": 1}, {"not_cancelled": 1, "claimed": 1}),),
        is_on_open_stores=True,
    ),
    Contest(
        name="reclaim-against-expired-token",
        claim="Once a lease has expired, the old token never finishes, and a new claim always wins",
        machine="admission",
        workers=name_workers(2),
        setup=_CLAIMED,
        rounds=(_together(Claim(LATE_TICK), Resolve(_FIRST_TOKEN, LATE_TICK)),),
        tallies=(({"claimed": 1, "stale": 1},),),
        is_on_open_stores=True,
    ),
    Contest(
        name="reclaim-against-last-tick",
        claim="In a lease's last tick, either its token finishes the work, or a new claim takes it",
        machine="admission",
        workers=name_workers(2),
        setup=_CLAIMED,
        rounds=(_together(Claim(LATE_TICK), Resolve(_FIRST_TOKEN, LATE_TICK - 1)),),
        tallies=(({"done": 1, "nothing_due": 1}, {"claimed": 1, "clock_regression": 1}),),
        is_on_open_stores=True,
    ),
    Contest(
        name="dispatch-three-permits",
        claim="Of eight processes, three get a permit, send it, and share one effect and receipt",
        machine="reservation",
        workers=name_workers(8),
        setup=(*_OPENED, OpenIntent(LEDGER, INTENT, PAYLOAD, IDEMPOTENT, 3)),
        rounds=(_reserve_all(8), _send_permits, _confirm_receipts),
        tallies=(
            ({"reserved": 3, "budget_exhausted": 5},),
            ({"received": 3},),
            ({"confirmed": 1, "already_confirmed": 2},),
        ),
    ),
    Contest(
        name="dispatch-non-idempotent",
        claim="Of eight processes, one gets a permit for a non-idempotent intent, whatever its cap",
        machine="reservation",
        workers=name_workers(8),
        setup=(*_OPENED, OpenIntent(LEDGER, INTENT, PAYLOAD, NON_IDEMPOTENT, 3)),
        rounds=(_reserve_all(8), _send_permits, _confirm_receipts),
        tallies=(
            ({"reserved": 1, "unknown_requires_reconciliation": 7},),
            ({"received": 1},),
            ({"confirmed": 1},),
        ),
    ),
    Contest(
        name="init-equal-limits",
        claim="Eight processes create one admission store at once, and all succeed",
        machine="admission",
        workers=name_workers(8),
        rounds=(_together(*(Init(),) * 8),),
        tallies=(({"ready": 8},),),
    ),
    Contest(
        name="init-different-limits",
        claim="Of eight processes that create one store with eight limits, exactly one succeeds",
        machine="admission",
        workers=name_workers(8),
        rounds=(_together(*(Init(replace(Limits(), global_slots=n)) for n in range(1, 9))),),
        tallies=(({"ready": 1, "limits_mismatch": 7},),),
    ),
    Contest(
        name="init-ledger-one-name",
        claim="Eight processes create one ledger under one name at once, and all succeed",
        machine="reservation",
        workers=name_workers(8),
        rounds=(_together(*(InitLedger(LEDGER, LEDGER),) * 8),),
        tallies=(({"ready": 8},),),
    ),
    Contest(
        name="init-ledger-eight-names",
        claim="Of eight processes that create one ledger under eight names, exactly one succeeds",
        machine="reservation",
        workers=name_workers(8),
        rounds=(_together(*(InitLedger(LEDGER, f"name-{n}") for n in range(1, 9))),),
        tallies=(({"ready": 1, "ledger_mismatch": 7},),),
    ),
    Contest(
        name="init-receiver",
        claim="Eight processes create one receiver at once, and all succeed",
        machine="reservation",
        workers=name_workers(8),
        rounds=(_together(*(InitReceiver(),) * 8),),
        tallies=(({"ready": 8},),),
    ),
)
