-- +goose Up

-- What an act made, and which fields it set: without it the trail says that a key was made, and
-- not which.
ALTER TABLE operator_acts
    ADD COLUMN results text[] NOT NULL DEFAULT '{}',
    ADD COLUMN fields  text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE operator_acts DROP COLUMN results, DROP COLUMN fields;
