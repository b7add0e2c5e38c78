pragma application_id = 1094995249;
pragma user_version = 201;
BEGIN TRANSACTION;
CREATE TABLE intent (
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
INSERT INTO "intent" VALUES('confirmed',X'70','idempotent',2,2,1,2);
INSERT INTO "intent" VALUES('unknown',X'E4B8AD','non_idempotent',3,1,NULL,NULL);
INSERT INTO "intent" VALUES('opened',X'','idempotent',0,0,NULL,NULL);
CREATE TABLE ledger (
    one integer primary key check (one = 1),
    name text not null
        check (
            length(cast(name as blob)) between 1 and 200
            and instr(cast(name as blob), x'00') = 0
        )
) strict;
INSERT INTO "ledger" VALUES(1,'L1');
CREATE TABLE reservation (
    intent_id text not null references intent (intent_id),
    seq integer not null check (seq between 1 and 1000000000),
    ticket integer,
    primary key (intent_id, seq),
    unique (intent_id, ticket, seq),
    foreign key (intent_id, ticket) references intent (intent_id, ticket)
        deferrable initially deferred
) strict;
INSERT INTO "reservation" VALUES('confirmed',1,NULL);
INSERT INTO "reservation" VALUES('confirmed',2,1);
INSERT INTO "reservation" VALUES('unknown',1,NULL);
COMMIT;
