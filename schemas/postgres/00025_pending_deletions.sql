-- +goose Up

-- Tombstones, and the deletions of workspaces, in the order in which they became
-- visible: who writes one holds an advisory lock from before the number is drawn until
-- after the commit. A reader that has seen a number has seen all below it. A clock
-- promises no such thing. It begins at 2, so that 1 is below all.
CREATE SEQUENCE tombstone_sequence START 2;

ALTER TABLE tombstones
    ADD COLUMN sequence      bigint,
    -- Until it is settled, queries leave out what the tombstone covers, whether it is
    -- still stored or not. It was executed when its rows were deleted once, and it is
    -- settled when they were deleted again and no insert of before was under way.
    ADD COLUMN pending_since timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN attempt       integer     NOT NULL DEFAULT 0, -- goes up when it has to be done again
    ADD COLUMN executed_at   timestamptz,
    ADD COLUMN settled_at    timestamptz;

-- Those of before were executed by the consumer. Those that were not yet repeated are
-- executed once more.
UPDATE tombstones t SET sequence = numbered.sequence, pending_since = created_at, executed_at = created_at,
    settled_at = CASE WHEN created_at < now() - interval '1 hour' THEN created_at END
FROM (SELECT partition, record_version, ordinal, nextval('tombstone_sequence') AS sequence FROM tombstones) numbered
WHERE (t.partition, t.record_version, t.ordinal) = (numbered.partition, numbered.record_version, numbered.ordinal);

-- A default, for what a process of an older version writes meanwhile.
ALTER TABLE tombstones ALTER COLUMN sequence SET NOT NULL, ALTER COLUMN sequence SET DEFAULT nextval('tombstone_sequence');
CREATE UNIQUE INDEX tombstones_sequence ON tombstones (sequence);
CREATE INDEX tombstones_pending ON tombstones (workspace_id) WHERE settled_at IS NULL;
-- The consumer asks for those of the sources that it stores, from a version on.
CREATE INDEX tombstones_covering ON tombstones (workspace_id, source_id, version_ceiling);
DROP INDEX tombstones_source;

ALTER TABLE workspaces ADD COLUMN deleted_sequence bigint;
UPDATE workspaces SET deleted_sequence = nextval('tombstone_sequence') WHERE deleted_at IS NOT NULL;
CREATE INDEX workspaces_deleted_sequence ON workspaces (deleted_sequence) WHERE deleted_sequence IS NOT NULL;

-- +goose Down
DROP INDEX workspaces_deleted_sequence;
ALTER TABLE workspaces DROP COLUMN deleted_sequence;
CREATE INDEX tombstones_source ON tombstones (source_id);
DROP INDEX tombstones_covering, tombstones_pending, tombstones_sequence;
ALTER TABLE tombstones DROP COLUMN settled_at, DROP COLUMN executed_at, DROP COLUMN attempt, DROP COLUMN pending_since,
    DROP COLUMN sequence;
DROP SEQUENCE tombstone_sequence;
