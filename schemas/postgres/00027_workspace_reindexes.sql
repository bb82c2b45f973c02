-- +goose Up

-- That the nodes of a workspace are to be embedded again in the index there is, as one of
-- its administrators asked, and how far that is. The row goes when it is done.
CREATE TABLE workspace_reindexes (
    workspace_id uuid        PRIMARY KEY,
    id           uuid        NOT NULL,
    requested_by text        NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    after_node   uuid,                        -- the last node that was written again
    done         bigint      NOT NULL DEFAULT 0 -- nodes
);

-- +goose Down
DROP TABLE workspace_reindexes;
