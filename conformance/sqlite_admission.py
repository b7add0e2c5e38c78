"""Binds the SQLite admission store to the model of durable admission."""

from collections.abc import Callable
from typing import Any

from conformance.implementation import Implementation
from conformance.place import Place
from conformance.subject import Unreadable, reading, stay_alive
from model.admission_vocabulary import (
    ABSENT,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Effect,
    Init,
    Limits,
    Outcome,
    Quarantine,
    Record,
    RecordState,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
)

ANSWERS = {answer.value: answer for answer in Answer}
STATES = {state.value: state for state in RecordState}


class AdmissionSubject:
    """The SQLite admission store; each action opens it anew, as the module functions do.

    With `keeps_open`, one store object serves many actions, until `reopen`.
    """

    name = "impl.sqlite.admission"

    def __init__(
        self, place: Place, implementation: Implementation, *, keeps_open: bool = False
    ) -> None:
        """Bind the store at this place; the file need not exist."""
        self.place = place
        self.keeps_open = keeps_open
        self._admission = implementation.admission
        errors = implementation.errors
        self._errors = {
            errors.StoreMissing: Answer.STORE_MISSING,
            errors.LimitsMismatch: Answer.LIMITS_MISMATCH,
            errors.ClockRegression: Answer.CLOCK_REGRESSION,
            errors.GenerationExhausted: Answer.GENERATION_EXHAUSTED,
        }
        self._store: Any = None

    @stay_alive
    def apply(self, action: Action) -> Outcome:
        """Carry out an action on the store."""
        try:
            return self._apply(action)
        except tuple(self._errors) as error:
            return self._errors[type(error)]

    def _apply(self, action: Action) -> Outcome:
        if isinstance(action, Init):
            limits = self._admission.Limits(**_as_values(action.limits))
            self._admission.init(self.place.path, limits, connect=self.place.connect)
            return Answer.READY
        outcome: Outcome = self._with_store(lambda store: self._call(store, action))
        return outcome

    def _with_store(self, use: Callable[[Any], Any]) -> Any:
        """Use a store object: a fresh one, or the one that is kept open."""
        if self._store is not None:
            return use(self._store)
        store = self._admission.AdmissionStore(self.place.path, connect=self.place.connect)
        if self.keeps_open:
            self._store = store
            return use(store)
        with store:
            return use(store)

    def _call(self, store: Any, action: Action) -> Outcome:
        match action:
            case Admit(request_id, tenant, payload):
                return ANSWERS[store.admit(request_id, tenant, payload)]
            case Claim(now):
                token = store.claim(now)
                if token is None:
                    return Answer.NOTHING_DUE
                return Claimed(Token(token.request_id, token.generation))
            case Resolve(token, now):
                return ANSWERS[store.resolve(self._token(token), now)]
            case Quarantine(token, now):
                return ANSWERS[store.quarantine(self._token(token), now)]
            case Redrive(request_id, generation):
                return ANSWERS[store.redrive(request_id, generation)]
            case CancelUnstarted(request_id):
                return ANSWERS[store.cancel_unstarted(request_id)]
            case Init() | Tick():
                raise NotImplementedError(f"{action} is no call of a store")

    def _token(self, token: Token) -> Any:
        return self._admission.Token(token.request_id, token.generation)

    def observe(self) -> State:
        """Read the durable rows through a second connection."""
        with reading(self.place) as connection:
            if connection is None:
                return ABSENT
            stores = connection.execute(
                "select global_slots, global_bytes, tenant_slots, tenant_bytes, item_bytes, clock"
                " from store"
            ).fetchall()
            rows = connection.execute(_INTENTS_AND_TASKS).fetchall()
            effects = connection.execute(
                "select t.sequence, e.request_id, e.value"
                " from effect e left join task t using (request_id) order by t.sequence"
            ).fetchall()
        if len(stores) != 1:
            raise Unreadable(f"{len(stores)} rows of limits")
        *limits, clock = stores[0]
        return State(
            limits=Limits(*limits),
            clock=clock,
            records=tuple(_read_record(row) for row in rows),
            effects=tuple(_read_effect(row) for row in effects),
        )

    @stay_alive
    def read(self) -> dict[str, Any] | None:
        """Return the store's own snapshot."""
        if self.place.observer() is None:
            return None
        snapshot: dict[str, Any] = self._with_store(lambda store: store.snapshot())
        return snapshot

    def image(self) -> bytes:
        """Return the content of the file."""
        return self.place.image()

    def has_open_transaction(self) -> bool:
        """Tell whether the store has left a transaction open."""
        return self.place.has_open_transaction()

    def install(self, state: State) -> None:
        """Create the store; a record that is too old to be reached is aged by hand."""
        if state.limits is None:
            return
        self.apply(Init(state.limits))
        for record in state.records:
            self.apply(Admit(record.request_id, record.tenant, record.payload))
            connection = self.place.observer()
            if connection is None:
                raise Unreadable("the store is absent after init and admit")
            connection.execute(
                "update task set state = ?, generation = ? where request_id = ?",
                (record.state.value, record.generation, record.request_id),
            )

    def restore(self, image: bytes, state: State) -> None:  # noqa: ARG002 - no worker holds anything
        """Put the content of the file back."""
        self.reopen()
        self.place.restore(image)

    def reopen(self) -> None:
        """Close the store object; the next action opens a new one."""
        if self._store is not None:
            store, self._store = self._store, None
            store.close()

    def close(self) -> None:
        """Close the store and the place."""
        self.reopen()
        self.place.close()


_INTENTS_AND_TASKS = (
    "select i.request_id, i.tenant, i.payload, i.size, t.sequence, t.state, t.generation, t.lease,"
    " t.request_id, t.tenant, t.size"
    " from intent i left join task t on t.request_id = i.request_id"
    " union all"
    " select i.request_id, i.tenant, i.payload, i.size, t.sequence, t.state, t.generation, t.lease,"
    " t.request_id, t.tenant, t.size"
    " from task t left join intent i on i.request_id = t.request_id where i.request_id is null"
    " order by 5"
)


def _as_values(limits: Limits) -> dict[str, int]:
    return {name: getattr(limits, name) for name in Limits.__dataclass_fields__}


def _read_record(row: tuple[Any, ...]) -> Record:
    """Turn the joined rows of an intent and its task into a record."""
    request_id, tenant, payload, size, sequence, state, generation, lease, *task = row
    if [request_id, tenant, size] != task:
        raise Unreadable(f"intent {request_id!r} and task {task} don't belong together")
    return Record(
        request_id=request_id,
        tenant=tenant,
        payload=payload.decode(),
        size_bytes=size,
        sequence=sequence,
        state=STATES[state],
        generation=generation,
        lease=lease,
    )


def _read_effect(row: tuple[Any, ...]) -> Effect:
    sequence, request_id, value = row
    if sequence is None:
        raise Unreadable(f"the effect of {request_id!r} has no task")
    return Effect(sequence, request_id, value)
