-- +goose Up

-- Whether what a deleted node was is removed, from its row and from the journal: 0 it is
-- kept, 1 it is to be removed, 2 it was.
ALTER TABLE nodes ADD COLUMN purge smallint NOT NULL DEFAULT 0;
CREATE INDEX nodes_purging ON nodes (workspace_id, id) WHERE purge = 1;
CREATE INDEX nodes_deleted ON nodes (workspace_id, id) WHERE deleted AND purge = 0;

-- Undo stacks that were remembered at this sequence, or before, are void: entries were
-- taken out of them since, by no change of the journal.
ALTER TABLE graph_heads ADD COLUMN stacks_void bigint NOT NULL DEFAULT -1;

-- +goose Down
ALTER TABLE graph_heads DROP COLUMN stacks_void;
DROP INDEX nodes_deleted, nodes_purging;
ALTER TABLE nodes DROP COLUMN purge;
