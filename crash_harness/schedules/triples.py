"""Three operations at the same time, in states chosen because three have something to fight over.

Three at the last slot, and at the last units of a budget; a claim, a cancellation and a redrive of
records that wait for one another; a reservation, a confirmation and the late send of an old permit.
"""

from typing import Any, Final

from model.admission_vocabulary import (
    ABSENT,
    Admit,
    CancelUnstarted,
    Claim,
    Init,
    Limits,
    Quarantine,
    Redrive,
    Resolve,
    Token,
)
from model.reservation_scope import initial_states
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Attempt,
    Confirm,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Receipt,
    Reserve,
    Send,
)
from model.scopes import ADMISSION_TINY, RESERVATION_TINY

Triple = tuple[Any, tuple[Any, ...], tuple[Any, Any, Any]]

_LAST_SLOT = Init(ADMISSION_TINY.limits)
_ROOM = Init(Limits())
_QUARANTINED = (_ROOM, Admit("r1", "A", "a"), Claim(0), Quarantine(Token("r1", 1), 0))
_CLAIMED = (_ROOM, Admit("r1", "A", "a"), Claim(0))

_ADMISSION: tuple[Triple, ...] = (
    (
        ABSENT,
        (_LAST_SLOT,),
        (Admit("r1", "A", "a"), Admit("r2", "B", "b"), Admit("r3", "C", "c")),
    ),
    (
        ABSENT,
        (*_QUARANTINED, Admit("r2", "A", "b")),
        (Claim(1), CancelUnstarted("r2"), Redrive("r1", 1)),
    ),
    (
        ABSENT,
        _CLAIMED,
        (Claim(5), Resolve(Token("r1", 1), 4), Quarantine(Token("r1", 1), 4)),
    ),
)

_EMPTY = initial_states(RESERVATION_TINY)[0]
_FILES = (InitLedger("L1", "L1"), InitReceiver())
_THREE_UNITS = (*_FILES, OpenIntent("L1", "i1", "p", IDEMPOTENT, 3))
_ONE_SENT = (*_THREE_UNITS, Reserve("a", "i1"), Reserve("b", "i1"), Send("b", "i1", 2))
_UNKNOWN = (*_FILES, OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 3))
_RECEIPT = Receipt("i1", "p", 1)

_RESERVATION: tuple[Triple, ...] = (
    (
        _EMPTY,
        _ONE_SENT,
        (Reserve("b", "i1"), Confirm("L1", "i1", 2, _RECEIPT), Send("a", "i1", 1)),
    ),
    (
        _EMPTY,
        (*_UNKNOWN, Reserve("a", "i1"), Send("a", "i1", 1)),
        (Attempt("a", "i1"), Reserve("b", "i1"), Confirm("L1", "i1", 1, _RECEIPT)),
    ),
    (
        _EMPTY,
        _FILES,
        (
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
            Attempt("a", "i1"),
            Reserve("b", "i1"),
        ),
    ),
    (
        _EMPTY,
        _UNKNOWN,
        (
            Reserve("a", "i1"),
            Reserve("b", "i1"),
            OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 3),
        ),
    ),
)

TRIPLES: Final = {"admission": _ADMISSION, "reservation": _RESERVATION}
