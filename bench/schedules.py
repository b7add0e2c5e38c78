"""The speed of schedules on real connections, restored, run and judged, on one core."""

from typing import Any

from bench.measure import Figure, measure_rate
from conformance.place import scratch_folder
from crash_harness.schedules.judge import Judge
from crash_harness.schedules.runner import Runner
from crash_harness.schedules.scenery import build_scene
from crash_harness.schedules.search import Search, every_schedule, one_of_each_class
from crash_harness.schedules.stage import Stage
from model.admission_vocabulary import ABSENT, Admit, Init
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Attempt,
    InitLedger,
    InitReceiver,
    OpenIntent,
)
from model.scopes import ADMISSION_TINY, MACHINES, RESERVATION_TINY

RUNS = 3
SCHEDULES = 1_000
BAR = 400

TWO_ADMISSIONS = (
    (Init(ADMISSION_TINY.limits),),
    (Admit("r1", "A", "中"), Admit("r2", "B", "中")),
)
TWO_ATTEMPTS = (
    (InitLedger("L1", "L1"), InitReceiver(), OpenIntent("L1", "i1", "p", IDEMPOTENT, 2)),
    (Attempt("a", "i1"), Attempt("b", "i1")),
)


class _Measured:
    """A stage that stays open, and a scene that is searched until enough schedules were run."""

    def __init__(self, stage: Stage, scope: Any, scene: tuple[Any, Any]) -> None:
        initial = ABSENT
        if stage.machine.name == "reservation":
            initial = MACHINES["reservation"].initial_states(scope)[0]
        self.runner, self.judge = Runner(stage), Judge(stage.machine.name)
        self.scene, self.image = build_scene(stage, initial, *scene)

    def run(self, *, reduces: bool) -> int:
        """Run at least so many schedules, and return how many."""
        done = 0
        while done < SCHEDULES:
            search: Search = (one_of_each_class if reduces else every_schedule)(
                self.runner, self.scene, self.image
            )
            for run in search.runs():
                if self.judge.judge(run):
                    raise AssertionError("a schedule of the reference implementation fails")
                done += 1
                if done == SCHEDULES:
                    break
        return done


def _measure(name: str, scope: Any, scene: tuple[Any, Any], *, reduces: bool) -> Figure:
    machine = "admission" if scope is ADMISSION_TINY else "reservation"
    with scratch_folder() as folder, Stage(machine, scope, folder) as stage:
        measured = _Measured(stage, scope, scene)
        runs = measure_rate(lambda: measured.run(reduces=reduces), RUNS)
    return Figure(name, "schedules/s", runs, bar=BAR)


def measure_schedules() -> list[Figure]:
    """Return the figures: complete schedules, each restored, observed at every turn and judged."""
    return [
        _measure("two admissions, 12 turns", ADMISSION_TINY, TWO_ADMISSIONS, reduces=True),
        _measure("two attempts, 36 turns", RESERVATION_TINY, TWO_ATTEMPTS, reduces=False),
    ]
