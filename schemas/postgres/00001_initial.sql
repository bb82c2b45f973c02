-- +goose Up

-- One row: this installation's identity and the keys derived data depends on.
CREATE TABLE installation (
    singleton       boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    id              uuid        NOT NULL DEFAULT gen_random_uuid(),
    fingerprint_key bytea       NOT NULL CHECK (octet_length(fingerprint_key) = 16),
    checkpoint_key  bytea       NOT NULL CHECK (octet_length(checkpoint_key) = 32),
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workspaces (
    id          uuid PRIMARY KEY,
    name        text        NOT NULL,
    plan        text        NOT NULL CHECK (plan IN ('starter', 'pro', 'enterprise')),
    mode        text        NOT NULL CHECK (mode IN ('live', 'test')),
    per_minute  bigint CHECK (per_minute > 0), -- null: the plan's; enterprise: unlimited
    per_day     bigint CHECK (per_day > 0),
    max_sources bigint      NOT NULL DEFAULT 10000   CHECK (max_sources >= 0),
    max_series  bigint      NOT NULL DEFAULT 1000000 CHECK (max_series >= 0),
    sources     bigint      NOT NULL DEFAULT 0, -- how many stand now, maintained with them
    series      bigint      NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);

CREATE TABLE api_keys (
    id           uuid PRIMARY KEY,
    hash         bytea       NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- SHA-256 of the key's text
    display      text        NOT NULL, -- lg_live_ and the first four random characters
    name         text        NOT NULL,
    mode         text        NOT NULL CHECK (mode IN ('live', 'test')),
    scopes       text[]      NOT NULL,
    actor_id     uuid        NOT NULL, -- whose undo stack this is; a rolled key hands it on
    rolled_from  uuid REFERENCES api_keys (id),
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    last_used_ip inet
);

CREATE TABLE api_key_workspaces (
    key_id       uuid NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    PRIMARY KEY (key_id, workspace_id)
);
CREATE INDEX api_key_workspaces_workspace ON api_key_workspaces (workspace_id);

-- One row that every change to keys or workspaces raises: API processes poll it
-- and drop what they cached, so a revocation holds everywhere within a second.
CREATE TABLE auth_revision (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    revision  bigint NOT NULL DEFAULT 1
);
INSERT INTO auth_revision DEFAULT VALUES;

-- +goose StatementBegin
CREATE FUNCTION raise_auth_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE auth_revision SET revision = revision + 1;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER api_keys_revision
    AFTER INSERT OR DELETE OR UPDATE OF hash, mode, scopes, actor_id, expires_at, revoked_at ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();
CREATE TRIGGER api_key_workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE ON api_key_workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();
-- Not the usage counters: ingest changes those, and they authorise nothing.
CREATE TRIGGER workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE OF name, plan, mode, per_minute, per_day, deleted_at ON workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();

CREATE TABLE sources (
    workspace_id     uuid        NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id               uuid        NOT NULL,
    name             text        NOT NULL,
    description      text        NOT NULL DEFAULT '',
    node_id          uuid,
    unit             text,
    metrics          jsonb       NOT NULL DEFAULT '[]',
    tags             jsonb       NOT NULL DEFAULT '{}',
    retention_days   integer CHECK (retention_days > 0),
    interval_seconds double precision CHECK (interval_seconds > 0),
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    version          bigint      NOT NULL DEFAULT 1,
    deleted_at       timestamptz, -- the row stays: a deleted id is not reusable
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX sources_name ON sources (workspace_id, name) WHERE deleted_at IS NULL;
CREATE INDEX sources_created ON sources (workspace_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sources_node ON sources (workspace_id, node_id) WHERE deleted_at IS NULL AND node_id IS NOT NULL;

-- A deleted source's points go by a record in the log. The row is written in the
-- transaction that deletes the source and removed once Kafka has acknowledged
-- the record, so a crash in between loses nothing.
CREATE TABLE pending_deletions (
    id           uuid PRIMARY KEY,
    workspace_id uuid        NOT NULL,
    source_id    uuid        NOT NULL,
    request_id   text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- The registry of series. Both columns are unique, so that two identities never
-- share an id: on a collision of the 64 bits the next free id is taken.
CREATE TABLE series (
    id           bigint PRIMARY KEY, -- 64 bits of the fingerprint, as a signed number
    fingerprint  bytea       NOT NULL UNIQUE CHECK (octet_length(fingerprint) = 16),
    workspace_id uuid        NOT NULL,
    source_id    uuid        NOT NULL,
    metric       text        NOT NULL,
    tags         jsonb       NOT NULL,
    kind         smallint    NOT NULL CHECK (kind IN (1, 2)), -- 1 number, 2 string
    created_at   timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (workspace_id, source_id) REFERENCES sources (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX series_source ON series (workspace_id, source_id, metric, id);
CREATE INDEX series_metric ON series (workspace_id, metric, id);

-- Which generation the records of a partition belong to, from which offset on.
-- See docs/adr/0003: version = generation << 48 | offset.
CREATE TABLE topic_generations (
    topic       text        NOT NULL,
    partition   integer     NOT NULL,
    generation  integer     NOT NULL CHECK (generation BETWEEN 1 AND 32767),
    from_offset bigint      NOT NULL,
    topic_id    bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    reason      text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition, generation)
);

-- How far each partition of "points" is visible in ClickHouse: every record
-- below next_offset is stored or dead-lettered. Goes down only when the
-- partition's offsets themselves do, which raises its generation.
CREATE TABLE watermarks (
    topic_id    bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    partition   integer     NOT NULL,
    next_offset bigint      NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic_id, partition)
);

-- What was deleted, up to which version. Consulted before every insert, so that
-- no replay and no redriven record brings points back. The key is the deletion's
-- place: its record's partition and version, and where it stands in the record.
CREATE TABLE tombstones (
    partition       integer     NOT NULL,
    record_version  bigint      NOT NULL,
    ordinal         integer     NOT NULL,
    workspace_id    uuid        NOT NULL,
    source_id       uuid        NOT NULL,
    metric          text,
    from_us         bigint, -- inclusive, microseconds; null: from the beginning
    to_us           bigint, -- exclusive
    version_ceiling bigint      NOT NULL, -- points of this version and below are gone
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, record_version, ordinal)
);
CREATE INDEX tombstones_created ON tombstones (created_at);
CREATE INDEX tombstones_source ON tombstones (source_id);

-- +goose Down
DROP TABLE tombstones, watermarks, topic_generations, series, pending_deletions, sources,
    auth_revision, api_key_workspaces, api_keys, workspaces, installation;
DROP FUNCTION raise_auth_revision;
