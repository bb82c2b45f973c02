-- +goose NO TRANSACTION
-- +goose Up

-- Uses of keys. A use may be there several times: the log was read again, or the
-- answer was over and there was more to say (final = 1). Of the rows of a request the
-- final one stands; all have the same ts.
CREATE TABLE IF NOT EXISTS audit
(
    workspace   UUID,
    ts          DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD),
    request_id  String CODEC(ZSTD),
    final       UInt8 CODEC(ZSTD),
    key         UUID CODEC(ZSTD),
    method      LowCardinality(String),
    route       LowCardinality(String),
    status      UInt16 CODEC(ZSTD),
    ip          String CODEC(ZSTD),
    user_agent  String CODEC(ZSTD),
    duration_us Int64 CODEC(ZSTD),
    bytes_in    Int64 CODEC(ZSTD),
    bytes_out   Int64 CODEC(ZSTD),
    requests    UInt32 CODEC(ZSTD),
    INDEX by_request request_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_key key TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(final)
PARTITION BY toYYYYMM(ts)
ORDER BY (workspace, ts, request_id);

-- +goose Down
DROP TABLE IF EXISTS audit;
