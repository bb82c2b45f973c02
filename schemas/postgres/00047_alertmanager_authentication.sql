-- Requests to Alertmanagers are authenticated.

-- +goose Up

ALTER TABLE alertmanagers
    ADD COLUMN auth       text  NOT NULL DEFAULT '' CHECK (auth IN ('', 'basic', 'bearer')),
    ADD COLUMN username   text  NOT NULL DEFAULT '',   -- of basic
    ADD COLUMN secret     text  NOT NULL DEFAULT '',   -- the password of basic, the token of bearer
    ADD COLUMN headers    jsonb NOT NULL DEFAULT '{}', -- further headers of requests: values by name, which are secrets
    ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();

-- +goose Down
ALTER TABLE alertmanagers
    DROP COLUMN auth, DROP COLUMN username, DROP COLUMN secret, DROP COLUMN headers, DROP COLUMN updated_at;
