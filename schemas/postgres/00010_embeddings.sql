-- +goose Up

-- Indexes of the nodes' texts in Milvus: a collection each, with the vectors of one
-- model. One is live, one may be being built beside it. Which is live is decided here
-- and nowhere else; Milvus' alias follows.
CREATE TABLE search_indexes (
    id          uuid        PRIMARY KEY,
    model       text        NOT NULL,
    dimensions  integer     NOT NULL CHECK (dimensions > 0),
    collection  text        NOT NULL UNIQUE, -- of Milvus
    state       text        NOT NULL DEFAULT 'building' CHECK (state IN ('building', 'live', 'retired', 'failed')),
    cause       text        NOT NULL CHECK (cause IN ('first', 'lost', 'model', 'asked')), -- why it was built
    prepared    boolean     NOT NULL DEFAULT false, -- the collection was made
    error       text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    began_at    timestamptz,           -- when the building was taken up, the last time
    began_done  bigint      NOT NULL DEFAULT 0, -- nodes that were done then
    switched_at timestamptz,           -- when it became live
    ended_at    timestamptz,           -- when it was retired or failed
    dropped_at  timestamptz            -- when nothing of it was left but this row
);
CREATE UNIQUE INDEX search_indexes_live ON search_indexes (state) WHERE state = 'live';
CREATE UNIQUE INDEX search_indexes_building ON search_indexes (state) WHERE state = 'building';

-- Who asked for a new index, and which it became.
CREATE TABLE reindex_requests (
    id           uuid        PRIMARY KEY,
    requested_by text        NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    index_id     uuid -- null: not begun
);
CREATE INDEX reindex_requests_index ON reindex_requests (index_id);

-- What an index holds of a node. Written with intent before Milvus is, and without
-- after: what is marked may be there or not, in any of its chunks.
CREATE TABLE embedding_nodes (
    index_id     uuid    NOT NULL,
    workspace_id uuid    NOT NULL,
    node_id      uuid    NOT NULL,
    entity_type  text COLLATE "C" NOT NULL,
    text_hash    bytea,            -- of what was embedded; null: nothing was, so far
    chunks       integer NOT NULL, -- those that may be there are numbered below it
    vectors      integer NOT NULL DEFAULT 0, -- that are there: a text may have none
    intent       boolean NOT NULL DEFAULT true,
    PRIMARY KEY (index_id, workspace_id, node_id)
);
CREATE INDEX embedding_nodes_workspace ON embedding_nodes (workspace_id);

-- How far an index is with the changes of a workspace: all up to the sequence are in
-- it. Of an index that is being built: with those from before its building began, once
-- it is built.
CREATE TABLE embedding_progress (
    index_id     uuid        NOT NULL,
    workspace_id uuid        NOT NULL,
    sequence     bigint      NOT NULL DEFAULT 0,
    built        boolean     NOT NULL DEFAULT true,
    after_node   uuid,                 -- until it is built: the last node that was looked at
    nodes        bigint      NOT NULL DEFAULT 0, -- sums over embedding_nodes
    vectors      bigint      NOT NULL DEFAULT 0,
    indexed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (index_id, workspace_id)
);
CREATE INDEX embedding_progress_workspace ON embedding_progress (workspace_id);

-- +goose Down
DROP TABLE embedding_progress, embedding_nodes, reindex_requests, search_indexes;
