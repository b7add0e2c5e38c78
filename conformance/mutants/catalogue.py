"""All mutants by name, and the properties that no mutant of a model breaks alone."""

from collections.abc import Mapping
from typing import Final

from conformance.mutants.admission_model_mutants import ADMISSION_MODEL_MUTANTS
from conformance.mutants.admission_mutants import ADMISSION_MUTANTS
from conformance.mutants.answer_mutants import ANSWER_MUTANTS
from conformance.mutants.ledger_mutants import LEDGER_MUTANTS
from conformance.mutants.mutant import Mutant
from conformance.mutants.receiver_mutants import RECEIVER_MUTANTS
from conformance.mutants.record_mutants import RECORD_MUTANTS
from conformance.mutants.reservation_invariant_mutants import RESERVATION_INVARIANT_MUTANTS
from conformance.mutants.reservation_step_mutants import RESERVATION_STEP_MUTANTS

MUTANTS: Final[tuple[Mutant, ...]] = (
    *ADMISSION_MUTANTS,
    *RECORD_MUTANTS,
    *LEDGER_MUTANTS,
    *RECEIVER_MUTANTS,
    *ADMISSION_MODEL_MUTANTS,
    *RESERVATION_INVARIANT_MUTANTS,
    *RESERVATION_STEP_MUTANTS,
    *ANSWER_MUTANTS,
)

IMPLIED: Final[Mapping[tuple[str, str], str]] = {
    ("admission", "ids_are_unique"): (
        "Two records of one id differ in their sequence number, so that identity_is_permanent, "
        "which looks a record up by its id, is false at the very next call."
    ),
    ("reservation", "a_non_idempotent_intent_spends_at_most_one"): (
        "Its second unit is one that unknown_stops_a_non_idempotent_intent forbids to hand out, "
        "and spent_rises_by_one_exactly_when_a_permit_is_handed_out allows no unit without a "
        "permit."
    ),
}
"""(machine, property) → why another one always breaks with it.

They stay, since they judge a single state, as after a crash, where there is no step to judge."""


class UnknownMutant(LookupError):
    """There is no mutant of this name."""


def find_mutant(name: str) -> Mutant:
    """Return a mutant by its name."""
    for mutant in MUTANTS:
        if mutant.name == name:
            return mutant
    raise UnknownMutant(f"no mutant is named {name!r}")
