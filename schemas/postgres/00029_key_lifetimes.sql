-- +goose Up

-- When a key was rolled first, and how long it was made to live: rolling ends its life early,
-- so a further successor's cannot be told from expires_at any more.
ALTER TABLE api_keys
    ADD COLUMN rolled_at timestamptz, -- null: it was not
    ADD COLUMN lifetime  interval;    -- of a rolled key; null: it was made to live on

-- Of keys that were rolled before: the longest life among those that came of them.
WITH RECURSIVE chain AS (
    SELECT id, rolled_from, created_at, expires_at - created_at AS lifetime FROM api_keys
    UNION ALL
    SELECT k.id, k.rolled_from, k.created_at, c.lifetime FROM chain c JOIN api_keys k ON k.id = c.rolled_from
), rolled AS (
    SELECT DISTINCT ON (k.id) k.id, c.lifetime, (SELECT min(s.created_at) FROM api_keys s WHERE s.rolled_from = k.id) AS first_roll
    FROM api_keys k JOIN chain c ON c.id = k.id
    WHERE EXISTS (SELECT FROM api_keys s WHERE s.rolled_from = k.id)
    ORDER BY k.id, c.lifetime DESC NULLS FIRST
)
UPDATE api_keys k SET rolled_at = r.first_roll, lifetime = r.lifetime FROM rolled r WHERE r.id = k.id;

-- +goose Down
ALTER TABLE api_keys DROP COLUMN rolled_at, DROP COLUMN lifetime;
