-- Webhooks of workspaces, and the queue of their deliveries.

-- +goose Up

CREATE TABLE webhooks (
    id              uuid PRIMARY KEY,
    workspace_id    uuid NOT NULL REFERENCES workspaces (id),
    name            text NOT NULL,
    url             text NOT NULL,
    events          text[] NOT NULL,
    labels          jsonb  NOT NULL DEFAULT '{}', -- filter of alerts
    entity_types    text[] NOT NULL DEFAULT '{}', -- filter of nodes; empty: all
    relation_types  text[] NOT NULL DEFAULT '{}', -- filter of edges; empty: all
    secret          text NOT NULL,
    previous_secret text,                         -- signs too, until previous_until
    previous_until  timestamptz,
    enabled         boolean NOT NULL DEFAULT true,
    disabled_reason text,                         -- why the service disabled it
    dropped         bigint NOT NULL DEFAULT 0,    -- events that were not queued: too many were pending, or too large
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
);

-- A row is an event on its way to a webhook. There is no foreign key: a webhook with many deliveries is
-- deleted at once, and its deliveries later, in batches.
CREATE TABLE webhook_deliveries (
    id              uuid NOT NULL, -- version 7: in the order of creation
    webhook_id      uuid NOT NULL,
    workspace_id    uuid NOT NULL,
    event_id        uuid NOT NULL,
    event_type      text NOT NULL,
    payload         text NOT NULL, -- the body of the request
    state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    claimed_until   timestamptz,   -- a process sends it at this time
    last_status     integer,
    last_error      text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    PRIMARY KEY (workspace_id, webhook_id, id),
    UNIQUE (webhook_id, event_id)
) WITH (fillfactor = 80);

CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE state <> 'pending';

-- +goose Down
DROP TABLE webhook_deliveries, webhooks;
