-- +goose Up

-- What was asked for under a client's Idempotency-Key, and what it was answered. A
-- row is there before the request has an effect, with what makes a repetition have
-- the same: the id of the command or the source, and the time of receipt. Kept for
-- 24 hours.
CREATE TABLE idempotency_keys (
    workspace_id  uuid        NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    actor_id      uuid        NOT NULL,
    route         text        NOT NULL,
    key           text        NOT NULL COLLATE "C",
    body_hash     bytea       NOT NULL CHECK (octet_length(body_hash) = 32), -- SHA-256 of what was asked for
    reserved_id   uuid        NOT NULL,
    received_at   timestamptz NOT NULL,
    attempt       integer     NOT NULL DEFAULT 1, -- goes up when another request goes on after one that ended without an answer
    running_until timestamptz NOT NULL,           -- until then somebody works at it
    answer        bytea,                          -- null: none that is kept, yet; of a command also: its outcome is
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, actor_id, route, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

-- +goose Down
DROP TABLE idempotency_keys;
