"""What the words of the protocols mean, in the specification's own sentences where it has them."""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, get_args

from model import admission_vocabulary, reservation_vocabulary
from model.machine import action_name

_RULES = re.compile(r" \([A-E]\d+[^)]*\)")
_OUTCOMES: Final[Mapping[str, tuple[type[Enum], Any]]] = {
    "admission": (admission_vocabulary.Answer, admission_vocabulary.Outcome),
    "reservation": (reservation_vocabulary.Answer, reservation_vocabulary.Outcome),
}
_KINDS: Final = (
    admission_vocabulary.Limits,
    admission_vocabulary.Record,
    admission_vocabulary.Token,
    admission_vocabulary.Effect,
    reservation_vocabulary.Ledger,
    reservation_vocabulary.Intent,
    reservation_vocabulary.Reservation,
    reservation_vocabulary.Permit,
    reservation_vocabulary.Call,
    reservation_vocabulary.Receipt,
)
"""What has a sentence in the specification, in the order in which a learner meets it."""
_OTHERS: Final = {
    "absent store": "A file that nobody has created yet; `init` creates it.",
    "tenant": "Whoever the work is done for; each has a share of the budget.",
    "payload": "The text of a piece of work.",
    "sequence": "The place of a record in the order of admission: 1, 2, 3 …",
    "generation": "How often a record was claimed or put back; a token fits one of them.",
    "lease": "The tick at which a claim ends; after that somebody else may claim the record.",
}
"""Words of which the specification says in several places what they mean."""


def list_words() -> dict[str, str]:
    """Return words with what they mean: those of the store first, then those of the budget."""
    told = {action_name(kind): _tell(kind.__doc__) for kind in _KINDS}
    return {**_OTHERS, **told}


@lru_cache(maxsize=2)
def read_outcomes(machine: str) -> Mapping[str, str]:
    """Return what each outcome of a machine means."""
    answers, outcomes = _OUTCOMES[machine]
    with_values = [kind for kind in get_args(outcomes) if kind is not answers]
    told = {kind.kind: _tell(kind.__doc__) for kind in with_values}
    return {**told, **_read_members(answers)}


def _read_members(kind: type[Enum]) -> dict[str, str]:
    """Return the sentence that stands below each member of an enumeration."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    told = {}
    for line, below in pairwise(getattr(found, "body", ())):
        if isinstance(line, ast.Assign) and isinstance(below, ast.Expr):
            member = kind[ast.unparse(line.targets[0])]
            told[str(member.value)] = _tell(ast.literal_eval(below.value))
    return told


def _tell(sentence: str | None) -> str:
    """Return the first line of a docstring, without the rules that it names."""
    return _RULES.sub("", (sentence or "").strip().splitlines()[0])
