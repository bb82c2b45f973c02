-- Which nodes the changes after some change touched is asked when events of changes
-- were lost. Without an index that reads every node of the workspace for each page.

-- +goose Up
CREATE INDEX nodes_changed ON nodes (workspace_id, changed_by, id);

-- +goose Down
DROP INDEX nodes_changed;
