-- +goose Up

-- Who may use the administration page. Not API keys: those never open it.
CREATE TABLE operators (
    id            uuid PRIMARY KEY,
    name          text        NOT NULL UNIQUE,
    password_hash text        NOT NULL, -- Argon2id, PHC string format
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now()
);

-- Set by the transaction that made the first workspace, key and operator, so
-- that an installation is set up once, however many processes start at a time.
ALTER TABLE installation ADD COLUMN set_up_at timestamptz;

-- The order in which keys are listed.
CREATE INDEX api_keys_created ON api_keys (created_at, id);

-- +goose Down
DROP INDEX api_keys_created;
ALTER TABLE installation DROP COLUMN set_up_at;
DROP TABLE operators;
