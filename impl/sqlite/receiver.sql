-- The receiver: the log of calls, what it knows of each id, and the effects.

-- An instrument, not a guard: it must be able to record a violation, so it carries no uniqueness,
-- no key and no check, and nothing reads it to decide anything (B5).
create table call (
    ledger text,
    intent_id text,
    seq integer
) strict;

-- What the first performed call of an id fixed: its safety and, if idempotent, its payload.
-- Written in the same transaction as that call's effect: it is the deduplication row (B5).
create table identity (
    intent_id text not null primary key
        check (
            length(cast(intent_id as blob)) between 1 and 200
            and instr(cast(intent_id as blob), x'00') = 0
        ),
    safety text not null check (safety in ('idempotent', 'non_idempotent')),
    payload blob,
    check ((payload is not null) = (safety = 'idempotent')),
    unique (intent_id, safety)
) strict;

-- The business rows. A ticket is the number of an effect: 1, 2, 3 ...
create table effect (
    ticket integer not null primary key check (ticket >= 1),
    intent_id text not null,
    safety text not null,
    payload blob not null,
    foreign key (intent_id, safety) references identity (intent_id, safety)
) strict;

-- At most one effect of an idempotent id (B9), and the way to find it.
create unique index effect_once on effect (intent_id) where safety = 'idempotent';

-- The effects of any id.
create index effect_by_intent on effect (intent_id);
