"""How much the power-loss engine does, and what it reports."""

from collections.abc import Mapping
from dataclasses import dataclass

from crash_harness.power_loss.loss import Loss
from model.checking.explore import Verdict

EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a profile of `verify` does for one machine.

    `changing` and `other` calls from states of TINY, drawn by the seed; the first `shapes` of the
    shaped sequences, and `sequences` of `length` calls each, without and with checkpoints inside
    the commits. Of the distinct states, one in so many is recovered again under a second power
    loss, and one in so many on real files; of the refused ones `most_real_failures`.
    """

    changing: int
    other: int
    shapes: int
    sequences: int
    length: int
    second_loss_every: int
    real_files_every: int
    most_real_failures: int


PLANS: Mapping[str, Plan] = {
    "quick": Plan(20, 6, 2, 1, 5, 1_500, 1_000, 50),
    "full": Plan(EVERYTHING, 500, 2, 24, 10, 1_000, 500, 1_000),
    "nightly": Plan(EVERYTHING, EVERYTHING, 2, 600, 16, 100, 50, 10_000),
}


@dataclass(frozen=True, slots=True)
class Options:
    """What is run: the machine, what a power loss may do, and how the connections are set up.

    Without `powersafe_overwrite` SQLite is told that a torn write may damage its neighbours
    (`psow=0`).
    """

    machine: str
    storage_profile: str
    synchronous: str
    journal: str
    powersafe_overwrite: bool
    seed: int


@dataclass(frozen=True, slots=True)
class PowerLossReport:
    """What the engine has made, recovered, judged and found.

    States are counted three ways: `states` made, `distinct` ones, and `recoveries` of a single
    database (equal files are recovered once). `exhaustive_states` were made at places in a log
    where every subset of the pending operations was, `sampled_states` where there were too many.
    `failures` counts refused states by kind; `losses` are the first ones, made small.
    `divergence` is where the implementation parts from the model before any power is lost, which
    ends the run.
    """

    options: Options
    recordings: int
    syncs: int
    exhaustive_points: int
    sampled_points: int
    exhaustive_states: int
    sampled_states: int
    distinct: int
    recoveries: int
    repeated_calls: int
    second_losses: int
    real_files: int
    failures: Mapping[str, int]
    disagreements: tuple[str, ...]
    losses: tuple[Loss, ...]
    sqlite_recorded: str
    sqlite_real_files: str
    seconds: float
    cpu_seconds: float
    divergence: str | None = None

    @property
    def states(self) -> int:
        """The states made, before duplicates were removed."""
        return self.exhaustive_states + self.sampled_states

    @property
    def loss_count(self) -> int:
        """The refused states."""
        return sum(self.failures.values())

    @property
    def verdict(self) -> Verdict:
        """Fail on any refused state, and where two versions of SQLite read different things.

        Undetermined if no state was made.
        """
        if self.loss_count or self.disagreements or self.divergence:
            return Verdict.FAIL
        return Verdict.PASS if self.distinct else Verdict.UNDETERMINED

    @property
    def covered(self) -> str:
        """What was covered, in one line."""
        return (
            f"{self.distinct:,} distinct of {self.states:,} states after power loss "
            f"({self.exhaustive_states:,} exhaustive, {self.sampled_states:,} sampled), "
            f"{self.recordings:,} recordings, {self.loss_count:,} losses; "
            f"{self.options.storage_profile}, {self.options.journal}, "
            f"synchronous {self.options.synchronous}, SQLite {self.sqlite_recorded}"
        )
