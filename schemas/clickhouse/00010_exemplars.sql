-- +goose NO TRANSACTION
-- +goose Up

-- Exemplars of series of special values. One row a series, timestamp and label set stays, the one with the highest
-- version. labels: a JSON object, sorted by name.
CREATE TABLE IF NOT EXISTS exemplars
(
    series  UInt64,
    ts      DateTime64(6, 'UTC') CODEC(Delta(8), LZ4),
    labels  String CODEC(ZSTD),
    value   Float64,
    version UInt64 CODEC(Delta(8), LZ4)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts, labels);

-- +goose Down
DROP TABLE IF EXISTS exemplars;
