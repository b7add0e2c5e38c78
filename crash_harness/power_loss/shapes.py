"""Workloads whose shape matters: they show what a random sequence would seldom show.

Small transactions, a reset of the log, and then a larger transaction: its frames overwrite some of
the old ones, and only the sync of the new log header keeps the old rest from being read again.
"""

from collections.abc import Mapping
from typing import Any

from crash_harness.power_loss.wide_scopes import SEVERAL_PAGES
from crash_harness.power_loss.workloads import Checkpoint
from model.admission_vocabulary import Admit, CancelUnstarted, Claim, Resolve, Token
from model.reservation_vocabulary import IDEMPOTENT, Attempt, OpenIntent, Reserve

RESET = Checkpoint("restart")
SHAPES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "admission": {
        "small, reset, large": (
            Claim(1),
            Claim(2),
            Admit("r1", "A", "aa"),
            Claim(3),
            RESET,
            Admit("r2", "B", SEVERAL_PAGES),
            CancelUnstarted("r2"),
        ),
        "large, reset, small": (
            Admit("r1", "A", SEVERAL_PAGES),
            RESET,
            Claim(1),
            Resolve(Token("r1", 1), 2),
            RESET,
            Admit("r2", "A", ""),
        ),
    },
    "reservation": {
        "small, reset, large": (
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 6),
            Reserve("a", "i1"),
            Reserve("a", "i1"),
            RESET,
            OpenIntent("L1", "i2", SEVERAL_PAGES, IDEMPOTENT, 6),
            Attempt("b", "i2"),
        ),
        "large, reset, small": (
            OpenIntent("L1", "i2", SEVERAL_PAGES, IDEMPOTENT, 6),
            Attempt("a", "i2"),
            RESET,
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 6),
            Attempt("b", "i1"),
        ),
    },
}
