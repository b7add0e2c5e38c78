pragma application_id = 1094995249;
pragma user_version = 101;
BEGIN TRANSACTION;
CREATE TABLE effect (
    request_id text not null primary key references task (request_id),
    value text not null check (value = 'synthetic-completed')
) strict;
INSERT INTO "effect" VALUES('done','synthetic-completed');
CREATE TABLE intent (
    request_id text not null primary key
        check (
            length(cast(request_id as blob)) between 1 and 200
            and instr(cast(request_id as blob), x'00') = 0
        )
        references task (request_id) deferrable initially deferred,
    tenant text not null
        check (
            length(cast(tenant as blob)) between 1 and 200
            and instr(cast(tenant as blob), x'00') = 0
        ),
    payload blob not null,
    size integer not null check (size = length(payload) and size <= 1000000000),
    unique (request_id, tenant, size)
) strict;
INSERT INTO "intent" VALUES('done','A',X'E4B8AD',3);
INSERT INTO "intent" VALUES('quarantined','A',X'E4B8AD',3);
INSERT INTO "intent" VALUES('inflight','A',X'E4B8AD',3);
INSERT INTO "intent" VALUES('redriven','A',X'E4B8AD',3);
INSERT INTO "intent" VALUES('cancelled','B',X'',0);
INSERT INTO "intent" VALUES('queued','B',X'62',1);
CREATE TABLE store (
    one integer primary key check (one = 1),
    global_slots integer not null check (global_slots between 0 and 1000000000),
    global_bytes integer not null check (global_bytes between 0 and 1000000000),
    tenant_slots integer not null check (tenant_slots between 0 and 1000000000),
    tenant_bytes integer not null check (tenant_bytes between 0 and 1000000000),
    item_bytes integer not null check (item_bytes between 0 and 1000000000),
    clock integer not null check (clock between 0 and 1000000000)
) strict;
INSERT INTO "store" VALUES(1,4,40,3,30,20,7);
CREATE TABLE task (
    sequence integer not null primary key check (sequence >= 1),
    request_id text not null unique,
    tenant text not null,
    size integer not null,
    state text not null
        check (state in ('queued', 'inflight', 'quarantined', 'done', 'cancelled')),
    generation integer not null check (generation between 0 and 1000000000),
    lease integer check (lease between 5 and 1000000005),
    check ((lease is not null) = (state = 'inflight')),
    check (
        case state
            when 'queued' then generation <> 1
            when 'cancelled' then generation = 0
            else generation >= 1
        end
    ),
    foreign key (request_id, tenant, size) references intent (request_id, tenant, size)
) strict;
INSERT INTO "task" VALUES(1,'done','A',3,'done',1,NULL);
INSERT INTO "task" VALUES(2,'quarantined','A',3,'quarantined',1,NULL);
INSERT INTO "task" VALUES(3,'inflight','A',3,'inflight',1,12);
INSERT INTO "task" VALUES(4,'redriven','A',3,'queued',2,NULL);
INSERT INTO "task" VALUES(5,'cancelled','B',0,'cancelled',0,NULL);
INSERT INTO "task" VALUES(6,'queued','B',1,'queued',0,NULL);
CREATE INDEX task_outstanding on task (sequence, state, lease, tenant, size)
where state in ('queued', 'inflight', 'quarantined');
COMMIT;
