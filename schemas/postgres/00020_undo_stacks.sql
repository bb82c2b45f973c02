-- +goose Up

-- An actor's undo stack is its newest commands that stand, its redo stack those that were
-- undone after its newest command; a workspace's are the same of everybody's. Between
-- these there may be any number of the other kind, so each is found by an index of its own.
-- Every sequence is above 0. That condition, which a query about one actor does not have,
-- keeps the indexes of the workspace from it: a plan that is made while the table is empty
-- would use them and read what all others did.
CREATE INDEX undo_entries_standing ON undo_entries (workspace_id, actor_id, sequence) WHERE cancelled_by = 0;
CREATE INDEX undo_entries_standing_all ON undo_entries (workspace_id, sequence) WHERE cancelled_by = 0 AND sequence > 0;
CREATE INDEX undo_entries_cancelled ON undo_entries (workspace_id, actor_id, cancelled_by) WHERE cancelled_by > 0;
CREATE INDEX undo_entries_cancelled_all ON undo_entries (workspace_id, cancelled_by) WHERE cancelled_by > 0 AND sequence > 0;
-- An actor's newest command is the newest that stands or the newest of the others.
CREATE INDEX undo_entries_newest ON undo_entries (workspace_id, actor_id, sequence) WHERE cancelled_by > 0;
DROP INDEX undo_entries_actor;

-- +goose Down
CREATE INDEX undo_entries_actor ON undo_entries (workspace_id, actor_id, sequence);
DROP INDEX undo_entries_newest, undo_entries_cancelled_all, undo_entries_cancelled, undo_entries_standing_all, undo_entries_standing;
