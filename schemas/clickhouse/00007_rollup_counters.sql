-- +goose NO TRANSACTION
-- +goose Up

-- increase: by how much the value rises from point to point within the minute or hour,
-- where a value that falls counts in full, because a counter began anew.
-- spread: the sum of the squared distances of the values from their mean.
-- Rows that were computed before these columns existed have NaN, and queries read
-- points instead.
ALTER TABLE rollup_1m
    ADD COLUMN IF NOT EXISTS increase Float64 DEFAULT nan CODEC(ZSTD) AFTER last_us,
    ADD COLUMN IF NOT EXISTS spread Float64 DEFAULT nan CODEC(ZSTD) AFTER increase;
ALTER TABLE rollup_1h
    ADD COLUMN IF NOT EXISTS increase Float64 DEFAULT nan CODEC(ZSTD) AFTER last_us,
    ADD COLUMN IF NOT EXISTS spread Float64 DEFAULT nan CODEC(ZSTD) AFTER increase;

-- +goose Down
ALTER TABLE rollup_1h DROP COLUMN IF EXISTS spread, DROP COLUMN IF EXISTS increase;
ALTER TABLE rollup_1m DROP COLUMN IF EXISTS spread, DROP COLUMN IF EXISTS increase;
