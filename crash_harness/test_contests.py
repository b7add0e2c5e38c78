"""Contests between real processes, and the judge that explains them by an order of steps."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Never

import pytest

from conformance.changed_source import Change, ChangeDoesNotApply
from crash_harness.contest_list import CONTESTS, Contest, name_workers
from crash_harness.contest_order import explain, find_differences
from crash_harness.contest_pool import GRACE_SECONDS, Pool, WorkerLost
from crash_harness.contest_worker import Call, Cast, Enlist
from crash_harness.contests import (
    REPETITIONS,
    ContestReport,
    ContestResult,
    Failure,
    play,
    run_contests,
    select_contests,
)
from model.admission_vocabulary import ABSENT, Admit, Answer, Init
from model.checking.explore import Verdict
from model.checking.history import History, Operation, make_history
from model.machine import outcome_name
from model.reservation_vocabulary import Call as LoggedCall
from model.reservation_vocabulary import Received
from model.scopes import MACHINES

STORE = "impl/sqlite/admission_store.py"
CAPACITY_IS_NEXT = (
    "            limits = read_limits(connection)\n            if size > limits.item_bytes:"
)


def plant(statement: str) -> Change:
    """Return a change that runs a statement inside the transaction of a new request."""
    return Change(STORE, CAPACITY_IS_NEXT, f"            {statement}\n{CAPACITY_IS_NEXT}")


NO_TENANT_SLOTS = Change(STORE, "if tenant_count + 1 > limits.tenant_slots or ", "if ")
OTHER_GENERATION = Change(STORE, "'queued', 0, null)", "'queued', 2, null)")


SPLIT = "            connection.execute('commit'); connection.execute('begin immediate')\n"
_ADMIT = "            if global_count + 1 > limits.global_slots or"
_RESERVE = "            seq = spent + 1\n"
DECIDED_BEFORE: dict[str, tuple[str, Change]] = {
    "admit": ("admit-distinct-tenants", Change(STORE, _ADMIT, SPLIT + _ADMIT)),
    "reserve": (
        "dispatch-three-permits",
        Change("impl/sqlite/reservation.py", _RESERVE, SPLIT + _RESERVE),
    ),
}
"""An action that decides in one transaction and writes in the next, and the contest for it."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Workers for all tests of this module that run in one process."""
    with Pool() as workers:
        yield workers


def only_failure(report: ContestReport) -> Failure:
    """Return the first failure of a run of one contest."""
    (result,) = report.results
    return result.failures[0]


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_an_order_of_the_models_steps_explains_every_contest(pool: Pool, contest: Contest) -> None:
    """Answers, final state, hands and snapshot come out of some order, five times in a row."""
    for repetition in range(REPETITIONS["quick"]):
        played = play(pool, contest, random.Random(repetition), keeps_open=repetition % 2 == 1)

        assert played.failure is None
        assert len(played.answers) == len(contest.rounds)


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_every_contest_says_what_each_round_may_answer(contest: Contest) -> None:
    """There is a list of tallies for each round, and the first accounts for every worker."""
    assert len(contest.tallies) == len(contest.rounds)
    assert {sum(tally.values()) for tally in contest.tallies[0]} == {len(contest.workers)}
    assert contest.workers == name_workers(len(contest.workers))


def test_the_contests_have_the_numbers_of_the_protocol() -> None:
    """Twelve for four, twelve for two, and eight for three, one effect behind them."""
    known = {contest.name: contest for contest in CONTESTS}

    assert len(known) == len(CONTESTS)
    assert known["admit-distinct-tenants"].tallies == (({"accepted": 4, "global_full": 8},),)
    assert known["admit-one-tenant"].tallies == (({"accepted": 2, "tenant_full": 10},),)
    assert known["dispatch-three-permits"].tallies == (
        ({"reserved": 3, "budget_exhausted": 5},),
        ({"received": 3},),
        ({"confirmed": 1, "already_confirmed": 2},),
    )


def test_three_permits_make_three_calls_one_effect_and_one_receipt(pool: Pool) -> None:
    """The permits are numbered 1, 2, 3, each is sent once, and all get the same receipt."""
    (contest,) = select_contests(["dispatch-three-permits"])

    played = play(pool, contest, random.Random(0), keeps_open=False)

    receiver = played.state.receiver
    receipts = {each.receipt for each in played.answers[1].values() if isinstance(each, Received)}
    assert receiver.calls == tuple(LoggedCall("L1", "i1", seq) for seq in (1, 2, 3))
    assert len(receiver.effects) == 1
    assert len(receipts) == 1
    assert played.state.ledgers[0].intents[0].spent == 3


def test_a_run_counts_repetitions_outcomes_and_winners() -> None:
    """The report says how often, with which outcomes, and how many different winners were seen."""
    done: list[int] = []

    report = run_contests("quick", seed=3, names=["admit-same-payload"], progress=done.append)

    (result,) = report.results
    assert report.verdict is Verdict.PASS
    assert result.repetitions == 5
    assert result.tallies == {"1 accepted, 1 replay": 5}
    assert 1 <= result.winners <= 2
    assert done == [1, 2, 3, 4, 5]


def test_the_parent_opens_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts others has no database open: what is read, a worker reads."""

    def refuse(*_arguments: object, **_options: object) -> Never:
        raise AssertionError("the parent must not open a database")

    monkeypatch.setattr(sqlite3, "connect", refuse)

    report = run_contests("quick", seed=1, names=["cancel-against-claim"])

    assert report.verdict is Verdict.PASS


def test_a_tenant_limit_that_is_ignored_fails_with_the_closest_order() -> None:
    """The failure shows who answered what, and where the model says something else."""
    report = run_contests("quick", seed=1, names=["admit-one-tenant"], changes=[NO_TENANT_SLOTS])

    failure = only_failure(report)
    assert report.verdict is Verdict.FAIL
    assert "no order of the model's steps" in failure.problem
    assert sum("→ accepted" in line for line in failure.history) == 4
    assert "after the calls that are explained the model answers tenant_full" in failure.closest[-1]
    name, unexplained = report.unexplained[0]
    assert name == "admit-one-tenant"
    assert len(unexplained.history.operations) == 12
    assert unexplained.judged.stuck is not None
    assert not unexplained.is_whole
    assert "admit-one race --contest admit-one-tenant" in report.repeat("admit-one-tenant")


@pytest.mark.parametrize("planted", DECIDED_BEFORE)
def test_a_decision_from_an_earlier_transaction_is_found(planted: str) -> None:
    """Processes that decide on what they saw in an earlier transaction win too often."""
    contest, change = DECIDED_BEFORE[planted]

    report = run_contests("full", seed=1, names=[contest], changes=[change])

    assert report.verdict is Verdict.FAIL
    assert report.results[0].met > 0


def test_right_counts_with_a_wrong_state_fail() -> None:
    """One accepted and one replayed are the right counts; the state that is left is not."""
    report = run_contests("quick", seed=1, names=["admit-same-payload"], changes=[OTHER_GENERATION])

    (result,) = report.results
    assert list(result.tallies) == ["1 accepted, 1 replay"]
    assert report.verdict is Verdict.FAIL
    assert result.failures[0].closest[-1] == ("but records[0].generation: the model has 0, found 2")


def test_an_exception_is_never_taken_for_an_outcome() -> None:
    """A call that raises fails its contest, with the error's own name, in a line."""
    raises = plant("import sqlite3; raise sqlite3.OperationalError('database is locked')")

    failure = only_failure(
        run_contests("quick", seed=1, names=["admit-same-payload"], changes=[raises])
    )

    assert failure.verdict is Verdict.FAIL
    assert "raised OperationalError: database is locked" in failure.problem
    assert failure.closest == ("sqlite3.OperationalError: database is locked",)


def test_a_worker_that_hangs_ends_within_its_bound_with_its_last_words() -> None:
    """A hang is undetermined: the last message and the place where it hangs are told."""
    started = time.monotonic()

    report = run_contests(
        "quick",
        seed=1,
        names=["admit-same-payload"],
        changes=[plant("import time; time.sleep(3600)")],
        limit_seconds=1.0,
    )

    assert time.monotonic() - started < 1.0 + GRACE_SECONDS + 10
    failure = only_failure(report)
    assert report.verdict is Verdict.UNDETERMINED
    assert "did not answer within 1 s" in failure.problem
    assert "last said READY" in failure.problem
    assert "admission_store.py" in failure.problem


def test_a_worker_that_ends_is_a_failure_with_its_last_words() -> None:
    """A process that leaves in the middle of a call is found at once."""
    leaves = plant("import os; os.write(2, b'farewell'); os._exit(9)")

    failure = only_failure(
        run_contests("quick", seed=1, names=["admit-same-payload"], changes=[leaves])
    )

    assert failure.verdict is Verdict.FAIL
    assert "ended with exit code 9" in failure.problem
    assert "farewell" in failure.problem


def test_a_lost_worker_is_not_used_again() -> None:
    """After a worker is lost, the pool gives out living ones."""
    with Pool() as workers:
        with workers.borrow(1) as (worker,):
            worker.kill()
            with pytest.raises(WorkerLost):
                worker.hear()

        with workers.borrow(1) as (worker,):
            said = worker.call(Call(Init()))

    assert outcome_name(said).startswith("raised")  # it lives, and has no store yet


def test_a_worker_serves_one_store_after_another(pool: Pool, tmp_path: Path) -> None:
    """What a worker has seen of one store does not show in the next one."""
    with pool.borrow(1) as (worker,):
        outcomes = []
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            worker.tell(Enlist("admission", Cast(), folder))
            outcomes += [worker.call(Call(Init())), worker.call(Call(Admit("r", "A", "x")))]
            worker.leave()

    assert outcomes == [Answer.READY, Answer.ACCEPTED] * 2


def test_an_unknown_contest_and_a_change_that_does_not_apply_are_errors() -> None:
    """Neither is a verdict on the implementation."""
    with pytest.raises(LookupError, match="no contest 'nothing'"):
        run_contests("quick", seed=1, names=["nothing"])
    with pytest.raises(ChangeDoesNotApply):
        run_contests("quick", seed=1, changes=[Change(STORE, "no such text", "")])


def test_a_contest_without_repetitions_is_undetermined() -> None:
    """Nothing was seen, so nothing passes."""
    result = ContestResult("name", "claim", 0, {}, 0, 0, 0.0, (), 0.0)

    assert result.verdict is Verdict.UNDETERMINED
    assert ContestReport("quick", 1, (), 0.0).verdict is Verdict.UNDETERMINED


def overlap(*answers: tuple[str, Any, Any]) -> History:
    """Return a history of calls that were all under way together."""
    operations = [Operation(process, action, outcome, 0, 1) for process, action, outcome in answers]
    return make_history("admission", operations)


def test_an_order_is_found_among_twelve_calls() -> None:
    """Twelve requests for four slots are explained by the order that the state shows."""
    machine = MACHINES["admission"]
    before, _ = machine.step(ABSENT, Init())
    after = before
    answers = []
    for number in random.Random(5).sample(range(12), 12):
        action = Admit(f"r{number}", f"t{number}", "x")
        after, outcome = machine.step(after, action)
        answers.append((action.request_id, action, outcome))

    found = explain(machine, before, overlap(*sorted(answers)), after)

    assert found.verdict is Verdict.PASS
    changing = [operation.process for operation in found.changing]
    assert changing == [record.request_id for record in after.records]


def test_a_state_that_belongs_to_another_order_is_not_explained() -> None:
    """Each answer alone is possible; together with the state they are not."""
    machine = MACHINES["admission"]
    before, _ = machine.step(ABSENT, Init())
    after, _ = machine.step(before, Admit("job", "A", "second"))
    history = overlap(
        ("w1", Admit("job", "A", "first"), Answer.ACCEPTED),
        ("w2", Admit("job", "A", "second"), Answer.CONFLICT),
    )

    found = explain(machine, before, history, after)

    assert found.verdict is Verdict.FAIL
    assert [operation.process for operation in found.order] == ["w1", "w2"]
    assert found.mismatches[0] == "records[0].payload: the model has 'first', found 'second'"


def test_an_order_respects_real_time() -> None:
    """A call that had ended before another began comes first, whatever would explain the rest."""
    machine = MACHINES["admission"]
    before, _ = machine.step(ABSENT, Init())
    admit = Admit("job", "A", "x")
    after, _ = machine.step(before, admit)
    replayed_before_it_was_accepted = make_history(
        "admission",
        [
            Operation("w1", admit, Answer.REPLAY, 0, 1),
            Operation("w2", admit, Answer.ACCEPTED, 2, 3),
        ],
    )

    found = explain(machine, before, replayed_before_it_was_accepted, after)

    assert found.verdict is Verdict.FAIL
    assert "after the calls that are explained the model answers accepted" in found.mismatches[0]


def test_a_search_that_gives_up_is_undetermined() -> None:
    """A search without a budget explains nothing, and has not failed."""
    machine = MACHINES["admission"]
    before, _ = machine.step(ABSENT, Init())
    after, outcome = machine.step(before, Admit("job", "A", "x"))

    found = explain(
        machine, before, overlap(("w1", Admit("job", "A", "x"), outcome)), after, budget=-1
    )

    assert found.verdict is Verdict.UNDETERMINED


def test_differences_name_the_field() -> None:
    """Mappings, sequences and dataclasses are entered; a missing field counts as None."""
    expected = {"a": [1, {"b": 2}], "same": 0}
    found = {"a": [1, {"b": 3}], "same": 0, "more": "x"}

    assert list(find_differences(expected, found)) == [("a[1].b", 2, 3), ("more", None, "x")]


RUNS_THE_COMMAND = """
import sys
from workbench.cli import build_app
build_app(("race", "experiment"))(sys.argv[1:], prog_name="admit-one")
"""


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `admit-one race` in a pipe."""
    return subprocess.run(
        [sys.executable, "-c", RUNS_THE_COMMAND, "race", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_command_reports_as_json() -> None:
    """Verdict, counts and the command that repeats a contest, for machines."""
    shown = run_command("--contest", "admit-same-payload", "--seed", "7", "--json")

    values = json.loads(shown.stdout)
    (contest,) = values["contests"]
    assert shown.returncode == 0
    assert values["verdict"] == "pass"
    assert contest["tallies"] == {"1 accepted, 1 replay": 5}
    assert contest["repeat"] == (
        "admit-one race --contest admit-same-payload --profile quick --seed 7"
    )


def test_the_command_refuses_an_unknown_contest() -> None:
    """Wrong usage is exit code 2, and no verdict."""
    shown = run_command("--contest", "nothing")

    assert shown.returncode == 2
    assert shown.stdout == ""
