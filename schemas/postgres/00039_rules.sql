-- Recording and alerting rules of workspaces.

-- +goose Up

-- The version of a file goes up with each change of any file.
CREATE SEQUENCE rule_file_versions;

-- Files of rules in Prometheus' format, as they were sent.
CREATE TABLE rule_files (
    workspace_id uuid   NOT NULL,
    name         text COLLATE "C" NOT NULL,
    content      text   NOT NULL,
    groups       integer NOT NULL,
    rules        integer NOT NULL,
    version      bigint NOT NULL DEFAULT nextval('rule_file_versions'),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, name)
);

-- What the process that evaluates the rules of a workspace saw last, as JSON.
CREATE TABLE rule_states (
    workspace_id uuid PRIMARY KEY,
    state        bytea       NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);

-- Alerts of which it was recorded that they fire. A row is written when an alert fires and removed when it
-- is resolved, in the transaction that queues the notification.
CREATE TABLE firing_alerts (
    workspace_id uuid   NOT NULL,
    file         text COLLATE "C" NOT NULL,
    rule_group   text COLLATE "C" NOT NULL,
    fingerprint  bigint NOT NULL, -- of the labels
    labels       jsonb  NOT NULL,
    annotations  jsonb  NOT NULL,
    value        double precision NOT NULL,
    active_at    timestamptz NOT NULL,
    fired_at     timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, file, rule_group, fingerprint)
);

-- Where a workspace's alerts are sent.
CREATE TABLE alertmanagers (
    workspace_id uuid NOT NULL,
    url          text NOT NULL,
    PRIMARY KEY (workspace_id, url)
);

-- +goose Down
DROP TABLE alertmanagers, firing_alerts, rule_states, rule_files;
DROP SEQUENCE rule_file_versions;
