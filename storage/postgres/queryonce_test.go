package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/pgtest"
)

// The settings of a single statement end with it, whether it succeeds or not.
func TestSettingsOfASingleStatementEndWithIt(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	settings := func(query func(string, func(pgx.Rows) error) error) (found []string) {
		t.Helper()
		require.NoError(t, query(`SELECT current_setting('plan_cache_mode'), current_setting('jit'),
			current_setting('statement_timeout')`, func(rows pgx.Rows) error {
			for rows.Next() {
				found = make([]string, 3)
				if err := rows.Scan(&found[0], &found[1], &found[2]); err != nil {
					return err
				}
			}
			return rows.Err()
		}))
		return found
	}
	once := func(ctx context.Context) func(string, func(pgx.Rows) error) error {
		return func(query string, read func(pgx.Rows) error) error { return db.QueryOnce(ctx, query, nil, read) }
	}
	ordinary := func(query string, read func(pgx.Rows) error) error {
		rows, err := db.Pool().Query(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		return read(rows)
	}
	before := settings(ordinary)
	limited, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for range 3 { // the second time the statements are prepared
		got := settings(once(limited))
		require.Equal(t, []string{"force_custom_plan", "off"}, got[:2])
		require.NotEqual(t, before[2], got[2])
		require.Equal(t, before, settings(ordinary))
	}
	ignore := func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}
	require.Error(t, db.QueryOnce(t.Context(), `SELECT 1 / (count(*) - count(*)) FROM workspaces`, nil, ignore))
	require.Equal(t, before, settings(ordinary))
	require.EqualValues(t, 1, db.Pool().Stat().TotalConns(), "no connection was closed")
}

// A statement that does not end by the deadline is stopped.
func TestASingleStatementEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := postgres.Classify(db.QueryOnce(ctx, `SELECT pg_sleep(60)`, nil, func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}))
	require.Error(t, err)
	require.True(t, fault.Is(err, fault.Timeout) || ctx.Err() != nil, "%v", err)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			err := db.QueryOnce(t.Context(), `SELECT $1::int`, []any{7}, func(rows pgx.Rows) error {
				n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
				if n != 7 {
					t.Errorf("%d instead of 7", n)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}
