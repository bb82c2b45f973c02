-- +goose NO TRANSACTION
-- +goose Up

-- fingerprint: of the points of an hour that the consumer computed while it stored them. A pass that finds as
-- many points with this fingerprint keeps the hour as it is. Hours that a pass computed have 0.
ALTER TABLE rollup_1h
    ADD COLUMN IF NOT EXISTS fingerprint UInt64 DEFAULT 0 CODEC(ZSTD) AFTER spread;

-- +goose Down
ALTER TABLE rollup_1h DROP COLUMN IF EXISTS fingerprint;
