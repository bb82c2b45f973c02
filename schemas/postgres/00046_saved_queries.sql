-- Saved queries of search.

-- +goose Up

-- The row of a deleted query stays without its texts, so that its id is not used again.
CREATE TABLE saved_queries (
    workspace_id uuid   NOT NULL,
    id           uuid   NOT NULL,
    name         text   NOT NULL,
    description  text   NOT NULL,
    kind         text   NOT NULL CHECK (kind IN ('search', 'hybrid-search', 'answer')),
    request      text   NOT NULL, -- the body of the route of the kind: JSON as it was sent
    version      bigint NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    deleted_at   timestamptz,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX saved_queries_name ON saved_queries (workspace_id, name) WHERE deleted_at IS NULL;

-- +goose Down
DROP TABLE saved_queries;
