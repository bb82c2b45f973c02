-- +goose NO TRANSACTION
-- +goose Up

-- Numbers. One row an identity and timestamp stays, the one with the highest
-- version: reading the log again changes nothing.
CREATE TABLE IF NOT EXISTS points
(
    series  UInt64,
    ts      DateTime64(6, 'UTC') CODEC(Delta(8), LZ4),
    value   Float64,
    version UInt64 CODEC(Delta(8), LZ4)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts);

-- Texts, the same way.
CREATE TABLE IF NOT EXISTS states
(
    series  UInt64,
    ts      DateTime64(6, 'UTC') CODEC(Delta(8), LZ4),
    value   String,
    version UInt64 CODEC(Delta(8), LZ4)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts);

-- The newest point of each series: by timestamp, then by version.
CREATE TABLE IF NOT EXISTS latest
(
    workspace UUID,
    source    UUID,
    series    UInt64,
    ts        DateTime64(6, 'UTC'),
    value     Float64,
    text      String,
    version   UInt64,
    rank      UInt128 DEFAULT bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Micro(ts)), 64), toUInt128(version))
)
ENGINE = ReplacingMergeTree(rank)
ORDER BY (workspace, source, series);

-- When each source was last heard from (receipt by the API, not the points' times).
CREATE TABLE IF NOT EXISTS source_activity
(
    workspace   UUID,
    source      UUID,
    received_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(received_at)
ORDER BY (workspace, source);

-- A copy of the registry (Postgres holds the truth) for joins inside ClickHouse.
CREATE TABLE IF NOT EXISTS series
(
    id        UInt64,
    workspace UUID,
    source    UUID,
    metric    String,
    tags      Map(String, String),
    kind      UInt8
)
ENGINE = ReplacingMergeTree
ORDER BY (workspace, source, metric, id);

-- +goose Down
DROP TABLE IF EXISTS series;
DROP TABLE IF EXISTS source_activity;
DROP TABLE IF EXISTS latest;
DROP TABLE IF EXISTS states;
DROP TABLE IF EXISTS points;
