-- +goose Up

-- Who does a piece of background work that one process at a time does for the whole
-- installation. Whoever holds a row renews it; when it has run out another takes it.
CREATE TABLE leases (
    name   text PRIMARY KEY,
    holder uuid        NOT NULL,
    until  timestamptz NOT NULL
);

-- +goose Down
DROP TABLE leases;
