-- Series of values that only PromQL reads: NaN, infinities and stale markers.

-- +goose Up

-- All rows that exist are of kind 1 or 2, so they need not be read to check them.
ALTER TABLE series DROP CONSTRAINT series_kind_check;
ALTER TABLE series ADD CONSTRAINT series_kind_check CHECK (kind IN (1, 2, 3)) NOT VALID; -- 1 number, 2 string, 3 special

-- Lists of series count without them.
CREATE INDEX series_special ON series (workspace_id) WHERE kind = 3;

-- +goose Down
DROP INDEX series_special;
DELETE FROM series WHERE kind = 3;
ALTER TABLE series DROP CONSTRAINT series_kind_check;
ALTER TABLE series ADD CONSTRAINT series_kind_check CHECK (kind IN (1, 2));
