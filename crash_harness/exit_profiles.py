"""How many cases a profile takes, and what of it is drawn by lot; a share is always told.

quick: for each operation and outcome the nearest start, the fullest one and a drawn one.
full: every start of TINY. nightly: the same, with nothing drawn.
Each also takes the outcomes that TINY can't reach, from their nearest starts in SMALL.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

EVERY, NONE = 1.0, 0.0


@dataclass(frozen=True, slots=True)
class ExitProfile:
    """The cases of a profile; the numbers are shares of what there is.

    `kills`: of the deaths, those by SIGKILL in place of an exit; `dies_both_ways` takes each case
    by both. `survivors`: of the first deaths, those that are repeated with another connection open
    over them. `seconds`: of the distinct states of files after a first death, those from which
    the repeated call dies as well, at each of its boundaries. `faults`: of the starts, those at
    whose boundaries a statement fails in place of an exit. With `is_narrow`, a second death of an
    attempt is beside its commits; with `watches_seconds`, second deaths have survivors too.
    """

    name: str
    takes_every_start: bool
    survivors: float
    seconds: float
    faults: float
    kills: float = 0.5
    dies_both_ways: bool = False
    is_narrow: bool = False
    watches_seconds: bool = False


PROFILES: Final[Mapping[str, ExitProfile]] = {
    profile.name: profile
    for profile in (
        ExitProfile(
            "quick", takes_every_start=False, survivors=0.25, seconds=EVERY, faults=0.5,
            is_narrow=True,
        ),
        ExitProfile("full", takes_every_start=True, survivors=0.1, seconds=0.5, faults=0.1),
        ExitProfile(
            "nightly", takes_every_start=True, survivors=EVERY, seconds=EVERY, faults=EVERY,
            dies_both_ways=True, watches_seconds=True,
        ),
    )
}  # fmt: skip


def is_drawn(share: float, seed: int, name: str) -> bool:
    """Tell whether the lot falls on the thing of this name; the same seed gives the same answer."""
    return share >= EVERY or random.Random(f"{seed} {name}").random() < share
