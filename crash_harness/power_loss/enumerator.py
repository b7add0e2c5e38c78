"""Which states a power loss may leave: every subset of the pending operations, within a bound.

Up to `SUBSETS_UP_TO` pending operations every subset is made. Beyond that a bounded set: every
prefix and suffix, all but one, only one, and seeded samples. Torn writes come on top, one at a
time: with all that was pending before it, with everything else, and alone.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import product

from crash_harness.power_loss.profiles import StorageProfile
from crash_harness.power_loss.storage import FIRST_PART, KEPT, LOST, Choice, Pending

SUBSETS_UP_TO = 8
SAMPLES = 64
TORN_SAMPLES = 16


def is_exhaustive(pending: Sequence[Pending], profile: StorageProfile) -> bool:
    """Tell whether every subset of what is pending is made; under `process` the order decides."""
    return profile.is_ordered or len(pending) <= SUBSETS_UP_TO


def enumerate_choices(
    pending: Sequence[Pending], profile: StorageProfile, seed: int
) -> tuple[Choice, ...]:
    """Return what a power loss may do with the pending operations, each choice once."""
    if profile.is_ordered:
        return ((KEPT,) * len(pending),)
    choices = _subsets(len(pending)) if len(pending) <= SUBSETS_UP_TO else _bounded(pending, seed)
    return tuple(dict.fromkeys((*choices, *_torn(pending))))


def _subsets(count: int) -> Iterator[Choice]:
    return product((KEPT, LOST), repeat=count)


def _bounded(pending: Sequence[Pending], seed: int) -> Iterator[Choice]:
    count = len(pending)
    for first_lost in range(count + 1):
        yield (KEPT,) * first_lost + (LOST,) * (count - first_lost)
        yield (LOST,) * first_lost + (KEPT,) * (count - first_lost)
    for number in range(count):
        yield (KEPT,) * number + (LOST,) + (KEPT,) * (count - number - 1)
        yield (LOST,) * number + (KEPT,) + (LOST,) * (count - number - 1)
    chance = random.Random(seed)
    for _ in range(SAMPLES):
        yield tuple(chance.choices((KEPT, LOST), k=count))
    for _ in range(TORN_SAMPLES):
        yield tuple(chance.randrange(FIRST_PART + len(each.parts)) for each in pending)


def _torn(pending: Sequence[Pending]) -> Iterator[Choice]:
    count = len(pending)
    for number, each in enumerate(pending):
        before, after = number, count - number - 1
        for part in range(FIRST_PART, FIRST_PART + len(each.parts)):
            yield (KEPT,) * before + (part,) + (LOST,) * after
            yield (KEPT,) * before + (part,) + (KEPT,) * after
            yield (LOST,) * before + (part,) + (LOST,) * after
