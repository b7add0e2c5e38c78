pragma application_id = 1094995249;
pragma user_version = 301;
BEGIN TRANSACTION;
CREATE TABLE call (
    ledger text,
    intent_id text,
    seq integer
) strict;
INSERT INTO "call" VALUES('L1','sent',1);
INSERT INTO "call" VALUES('L1','sent',2);
INSERT INTO "call" VALUES('L1','sent',3);
CREATE TABLE effect (
    ticket integer not null primary key check (ticket >= 1),
    intent_id text not null,
    safety text not null,
    payload blob not null,
    foreign key (intent_id, safety) references identity (intent_id, safety)
) strict;
INSERT INTO "effect" VALUES(1,'sent','idempotent',X'70');
CREATE TABLE identity (
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
INSERT INTO "identity" VALUES('sent','idempotent',X'70');
CREATE UNIQUE INDEX effect_once on effect (intent_id) where safety = 'idempotent';
CREATE INDEX effect_by_intent on effect (intent_id);
COMMIT;
