-- Webhooks can select the changes of single nodes.

-- +goose Up

ALTER TABLE webhooks ADD COLUMN node_ids uuid[] NOT NULL DEFAULT '{}'; -- filter of nodes and edges; empty: all

-- +goose Down
ALTER TABLE webhooks DROP COLUMN node_ids;
