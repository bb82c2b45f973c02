-- Analyses of graphs: jobs that read the graph of a workspace, compute a measure of its nodes, and may write it to a
-- property of them.

-- +goose Up

CREATE TABLE analyses (
    workspace_id  uuid        NOT NULL,
    id            uuid        NOT NULL,
    state         text        NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    spec          jsonb       NOT NULL, -- what is computed, see internal/graph/analysis
    actor_id      uuid        NOT NULL, -- whose commands write the results,
    scopes        text[]      NOT NULL, -- with this authority
    request_id    text        NOT NULL,
    claim         uuid,                 -- of the run that has it
    lease_until   timestamptz,          -- until then no other run takes it
    runs          integer     NOT NULL DEFAULT 0, -- number of runs that did not end it
    phase         text        CHECK (phase IN ('reading', 'computing', 'writing')), -- of the current run
    sequence      bigint,               -- of the graph that was read
    nodes         bigint      NOT NULL DEFAULT 0, -- that were read
    edges         bigint      NOT NULL DEFAULT 0,
    written       bigint      NOT NULL DEFAULT 0, -- nodes whose property was written,
    unchanged     bigint      NOT NULL DEFAULT 0, -- had the value already,
    skipped       bigint      NOT NULL DEFAULT 0, -- or were changed or deleted after they were read
    result        jsonb,
    error         text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    started_at    timestamptz,
    finished_at   timestamptz,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX analyses_open ON analyses (created_at) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX analyses_running ON analyses (workspace_id) WHERE state = 'running';

-- +goose Down
DROP TABLE analyses;
