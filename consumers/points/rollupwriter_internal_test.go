package points

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

func TestRollupsAreStoredInTheBackgroundOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan error)
		running, most := 0, 0
		w := newRollupWriter(func(ctx context.Context, _ *clickhouse.Rollups) error {
			running++
			most = max(most, running)
			defer func() { running-- }()
			select {
			case err := <-proceed:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, slog.New(slog.DiscardHandler))
		batch, end := context.WithCancel(t.Context())
		w.store(batch, &clickhouse.Rollups{}) // does not wait
		end()
		synctest.Wait()
		require.Equal(t, 1, running, "the insert outlives its batch")

		w.store(batch, &clickhouse.Rollups{}) // dropped, because its batch has ended
		stored := false
		go func() {
			w.store(t.Context(), &clickhouse.Rollups{})
			stored = true
		}()
		synctest.Wait()
		require.False(t, stored, "it waits for the one before")
		proceed <- errors.New("no store")
		synctest.Wait()
		require.True(t, stored)
		require.Equal(t, 1, running)

		w.close() // ends the insert
		require.Zero(t, running)
		require.Equal(t, 1, most)
		var none *rollupWriter
		none.close()
	})
}
