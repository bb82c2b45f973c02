-- +goose Up

-- The edges at a node: those that stand, with what a walk asks for, and apart from them
-- those that the deletion of the node took along. The others are asked for by id alone,
-- and a node whose edges come and go has an index as large as what stands.
CREATE INDEX edges_out ON edges (workspace_id, source_id, relation_type) INCLUDE (target_id, id) WHERE NOT deleted;
CREATE INDEX edges_in ON edges (workspace_id, target_id, relation_type) INCLUDE (source_id, id) WHERE NOT deleted;
CREATE INDEX edges_taken ON edges (workspace_id, taken_node, taken_sequence) WHERE deleted AND taken_node IS NOT NULL;
DROP INDEX edges_source, edges_target;

-- +goose Down
CREATE INDEX edges_source ON edges (workspace_id, source_id, relation_type);
CREATE INDEX edges_target ON edges (workspace_id, target_id, relation_type);
DROP INDEX edges_taken, edges_in, edges_out;
