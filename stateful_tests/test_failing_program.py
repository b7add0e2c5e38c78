"""A failing run is read, shortened and printed as a program that can be trusted."""

from model.admission_vocabulary import Limits, State, Token
from stateful_tests.failing_program import (
    Parted,
    describe_differences,
    format_program,
    read_lines,
    run_lines,
    shorten,
)
from stateful_tests.values import COMPOSED, DECOMPOSED, FAMILY

NOTE = """Failing test case: <state machine>
state = Machine()
state.begin(early=[1],
 limits=2)
state.call(action=Open(safety=<Safety.IDEMPOTENT: 'idempotent'>))
state.teardown()"""


class Pretender:
    """Stands in for a machine: `fail` parts once `arm` was called."""

    def __init__(self) -> None:
        self.is_armed = False

    def begin(self, early: list[int]) -> None:
        """Do nothing."""

    def arm(self) -> None:
        """Let the next `fail` part."""
        self.is_armed = True

    def idle(self) -> None:
        """Do nothing."""

    def fail(self) -> None:
        """Part if armed, and break otherwise."""
        if not self.is_armed:
            raise LookupError("this call is not possible")
        raise Parted("state", "they part")

    def teardown(self) -> None:
        """Do nothing."""


def test_a_noted_run_becomes_statements_that_python_can_read() -> None:
    """Each statement takes one line, and members of enumerations are written as code."""
    error = ValueError("found")
    error.add_note(NOTE)

    assert read_lines(error, "Machine") == [
        "state = Machine()",
        "state.begin(early=[1], limits=2)",
        "state.call(action=Open(safety=Safety.IDEMPOTENT))",
    ]
    assert read_lines(ValueError("without a note"), "Machine") == []


def test_a_program_is_shortened_to_the_calls_that_it_needs() -> None:
    """What is left out must not turn the failure into another one."""
    lines = [
        "state = Pretender()",
        "state.begin(early=[1, 2])",
        *["state.idle()", "state.arm()", "state.idle()"],
        "state.fail()",
    ]

    def run(chosen: list[str]) -> BaseException | None:
        return run_lines(chosen, "", {"Pretender": Pretender})

    assert shorten(lines, "state", run) == [
        "state = Pretender()",
        "state.begin(early=[])",
        "state.arm()",
        "state.fail()",
    ]


def test_texts_that_look_alike_are_printed_so_that_they_differ() -> None:
    """Signs that join the one before them are written as escapes, and the texts stay the same."""
    lines = [f"a = {COMPOSED!r}", f"b = {DECOMPOSED!r}", f"c = {FAMILY!r}"]

    program = format_program(lines, "")

    assert r"b = 'e\u0301'" in program
    assert r"\u200d" in program
    names: dict[str, str] = {}
    exec(program.replace("state.teardown()", ""), names)  # noqa: S102 - three assignments
    assert (names["a"], names["b"], names["c"]) == (COMPOSED, DECOMPOSED, FAMILY)


def test_a_difference_names_its_place() -> None:
    """Two states that differ in one number differ on one line."""
    one, other = State(Limits(), clock=1), State(Limits(global_slots=3), clock=2)

    assert describe_differences(one, other) == [
        "state.limits.global_slots: expected 4, found 3",
        "state.clock: expected 1, found 2",
    ]
    assert describe_differences(one, one) == []
    assert describe_differences((Token("r", 1),), ()) != []
