-- Links: edges that are derived from the texts of nodes.

-- +goose Up

-- Whether mentions in texts become links: off, documents (in the texts of documents), all (in the texts
-- of all nodes).
ALTER TABLE workspaces ADD COLUMN links text NOT NULL DEFAULT 'documents' CHECK (links IN ('off', 'documents', 'all'));

-- By which names nodes are mentioned. Written with lexical_nodes.
CREATE TABLE link_names (
    workspace_id uuid    NOT NULL,
    key          text COLLATE "C" NOT NULL,
    node_id      uuid    NOT NULL,
    alias        boolean NOT NULL,
    capital      boolean NOT NULL,
    PRIMARY KEY (workspace_id, key, node_id)
);
CREATE INDEX link_names_node ON link_names (workspace_id, node_id);

-- Nodes whose links may not be what their texts say.
CREATE TABLE link_nodes (
    workspace_id uuid        NOT NULL,
    node_id      uuid        NOT NULL,
    due_at       timestamptz NOT NULL DEFAULT now(),
    attempts     integer     NOT NULL DEFAULT 0,
    revision     bigint      NOT NULL DEFAULT 0, -- goes up when it is queued again
    PRIMARY KEY (workspace_id, node_id)
) WITH (fillfactor = 80);
CREATE INDEX link_nodes_due ON link_nodes (due_at);

-- Names that nodes got or lost: the nodes whose texts contain them are queued.
CREATE TABLE link_keys (
    workspace_id uuid   NOT NULL,
    key          text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, key)
);

-- +goose Down
DROP TABLE link_keys, link_nodes, link_names;
ALTER TABLE workspaces DROP COLUMN links;
