-- +goose NO TRANSACTION
-- +goose Up

-- What the numbers of a series come to in a minute. Of several rows of a minute the
-- one with the highest version holds; points = 0 says that there is nothing any more.
CREATE TABLE IF NOT EXISTS rollup_1m
(
    series   UInt64 CODEC(ZSTD),
    ts       DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD),
    points   UInt32 CODEC(ZSTD),
    total    Float64 CODEC(ZSTD),
    lowest   Float64 CODEC(ZSTD),
    highest  Float64 CODEC(ZSTD),
    first    Float64 CODEC(ZSTD),
    last     Float64 CODEC(ZSTD),
    first_us UInt32 CODEC(ZSTD),
    last_us  UInt32 CODEC(ZSTD),
    version  UInt64 CODEC(Delta(8), ZSTD)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts);

-- The same by the hour.
CREATE TABLE IF NOT EXISTS rollup_1h AS rollup_1m
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (series, ts);

-- Which hours of which series the rollups do not hold for, below the horizon. What
-- was marked in one epoch goes together, when it is computed again.
CREATE TABLE IF NOT EXISTS rollup_marks
(
    epoch     UInt64,
    series    UInt64,
    from_hour UInt32,
    to_hour   UInt32,
    removal   UInt8
)
ENGINE = ReplacingMergeTree
PARTITION BY epoch
ORDER BY (series, from_hour, to_hour, removal);

-- How far the rollups are. Every value only ever rises, so rows may be written in
-- any order, and more than once.
CREATE TABLE IF NOT EXISTS rollup_state
(
    id      UInt8,
    epoch   SimpleAggregateFunction(max, UInt64),
    opened  SimpleAggregateFunction(max, Int64),
    horizon SimpleAggregateFunction(max, Int64),
    clean   SimpleAggregateFunction(max, Int64),
    version SimpleAggregateFunction(max, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY id;

-- +goose Down
DROP TABLE IF EXISTS rollup_state;
DROP TABLE IF EXISTS rollup_marks;
DROP TABLE IF EXISTS rollup_1h;
DROP TABLE IF EXISTS rollup_1m;
