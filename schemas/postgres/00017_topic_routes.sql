-- +goose Up

-- How the points of a topic were divided among its partitions, one row for each change.
-- The newest is used as soon as no producer goes by an earlier one. See docs/adr/0049.
CREATE TABLE topic_routes (
    topic      text        NOT NULL,
    route      bigint      NOT NULL CHECK (route > 0),
    topic_id   bytea       NOT NULL CHECK (octet_length(topic_id) = 16),
    partitions integer     NOT NULL CHECK (partitions > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, route)
);

-- Which process sends points by which route, until when.
CREATE TABLE route_leases (
    topic  text        NOT NULL,
    holder uuid        NOT NULL,
    route  bigint      NOT NULL,
    until  timestamptz NOT NULL,
    PRIMARY KEY (topic, holder)
);

-- The generation is for records of this route and later ones.
ALTER TABLE topic_generations ADD COLUMN route bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE topic_generations DROP COLUMN route;
DROP TABLE route_leases, topic_routes;
