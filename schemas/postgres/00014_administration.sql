-- +goose Up

-- Where and when an operator last logged in: that address is not held up by what others
-- try on the name.
ALTER TABLE operators
    ADD COLUMN last_login_at timestamptz,
    ADD COLUMN last_login_ip inet;

-- Who is logged in on the administration page. The cookie's text is not here.
CREATE TABLE operator_sessions (
    hash        bytea PRIMARY KEY CHECK (octet_length(hash) = 32), -- SHA-256 of what the cookie holds
    operator_id uuid        NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now(), -- to a minute
    expires_at  timestamptz NOT NULL, -- whatever it is used for until then
    ip          inet,
    user_agent  text        NOT NULL
);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id);

-- What operators did on the administration page: written before it is done, completed
-- with the answer's status. An operator that is gone is still named here.
CREATE TABLE operator_acts (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT now(),
    request_id    text        NOT NULL,
    operator_id   uuid, -- null: a refused login of nobody who is known
    operator_name text        NOT NULL,
    workspace_id  uuid, -- null: of none
    method        text        NOT NULL,
    route         text        NOT NULL,
    subject       text        NOT NULL, -- what of the route: the ids in its path
    status        smallint, -- null: not known (yet)
    ip            inet,
    user_agent    text        NOT NULL
);
CREATE INDEX operator_acts_at ON operator_acts (at);

-- +goose Down
DROP TABLE operator_acts, operator_sessions;
ALTER TABLE operators DROP COLUMN last_login_at, DROP COLUMN last_login_ip;
