-- +goose Up

-- Which edges went with a deleted node, or came back with it, where they are more than
-- the change in the journal lists. An edge knows only the last deletion that took it.
CREATE TABLE cascade_edges (
    workspace_id uuid   NOT NULL,
    sequence     bigint NOT NULL, -- of the change
    node_id      uuid   NOT NULL,
    place        bigint NOT NULL, -- of the first of these among all, from 0, in the order of their ids
    edge_ids     uuid[] NOT NULL,
    PRIMARY KEY (workspace_id, sequence, node_id, place)
);

-- +goose Down
DROP TABLE cascade_edges;
