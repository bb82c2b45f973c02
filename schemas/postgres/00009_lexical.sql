-- +goose Up

-- The text lane of search: what nodes are found by in words. All of it is made from
-- the nodes (internal/retrieval/lexical says how) by one writer of a workspace at a
-- time, and can be made again. Terms are compared byte by byte.

-- What of a node is in lexical_postings, so that it can be taken out again, and that
-- a text which is the same is not written again.
CREATE TABLE lexical_nodes (
    workspace_id uuid    NOT NULL,
    node_id      uuid    NOT NULL,
    digest       bytea   NOT NULL,   -- of the text and of how it was analysed
    length       integer NOT NULL,   -- sum of the counts of its terms
    name_key     text COLLATE "C",   -- null: it has no name to be called by
    terms        text    NOT NULL,   -- with a space between
    PRIMARY KEY (workspace_id, node_id)
);
CREATE INDEX lexical_names ON lexical_nodes (workspace_id, name_key, node_id) WHERE name_key IS NOT NULL;

-- Which nodes have a term, how often, and how long their texts are: with these in the
-- index, ranking reads nothing else.
CREATE TABLE lexical_postings (
    workspace_id uuid     NOT NULL,
    term         text COLLATE "C" NOT NULL,
    node_id      uuid     NOT NULL,
    count        smallint NOT NULL,
    length       integer  NOT NULL,
    PRIMARY KEY (workspace_id, term, node_id) INCLUDE (count, length)
);

-- How many nodes have a term.
CREATE TABLE lexical_terms (
    workspace_id uuid   NOT NULL,
    term         text COLLATE "C" NOT NULL,
    nodes        bigint NOT NULL,
    PRIMARY KEY (workspace_id, term)
) WITH (fillfactor = 80);

-- How many nodes there are and how long their texts are together, and how far the
-- lane is: every change up to the sequence is in it. While a workspace is being
-- filled, from the node after filled_to on, it will be as far as fill_target when that
-- is done.
CREATE TABLE lexical_workspaces (
    workspace_id uuid        PRIMARY KEY,
    nodes        bigint      NOT NULL DEFAULT 0,
    length       bigint      NOT NULL DEFAULT 0,
    sequence     bigint      NOT NULL DEFAULT 0,
    version      integer     NOT NULL,           -- of the analysis that all its texts had
    filling      boolean     NOT NULL DEFAULT false,
    fill_target  bigint      NOT NULL DEFAULT 0,
    filled_to    uuid,
    updated_at   timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE lexical_workspaces, lexical_terms, lexical_postings, lexical_nodes;
