package promql

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestOneWorkspaceDoesNotTakeAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces()
		busy, other := uuid.New(), uuid.New()
		var releases []func()
		for range workspaceQueries {
			release, err := p.acquire(t.Context(), busy)
			require.NoError(t, err)
			releases = append(releases, release)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan error)
		go func() {
			_, err := p.acquire(ctx, busy)
			waiting <- err
		}()
		synctest.Wait()
		release, err := p.acquire(t.Context(), other)
		require.NoError(t, err, "another workspace has a place")
		release()
		cancel()
		require.ErrorIs(t, <-waiting, context.Canceled)
		require.EqualValues(t, workspaceQueries, p.all.Used())
		for _, release := range releases {
			release()
		}
		require.Zero(t, p.all.Used())
		require.Empty(t, p.workspaces)
	})
}
