"""Why a small change of the code may survive the searches of `make mutation`, place by place.

A reason names what else would see the change, or why there is nothing to see. A pattern is matched
against the lines that a change takes away and puts in, so that it stands for one place and one kind
of change, and for nothing that is written later elsewhere.
"""

import re
from dataclasses import dataclass

from conformance.mutants.mutant import Mutant


@dataclass(frozen=True, slots=True)
class Reason:
    """Changes that are explained: those of a file whose operator and edit match.

    All three are regular expressions. An operator is named as cosmic-ray names it, without
    `core/`; an edit has a line `-old` and a line `+new`.
    """

    why: str
    edit: str
    file: str = ".*"
    operator: str = ".*"

    def explains(self, mutant: Mutant) -> bool:
        """Tell whether this is the reason why the mutant may survive."""
        _, operator, _ = mutant.name.split()
        is_here = re.fullmatch(self.file, mutant.file) is not None
        is_such = re.fullmatch(self.operator, operator) is not None
        has_one_place = "\n@@\n" not in mutant.edit
        matches = re.search(self.edit, mutant.edit, re.MULTILINE) is not None
        return is_here and is_such and has_one_place and matches


IS_FOR_EQUALS = r"ReplaceComparisonOperator_(Is_Eq|IsNot_NotEq)"
MODELS = r"model/.*"
STORES = r"impl/sqlite/(admission_store|reservation|receiver)\.py"
CONNECTION = r"impl/sqlite/connection\.py"

REASONS = (
    Reason(
        "a member of an enum, None or a class is equal to itself alone",
        edit=r"^-.* is ",
        operator=IS_FOR_EQUALS,
    ),
    Reason(
        "a query of one column: its last is its first",
        edit=r"^\+.*(expect_row\(.*\)|row)\[ -1\]",
        file=STORES,
    ),
    Reason(
        "a query of one column: its last is its first",
        edit=r"^\+            \)\[ -1\],$|^\+    return expect_row\(connection.*\[ -1\]$",
        file=CONNECTION,
        operator="NumberReplacer",
    ),
    Reason(
        "a protocol is for the checker of types",
        edit=r"^ +\"\"\"(What a statement leaves behind|The whole of the interface)",
        file=CONNECTION,
        operator="RemoveDecorator",
    ),
    Reason(
        "a thousandth more or less of the time that is waited",
        edit=r"^-    deadline_seconds = .* / 1000$",
        file=CONNECTION,
        operator="NumberReplacer",
    ),
    Reason(
        "the first statement on each connection sets the busy timeout",
        edit=r"^\+    return sqlite3\.connect\(.*timeout= -?1\)$",
        file=CONNECTION,
    ),
    Reason(
        "a hash only makes a search fast: what is equal is told by value",
        edit=r"^-.* field\(.*hash=False\)",
        file=r"model/admission_vocabulary\.py",
        operator="ReplaceFalseWithTrue",
    ),
    Reason(
        "a SQLite that was built with SQLITE_USE_URI takes every name for a URI",
        edit=r"^\+    return sqlite3\.connect\(uri, uri=False, ",
        file=CONNECTION,
        operator="ReplaceTrueWithFalse",
    ),
    Reason(
        "no number of tables is below zero, and no clock is read twice in the same nanosecond",
        edit=r"^\+.* == self\.table_count <= 0$|^\+.* time\.monotonic\(\) > deadline_seconds:$",
        file=CONNECTION,
    ),
    Reason(
        "spent is never above the cap, which is what B9 and the schema say",
        edit=r"^-.* (intent\.)?spent == (intent\.)?cap:$",
        operator="ReplaceComparisonOperator_Eq_GtE",
    ),
    Reason(
        "zero and the codes of SQLite are small numbers, of which CPython has one object each",
        edit=r"^-.* (== self\.table_count == 0|[!=]= sqlite3\.SQLITE_(BUSY|CANTOPEN|NOTADB):?)$",
        file=CONNECTION,
        operator="ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot)",
    ),
    Reason(
        "the lesser words are those of finished records, which have no lease to end",
        edit=r"^-    if record\.state is INFLIGHT:$",
        file=r"model/admission_vocabulary\.py",
        operator="ReplaceComparisonOperator_Is_LtE",
    ),
    Reason(
        "of the words for a state it is the greatest",
        edit=r"^\+.* record\.state (< QUEUED or |>= QUEUED$)",
        file=r"model/admission(_vocabulary)?\.py",
    ),
    Reason(
        "no generation is below zero",
        edit=r"^-.* or record\.generation != 0:$",
        file=r"model/admission\.py",
        operator="ReplaceComparisonOperator_NotEq_Gt",
    ),
    Reason(
        "what a reader sees is no part of the search: exhaustive conformance compares it",
        edit=r"^-    if state\.limits is None:$",
        file=r"model/admission_vocabulary\.py",
        operator="AddNot|ReplaceComparisonOperator_Is_.*",
    ),
    Reason(
        "an earlier tick was refused before, and an equal one leaves an equal state",
        edit=r"^-    return state if now == state\.clock else ",
        file=r"model/admission_vocabulary\.py",
        operator="ReplaceComparisonOperator_Eq_(Is|Lt|LtE)",
    ),
    Reason(
        "only a record in flight has a lease, which is asked for next",
        edit=r"^-    if record is None or record\.state is not INFLIGHT or ",
        file=r"model/admission_vocabulary\.py",
        operator="ReplaceComparisonOperator_IsNot_(Gt|Lt)",
    ),
    Reason(
        "ledgers, workers and permits stand in the order of their names and numbers",
        edit=r"^\+        if (ledger\.file|worker\.name|held\.permit.*\.seq) >= (file|name|seq):$",
        file=r"model/reservation_vocabulary\.py",
        operator="ReplaceComparisonOperator_Eq_GtE",
    ),
    Reason(
        "no number of commits is below zero",
        edit=r"^-.* commits == 0 else ",
        file=r"model/admission\.py",
        operator="ReplaceComparisonOperator_Eq_LtE",
    ),
    Reason(
        "the number of steps is small, and of small numbers CPython has one object each",
        edit=r"^-    if len\(earlier\) == len\(|^-.* and commits == ANSWERED:$",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_Eq_Is",
    ),
    Reason(
        "an attempt with fewer steps behind it has been dealt with above",
        edit=r"^-    if len\(earlier\) == len\(",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_Eq_LtE",
    ),
    Reason(
        "a fourth commit is the confirmation, and what the other has confirmed is in the state",
        edit=r"^-.* and commits == ANSWERED:$",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_Eq_GtE",
    ),
    Reason(
        "what is put back is made of what was found, and has its very name",
        edit=r"^-.* old\.(file|name|permit|intent_id) (==|!=) \w+(\.\w+)?( else|\))",
        file=r"model/reservation_vocabulary\.py",
        operator="ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot)",
    ),
    Reason(
        "of the answers of `enter` it is the least",
        edit=r"^-    return state, outcome, outcome is not Answer\.ENTERED$",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_IsNot_Gt",
    ),
    Reason(
        "an attempt enters with the permit that it has just got: no other answer is possible",
        edit=r"^-        return state, outcome, outcome is not Answer\.ENTERED$",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_IsNot_(Gt|Lt)",
    ),
    Reason(
        "of the words for a permit it is the least",
        edit=r"^-.* held\.stage is not Stage\.ENTERED:$",
        file=r"model/reservation\.py",
        operator="ReplaceComparisonOperator_IsNot_Gt",
    ),
    Reason(
        "a list of one state: its last is its first",
        edit=r"^\+        reached\.append\(confirm\(reached\[ -1\]",
        file=r"model/reservation\.py",
        operator="NumberReplacer",
    ),
    Reason(
        "no generation is above the last one, which is what A16 says",
        edit=r"^-    if (due|record)\.generation == GENERATION_MAX:",
        file=r"model/admission\.py",
        operator="ReplaceComparisonOperator_Eq_GtE",
    ),
    Reason(
        "no generation is above the last one, which is what A16 and the schema say",
        edit=r"^-    if generation >= NUMBER_MAX:$",
        file=STORES,
        operator="ReplaceComparisonOperator_GtE_Eq",
    ),
    Reason(
        "an update has changed a number of rows, and none is below zero",
        edit=r"^-            if (completed|updated)\.rowcount == 0:$",
        file=STORES,
        operator="ReplaceComparisonOperator_Eq_LtE",
    ),
    Reason(
        "an earlier tick was refused before, and an equal one stores the clock that is stored",
        edit=r"^-        if now > clock:$",
        file=STORES,
        operator="ReplaceComparisonOperator_Gt_(GtE|IsNot|NotEq)",
    ),
    Reason(
        "of two words it is the greater one",
        edit=r"^-.* (==|is) Safety\.NON_IDEMPOTENT|^-.* is NON_IDEMPOTENT",
        operator=r"ReplaceComparisonOperator_(Eq|Is)_GtE",
    ),
    Reason(
        "of two words it is the lesser one",
        edit=r"^-.* is (Safety\.)?IDEMPOTENT",
        operator="ReplaceComparisonOperator_Is_LtE",
    ),
    Reason(
        "of the words that stand here it is the greatest",
        edit=r"^-.* is (ConfirmOutcome|Answer)\.REJECTED",
        operator="ReplaceComparisonOperator_Is_GtE",
    ),
)


def explain(mutant: Mutant) -> str | None:
    """Return why a change may survive, None if nobody has said."""
    return next((reason.why for reason in REASONS if reason.explains(mutant)), None)
