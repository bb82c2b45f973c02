package analyses_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestWorkspacesTakeTurns(t *testing.T) {
	t.Parallel()
	db := consumertest.OpenDatabase(t, pgtest.Migrated(t), 4)
	f := &fixture{T: t, db: db, actor: uuid.New()}
	a, b := consumertest.NewWorkspace(t, db), consumertest.NewWorkspace(t, db)
	queued := []uuid.UUID{f.queue(a, degree("")), f.queue(a, degree("")), f.queue(b, degree(""))}
	claim := func() (jobs.Analysis, bool) {
		job, ok, err := db.ClaimAnalysis(t.Context(), uuid.New(), time.Minute)
		require.NoError(t, err)
		return job, ok
	}
	first, ok := claim()
	require.True(t, ok)
	require.Equal(t, queued[0], first.ID)
	second, ok := claim()
	require.True(t, ok)
	require.Equal(t, queued[2], second.ID)
	_, ok = claim()
	require.False(t, ok, "a workspace has one run at a time")
	_, err := db.CancelAnalysis(t.Context(), a, first.ID)
	require.NoError(t, err)
	third, ok := claim()
	require.True(t, ok)
	require.Equal(t, queued[1], third.ID)
}

func TestFinishedAnalysesAreRemovedAndOpenOnesAreBounded(t *testing.T) {
	t.Parallel()
	db := consumertest.OpenDatabase(t, pgtest.Migrated(t), 4)
	f := &fixture{T: t, db: db, actor: uuid.New()}
	workspace := consumertest.NewWorkspace(t, db)
	var ids []uuid.UUID
	for range jobs.KeptAnalyses + 3 {
		ids = append(ids, f.queue(workspace, degree("")))
		_, err := db.CancelAnalysis(t.Context(), workspace, ids[len(ids)-1])
		require.NoError(t, err)
	}
	list, total, err := db.Analyses(t.Context(), workspace, 1000, 0)
	require.NoError(t, err)
	require.EqualValues(t, jobs.KeptAnalyses, total)
	slices.Reverse(list)
	require.Equal(t, ids[3], list[0].ID, "the newest are kept")
	for range jobs.MaxOpenAnalyses {
		f.queue(workspace, degree(""))
	}
	_, err = db.CreateAnalysis(t.Context(), &jobs.Analysis{
		Workspace: workspace, ID: uuid.New(), Spec: degree(""), Origin: graph.Origin{Scopes: []string{}},
	}, nil, nil)
	require.True(t, fault.Is(err, fault.Conflict))
	require.NoError(t, db.DeleteWorkspace(t.Context(), workspace, "req"))
	require.NoError(t, db.EraseWorkspace(t.Context(), workspace, func(int64) error { return nil }))
	_, total, err = db.Analyses(t.Context(), workspace, 10, 0)
	require.NoError(t, err)
	require.Zero(t, total)
	_, err = db.CreateAnalysis(t.Context(), &jobs.Analysis{
		Workspace: workspace, ID: uuid.New(), Spec: degree(""), Origin: graph.Origin{Scopes: []string{}},
	}, nil, nil)
	require.True(t, fault.Is(err, fault.NotFound))
}
