-- +goose NO TRANSACTION
-- +goose Up

-- minutes_fingerprint: of the rows of the hour's minutes that the consumer computed with the hour. Without it, a pass
-- would keep the row of a minute that another process computed from as many points that have been overwritten since.
ALTER TABLE rollup_1h
    ADD COLUMN IF NOT EXISTS minutes_fingerprint UInt64 DEFAULT 0 CODEC(ZSTD) AFTER fingerprint;

-- +goose Down
ALTER TABLE rollup_1h DROP COLUMN IF EXISTS minutes_fingerprint;
