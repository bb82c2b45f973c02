package registry_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestTheShorterRetentionApplies(t *testing.T) {
	db := pgtest.Open(t)
	days := func(n int32) *int32 { return &n }
	limited, err := db.CreateWorkspace(t.Context(), access.Workspace{
		Name: "limited", Plan: "pro", Mode: "live", RetentionDays: days(30),
	})
	require.NoError(t, err)
	require.EqualValues(t, 30, *limited.RetentionDays)
	free := pgtest.Workspace(t, db, "live")
	add := func(workspace uuid.UUID, own *int32) uuid.UUID {
		id := uuid.New()
		_, err := db.CreateSource(t.Context(), workspace, registry.Source{ID: id, Name: id.String(), RetentionDays: own})
		require.NoError(t, err)
		return id
	}
	week, year, plain, own := add(limited.ID, days(7)), add(limited.ID, days(365)), add(limited.ID, nil),
		add(free.ID, days(90))

	all, found := map[uuid.UUID]int32{}, registry.SourceRetention{}
	for {
		page, err := db.SourceRetentions(t.Context(), found, 1)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		found = page[0]
		all[found.Source] = found.Days
	}
	require.Equal(t, map[uuid.UUID]int32{week: 7, year: 30, plain: 30, own: 90}, all)
	longest, bounded, err := db.LongestRetention(t.Context())
	require.NoError(t, err)
	require.True(t, bounded)
	require.EqualValues(t, 90, longest)

	workspaceDays, sources, err := db.Retention(t.Context(), limited.ID)
	require.NoError(t, err)
	require.EqualValues(t, 30, *workspaceDays)
	require.Equal(t, map[uuid.UUID]int32{week: 7, year: 365}, sources)

	endless := add(free.ID, nil)
	_, bounded, err = db.LongestRetention(t.Context())
	require.NoError(t, err)
	require.False(t, bounded, "one source has unlimited retention")
	_, err = db.DeleteSource(t.Context(), free.ID, endless, "req_test")
	require.NoError(t, err)
	_, bounded, err = db.LongestRetention(t.Context())
	require.NoError(t, err)
	require.True(t, bounded)
}

func TestALongRetentionReachesBackACenturyAndNotFurther(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	require.Equal(t, now.Add(-24*time.Hour).UnixMicro(), registry.KeptFrom(now, 1))
	century := now.AddDate(0, 0, -36_500).UnixMicro()
	require.Equal(t, century, registry.KeptFrom(now, 36_500))
	require.Equal(t, century, registry.KeptFrom(now, 1<<31-1))
	require.Equal(t, now.UnixMicro(), registry.KeptFrom(now, -5))
}
