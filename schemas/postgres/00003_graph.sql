-- +goose Up

-- How far a workspace's graph is: the sequence of its newest change. Its row is what
-- the commands of a workspace are decided under.
CREATE TABLE graph_heads (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    sequence     bigint NOT NULL DEFAULT 0
);

-- Up to which sequence the changes of a workspace are on topic graph.events. Not in
-- graph_heads, whose row is held for as long as a group of commands takes.
CREATE TABLE graph_published (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    sequence     bigint NOT NULL
);

-- How many nodes (by entity type) and edges (by relation type) stand, maintained
-- with them: totals that would otherwise count a million rows.
CREATE TABLE graph_totals (
    workspace_id uuid     NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind         smallint NOT NULL CHECK (kind IN (1, 2)), -- 1 node, 2 edge
    label        text     NOT NULL,
    standing     bigint   NOT NULL,
    PRIMARY KEY (workspace_id, kind, label)
);

-- The tables from here on have no foreign key on workspaces: a look at the same row
-- for each of theirs takes half the time of writing them. The transaction that writes
-- holds the workspace's row of graph_heads, which has one.

-- The columns after "version" are explained in package internal/graph.
CREATE TABLE nodes (
    workspace_id uuid        NOT NULL,
    id           uuid        NOT NULL,
    name         text        NOT NULL,
    entity_type  text COLLATE "C" NOT NULL,
    description  text,
    properties   jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    version      bigint      NOT NULL,
    changed_by   bigint      NOT NULL, -- sequence of the change that touched it last
    created_by   bigint      NOT NULL,
    deleted      boolean     NOT NULL DEFAULT false, -- the row stays: its id is never used again
    deleted_by   bigint      NOT NULL DEFAULT 0,
    stamps       jsonb,                              -- field -> sequence; null: none
    stamps_floor bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE edges (
    workspace_id   uuid        NOT NULL,
    id             uuid        NOT NULL,
    source_id      uuid        NOT NULL,
    target_id      uuid        NOT NULL,
    relation_type  text COLLATE "C" NOT NULL,
    properties     jsonb       NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    version        bigint      NOT NULL,
    changed_by     bigint      NOT NULL,
    created_by     bigint      NOT NULL,
    deleted        boolean     NOT NULL DEFAULT false,
    deleted_by     bigint      NOT NULL DEFAULT 0,
    stamps         jsonb,
    stamps_floor   bigint      NOT NULL DEFAULT 0,
    newest         bigint      NOT NULL, -- the highest sequence that made or wrote what stands in it
    taken_sequence bigint      NOT NULL DEFAULT 0, -- the deletion of a node that last took it along
    taken_node     uuid,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX edges_source ON edges (workspace_id, source_id, relation_type);
CREATE INDEX edges_target ON edges (workspace_id, target_id, relation_type);

-- The journal: every change, for ever. The truth of undo, history and events.
CREATE TABLE journal (
    workspace_id uuid        NOT NULL,
    sequence     bigint      NOT NULL CHECK (sequence > 0),
    command_id   uuid        NOT NULL,
    at           timestamptz NOT NULL,
    change       bytea       NOT NULL, -- livegraph.events.v1.Change
    PRIMARY KEY (workspace_id, sequence)
);

-- Which changes touched a node: itself, or an edge of it.
CREATE TABLE journal_nodes (
    workspace_id uuid   NOT NULL,
    node_id      uuid   NOT NULL,
    sequence     bigint NOT NULL,
    PRIMARY KEY (workspace_id, node_id, sequence)
);

-- The commands and atomic batches that changed something, and the UNDO that
-- stands against each (0: it stands). The undo stacks are made of these.
CREATE TABLE undo_entries (
    workspace_id uuid   NOT NULL,
    sequence     bigint NOT NULL,
    command_id   uuid   NOT NULL,
    actor_id     uuid   NOT NULL,
    type         text   NOT NULL,
    cancelled_by bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, sequence),
    UNIQUE (workspace_id, command_id)
);
CREATE INDEX undo_entries_actor ON undo_entries (workspace_id, actor_id, sequence);

-- What came of each record of topic graph.commands: for whoever asks again, and so
-- that a repeated record is answered and not done again. Kept for 24 hours.
CREATE TABLE command_outcomes (
    workspace_id uuid        NOT NULL,
    command_id   uuid        NOT NULL, -- of a batch: the batch's
    actor_id     uuid        NOT NULL,
    outcome      bytea       NOT NULL, -- livegraph.events.v1.Outcome
    decided_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, command_id)
);
CREATE INDEX command_outcomes_decided ON command_outcomes (decided_at);

-- How far each partition of graph.commands is decided. Written in the transaction
-- that decides, on the condition that it is as it was read: a consumer that lost
-- its partition decides nothing.
CREATE TABLE command_offsets (
    topic_id    bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    partition   integer     NOT NULL,
    next_offset bigint      NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic_id, partition)
);

-- +goose Down
DROP TABLE command_offsets;
DROP TABLE command_outcomes;
DROP TABLE undo_entries;
DROP TABLE journal_nodes;
DROP TABLE journal;
DROP TABLE edges;
DROP TABLE nodes;
DROP TABLE graph_totals;
DROP TABLE graph_published;
DROP TABLE graph_heads;
