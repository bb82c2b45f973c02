-- +goose Up

-- How long points are kept, unless their source says less. Null: for good.
ALTER TABLE workspaces ADD COLUMN retention_days integer CHECK (retention_days BETWEEN 1 AND 36500);
ALTER TABLE sources ADD CONSTRAINT sources_retention_reach CHECK (retention_days <= 36500);

-- Ingest and the removal of old points ask for the few sources that have one.
CREATE INDEX sources_retention ON sources (workspace_id, id) INCLUDE (retention_days)
    WHERE deleted_at IS NULL AND retention_days IS NOT NULL;

-- How far the deletion of a workspace is. The workspace's own row stays for ever,
-- with deleted_at: it is its tombstone, and keeps its id from being used again.
CREATE TABLE workspace_deletions (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces (id),
    request_id   text        NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    -- Store by store: what was found at first, and what is left.
    progress     jsonb       NOT NULL DEFAULT '[]',
    problem      text, -- why it does not go on at this moment
    removed_at   timestamptz, -- everything was removed
    finished_at  timestamptz, -- and looked for once more, when nothing could be under way
    updated_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX workspace_deletions_open ON workspace_deletions (requested_at) WHERE finished_at IS NULL;
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;

-- Workspaces that were deleted before, whose points went source by source.
INSERT INTO workspace_deletions (workspace_id, request_id)
    SELECT id, '' FROM workspaces WHERE deleted_at IS NOT NULL;

-- How far topic points was at a time: when all below is trimmed, the tombstones of
-- before are forgotten.
CREATE TABLE log_marks (
    marked_at timestamptz PRIMARY KEY DEFAULT clock_timestamp(),
    topic_id  bytea    NOT NULL CHECK (octet_length(topic_id) = 16),
    ends      bigint[] NOT NULL -- by partition
);
-- Tombstones written before may have been forgotten. Null: none was.
ALTER TABLE installation ADD COLUMN tombstones_from timestamptz;

-- +goose Down
ALTER TABLE installation DROP COLUMN tombstones_from;
DROP TABLE log_marks;
DROP TABLE workspace_deletions;
DROP INDEX workspaces_deleted, sources_retention;
ALTER TABLE sources DROP CONSTRAINT sources_retention_reach;
ALTER TABLE workspaces DROP COLUMN retention_days;
