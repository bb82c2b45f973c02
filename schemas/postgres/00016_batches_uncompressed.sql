-- +goose Up

-- The change and the outcome of a batch are stored as they are. To compress them took
-- the tenth part of what Postgres spends on a batch of a thousand commands; those of
-- single commands are too short for it anyway.
ALTER TABLE journal ALTER COLUMN change SET STORAGE EXTERNAL;
ALTER TABLE command_outcomes ALTER COLUMN outcome SET STORAGE EXTERNAL;

-- +goose Down
ALTER TABLE command_outcomes ALTER COLUMN outcome SET STORAGE EXTENDED;
ALTER TABLE journal ALTER COLUMN change SET STORAGE EXTENDED;
