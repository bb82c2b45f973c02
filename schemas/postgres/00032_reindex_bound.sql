-- +goose Up

-- The newest change of the workspace as the wish was made: nodes that later ones create
-- are embedded when they are, and are not for it. Of older wishes: every node.
ALTER TABLE workspace_reindexes ADD COLUMN sequence bigint NOT NULL DEFAULT 9223372036854775807;

-- +goose Down
ALTER TABLE workspace_reindexes DROP COLUMN sequence;
