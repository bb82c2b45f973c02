-- +goose Up

-- Replays: a consumer reads a part of its topic's log once more. Made by whoever asks
-- for one, carried out by a process that has the consumer. Offsets are those of the
-- topic of that id; a job ends with an error when the topic is another one.
CREATE TABLE replay_jobs (
    id               uuid        PRIMARY KEY,
    consumer         text        NOT NULL,
    topic            text        NOT NULL, -- without the prefix
    topic_id         bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    workspace_id     uuid,                 -- null: of all workspaces
    state            text        NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    requested_by     text        NOT NULL,
    max_rows         bigint      CHECK (max_rows > 0), -- a second; null: as fast as it goes
    cancel_requested boolean     NOT NULL DEFAULT false,
    claim            uuid,                 -- of the run that has it
    lease_until      timestamptz,          -- until then nobody else takes it
    runs             integer     NOT NULL DEFAULT 0, -- how often it was taken up
    rows             bigint      NOT NULL DEFAULT 0, -- stored
    refused          bigint      NOT NULL DEFAULT 0, -- records that could not be read or stored
    records_rate     float8      NOT NULL DEFAULT 0, -- of late, a second
    rows_rate        float8      NOT NULL DEFAULT 0,
    error            text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    finished_at      timestamptz,
    updated_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX replay_jobs_created ON replay_jobs (created_at);
CREATE INDEX replay_jobs_open ON replay_jobs (created_at) WHERE finished_at IS NULL;

-- How far a replay is in each of its partitions: everything below next_offset is
-- stored, or was trimmed before it could be read.
CREATE TABLE replay_partitions (
    job_id      uuid    NOT NULL REFERENCES replay_jobs (id) ON DELETE CASCADE,
    partition   integer NOT NULL,
    from_offset bigint  NOT NULL,
    to_offset   bigint  NOT NULL, -- exclusive
    next_offset bigint  NOT NULL,
    trimmed     bigint  NOT NULL DEFAULT 0, -- records of the range that the log had no more
    PRIMARY KEY (job_id, partition)
);

-- What was done about dead letters, by their place in the topic that they are in. A
-- letter without a row is open.
CREATE TABLE dead_letter_marks (
    topic_id  bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    partition integer     NOT NULL,
    "offset"  bigint      NOT NULL,
    state     text        NOT NULL CHECK (state IN ('redriven', 'discarded')),
    marked_by text        NOT NULL,
    reason    text,
    marked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic_id, partition, "offset")
);

-- Which records of a topic were put aside, by their place in that topic: a checkpoint
-- that has passed one says so.
CREATE TABLE dead_records (
    topic_id    bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    partition   integer     NOT NULL,
    "offset"    bigint      NOT NULL,
    redriven_at timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic_id, partition, "offset")
);
CREATE INDEX dead_records_created ON dead_records (created_at);

-- +goose Down
DROP TABLE dead_records, dead_letter_marks, replay_partitions, replay_jobs;
