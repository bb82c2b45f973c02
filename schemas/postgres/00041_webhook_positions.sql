-- Events of graphs are read from the journal. What happened before this migration is not queued anymore.

-- +goose Up

ALTER TABLE webhooks
    ADD COLUMN sequence       bigint NOT NULL DEFAULT 0, -- the events of the changes up to this one are queued
    ADD COLUMN further_events bigint NOT NULL DEFAULT 0; -- and so many events of the next change

UPDATE webhooks w SET sequence = h.sequence FROM graph_heads h WHERE h.workspace_id = w.workspace_id;

-- +goose Down
ALTER TABLE webhooks DROP COLUMN sequence, DROP COLUMN further_events;
