-- The sender ledger: intents with their budget, and the reservations taken from it.

-- The ledger's name, fixed at creation; it goes along with each call.
create table ledger (
    one integer primary key check (one = 1),
    name text not null
        check (
            length(cast(name as blob)) between 1 and 200
            and instr(cast(name as blob), x'00') = 0
        )
) strict;

-- A stored receipt is the ticket alone: its id and its payload are this row's own, so a receipt
-- for another id or payload can't be stored (B6). "ticket" and "confirmed_seq" are set together,
-- once: the second names the reservation whose confirmation brought the receipt. Its key, and the
-- one of "reservation", make a receipt without an acknowledged reservation, and the reverse,
-- impossible to commit (B9).
create table intent (
    intent_id text not null primary key
        check (
            length(cast(intent_id as blob)) between 1 and 200
            and instr(cast(intent_id as blob), x'00') = 0
        ),
    payload blob not null,
    safety text not null check (safety in ('idempotent', 'non_idempotent')),
    cap integer not null check (cap between 0 and 1000000000),
    spent integer not null check (0 <= spent and spent <= cap),
    ticket integer check (ticket between 0 and 1000000000),
    confirmed_seq integer,
    check (safety = 'idempotent' or spent <= 1),
    check ((ticket is null) = (confirmed_seq is null)),
    check (confirmed_seq between 1 and spent),
    unique (intent_id, ticket),
    foreign key (intent_id, confirmed_seq, ticket) references reservation (intent_id, seq, ticket)
        deferrable initially deferred
) strict;

-- One row a reservation, numbered 1, 2, 3 ... within its intent.
-- "ticket" is null until the reservation is acknowledged; then it is the intent's ticket.
create table reservation (
    intent_id text not null references intent (intent_id),
    seq integer not null check (seq between 1 and 1000000000),
    ticket integer,
    primary key (intent_id, seq),
    unique (intent_id, ticket, seq),
    foreign key (intent_id, ticket) references intent (intent_id, ticket)
        deferrable initially deferred
) strict;
