-- Upserts find nodes by the value of a property, and edges by their ends and type.

-- +goose Up

-- The properties that have been the key of an upsert in the workspace. Each live node that has one of them is in
-- node_keys. The row of graph_heads is locked while nodes of the workspace are written.
ALTER TABLE graph_heads ADD COLUMN key_properties text[] NOT NULL DEFAULT '{}';

-- Not unique: other commands may give several nodes the same key.
CREATE TABLE node_keys (
    workspace_id uuid  NOT NULL,
    key          bytea NOT NULL CHECK (octet_length(key) = 16), -- digest of entity type, property and value
    node_id      uuid  NOT NULL,
    PRIMARY KEY (workspace_id, key, node_id)
);

-- As before, with all columns as keys: the few edges of a type between two nodes are next to each other, also where
-- the source has very many.
CREATE INDEX edges_from_to ON edges (workspace_id, source_id, relation_type, target_id, id) WHERE NOT deleted;
DROP INDEX edges_out;
ALTER INDEX edges_from_to RENAME TO edges_out;

-- +goose Down
CREATE INDEX edges_from_to ON edges (workspace_id, source_id, relation_type) INCLUDE (target_id, id) WHERE NOT deleted;
DROP INDEX edges_out;
ALTER INDEX edges_from_to RENAME TO edges_out;
DROP TABLE node_keys;
ALTER TABLE graph_heads DROP COLUMN key_properties;
