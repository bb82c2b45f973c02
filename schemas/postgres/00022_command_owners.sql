-- +goose Up

-- Who decides the partition: whoever was given it last. Another one's transaction moves
-- no fence, also where that stands still because a command below it takes long.
ALTER TABLE command_offsets ADD COLUMN owner uuid;
-- Since when the fence stands still below records that are decided. When they are read
-- again, their outcomes say so: these are kept for as long.
ALTER TABLE command_offsets ADD COLUMN held_since timestamptz;

-- +goose Down
ALTER TABLE command_offsets DROP COLUMN held_since, DROP COLUMN owner;
