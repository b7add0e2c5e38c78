-- Durable admission: what the protocol claims of a single row or a pair of rows, SQL also forbids.
-- Sums over outstanding rows and gaps between sequence numbers can't be stated here.

-- The five limits, fixed at creation, and the clock.
create table store (
    one integer primary key check (one = 1),
    global_slots integer not null check (global_slots between 0 and 1000000000),
    global_bytes integer not null check (global_bytes between 0 and 1000000000),
    tenant_slots integer not null check (tenant_slots between 0 and 1000000000),
    tenant_bytes integer not null check (tenant_bytes between 0 and 1000000000),
    item_bytes integer not null check (item_bytes between 0 and 1000000000),
    clock integer not null check (clock between 0 and 1000000000)
) strict;

-- What was asked for. Never changed, never deleted: identity is permanent (A14).
-- The payload is a blob of UTF-8, so that equality is byte by byte, NUL included (A2), and length()
-- counts bytes (A5). No intent is committed without its task (A6), hence the deferred key.
create table intent (
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

-- What became of it.
-- Tenant and size are repeated from the intent, under a composite key so that they can't differ:
-- with them the index below holds all that a decision on capacity reads.
-- A cancelled task was never claimed (A13); a queued one is at 0 or, redriven, at 2 or more (A12).
create table task (
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

-- Only outstanding tasks, in the order of admission, with everything that admit's sums and claim's
-- choice look at. Both name this index with "indexed by": their cost follows the outstanding work
-- and never the history, which grows without bound (A17).
create index task_outstanding on task (sequence, state, lease, tenant, size)
where state in ('queued', 'inflight', 'quarantined');

-- What the work did, once a task at most (A10).
create table effect (
    request_id text not null primary key references task (request_id),
    value text not null check (value = 'synthetic-completed')
) strict;
