"""Producers that are refused, on a real store: without a pause, and with backoff and jitter.

Time is simulated, so that a run is the same on every machine; every call is made on a real store
on disk. A call takes its producer a fixed time, and one consumer needs a fixed time for each task.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from conformance.place import scratch_folder
from impl.sqlite import admission
from impl.sqlite.admission_store import AdmissionStore, AdmitOutcome, Token
from workbench.lessons.blocks import Bars, Block, Series
from workbench.lessons.evidence import tabulate

SECONDS = 20
SECOND_MS = 1000
PRODUCERS = 6
CALL_MS = 25
WORK_MS = 1000
BASE_MS = 100
MOST_MS = 3200
SEED = 1
PAYLOAD = "work"

Pause = Callable[[int, random.Random], int]
"""From the number of refusals in a row to the milliseconds before the next call."""


def no_pause(refusals: int, chance: random.Random) -> int:  # noqa: ARG001 - the shape of a pause
    """Ask again at once."""
    return 0


def backoff_with_jitter(refusals: int, chance: random.Random) -> int:
    """Wait a time drawn between zero and a bound that doubles with each refusal in a row."""
    return chance.randint(0, min(MOST_MS, BASE_MS * 2**refusals))


@dataclass(slots=True)
class Tally:
    """What a simulation has counted."""

    accepted: int = 0
    done: int = 0
    refusals: list[int] = field(default_factory=lambda: [0] * SECONDS)


@dataclass(slots=True)
class _World:
    """The store, the clock, and who does what next; producers are 0, 1, …, the consumer is -1."""

    store: AdmissionStore
    pause: Pause
    chance: random.Random
    tally: Tally = field(default_factory=Tally)
    refused: list[int] = field(default_factory=lambda: [0] * PRODUCERS)
    asked: list[int] = field(default_factory=lambda: [0] * PRODUCERS)
    held: Token | None = None

    def run(self) -> Tally:
        """Take event after event until the time is over."""
        events = [(producer, producer) for producer in range(PRODUCERS)] + [(0, -1)]
        heapq.heapify(events)
        while events[0][0] < SECONDS * SECOND_MS:
            now_ms, who = heapq.heappop(events)
            pause_ms = self.consume(now_ms) if who < 0 else self.produce(now_ms, who)
            heapq.heappush(events, (now_ms + pause_ms, who))
        return self.tally

    def produce(self, now_ms: int, who: int) -> int:
        """Ask once for a piece of work; return the time until the next call."""
        request = f"p{who}-{self.asked[who]}"
        outcome = self.store.admit(request, f"tenant-{who}", PAYLOAD)
        if outcome is AdmitOutcome.ACCEPTED:
            self.tally.accepted += 1
            self.asked[who] += 1
            self.refused[who] = 0
            return CALL_MS
        self.tally.refusals[now_ms // SECOND_MS] += 1
        pause_ms = self.pause(self.refused[who], self.chance)
        self.refused[who] += 1
        return CALL_MS + pause_ms

    def consume(self, now_ms: int) -> int:
        """Finish what is held, and take the next piece of work."""
        tick = now_ms // SECOND_MS
        if self.held is not None:
            self.store.resolve(self.held, tick)
            self.tally.done += 1
        self.held = self.store.claim(tick)
        return WORK_MS if self.held is not None else CALL_MS


@lru_cache(maxsize=4)
def simulate(pause: Pause) -> Tally:
    """Let the producers ask for `SECONDS` simulated seconds, and count."""
    with scratch_folder() as folder:
        path = folder / "store.db"
        admission.init(path)
        with AdmissionStore(path) as store:
            return _World(store, pause, random.Random(SEED)).run()


def show_producers() -> tuple[Block, ...]:
    """Show refusals by the second, and what was done in the same time."""
    runs = {"no pause": simulate(no_pause), "backoff and jitter": simulate(backoff_with_jitter)}
    series = tuple(Series(name, tuple(tally.refusals)) for name, tally in runs.items())
    rows: list[tuple[object, ...]] = [
        (name, tally.accepted, tally.done, sum(tally.refusals)) for name, tally in runs.items()
    ]
    caption = (
        f"{PRODUCERS} producers, one consumer with {WORK_MS // SECOND_MS} task a second, "
        f"{SECONDS} simulated seconds, every call on a real store"
    )
    table = tabulate(caption, ("producers", "accepted#", "done#", "refused#"), rows)
    return (*table, Bars("Refusals in each second", "refusals", series))
