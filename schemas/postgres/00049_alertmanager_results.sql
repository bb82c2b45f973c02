-- The result of the last request to an Alertmanager, so that its workspace sees that alerts do not reach it.

-- +goose Up
ALTER TABLE alertmanagers
    ADD COLUMN sent_at   timestamptz,              -- when it last accepted alerts
    ADD COLUMN failed_at timestamptz,              -- when a request to it last failed, since the last change of it
    ADD COLUMN failure   text NOT NULL DEFAULT ''; -- why the last request failed; empty: it did not

-- +goose Down
ALTER TABLE alertmanagers
    DROP COLUMN sent_at, DROP COLUMN failed_at, DROP COLUMN failure;
