package registry_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestMetadataOfMetricsIsReplaced(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	one, two := pgtest.Workspace(t, db, "live").ID, pgtest.Workspace(t, db, "live").ID
	up := metricmetadata.Metadata{Metric: "up", Type: "gauge", Help: "Whether it is up."}
	hits := metricmetadata.Metadata{Metric: "hits", Type: "counter", Unit: "requests"}
	put := func(workspace uuid.UUID, list ...metricmetadata.Metadata) {
		t.Helper()
		var given []metricmetadata.OfWorkspace
		for _, m := range list {
			given = append(given, metricmetadata.OfWorkspace{Workspace: workspace, Metadata: m})
		}
		require.NoError(t, db.PutMetricMetadata(t.Context(), given))
	}
	read := func(workspace uuid.UUID, metric string, limit int) []metricmetadata.Metadata {
		t.Helper()
		list, err := db.MetricMetadata(t.Context(), workspace, metric, limit)
		require.NoError(t, err)
		return list
	}
	put(one, up, hits)
	put(two, up)
	up.Type = "counter"
	put(one, up)
	require.Equal(t, []metricmetadata.Metadata{hits, up}, read(one, "", 10))
	require.Equal(t, []metricmetadata.Metadata{hits}, read(one, "", 1))
	require.Equal(t, []metricmetadata.Metadata{up}, read(one, "up", 10))
	require.Equal(t, "gauge", read(two, "", 10)[0].Type)
	require.Empty(t, read(two, "hits", 10))

	// A workspace that is deleted, or none, is no reason to keep that of others.
	require.NoError(t, db.DeleteWorkspace(t.Context(), two, "req"))
	require.NoError(t, db.PutMetricMetadata(t.Context(), []metricmetadata.OfWorkspace{
		{Workspace: two, Metadata: hits}, {Workspace: uuid.New(), Metadata: hits},
		{Workspace: one, Metadata: metricmetadata.Metadata{Metric: "more", Type: "gauge"}},
	}))
	require.Empty(t, read(two, "hits", 10))
	require.Len(t, read(one, "", 10), 3)
}

func TestMetadataOfMetricsIsBounded(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	full, other := pgtest.Workspace(t, db, "live").ID, pgtest.Workspace(t, db, "live").ID
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO metric_metadata (workspace_id, metric, kind, help, unit)
		SELECT $1, 'm' || i, 'gauge', '', '' FROM generate_series(1, $2::int) i`, full, registry.MaxMetricMetadata))
	var list []metricmetadata.OfWorkspace
	for _, metric := range []string{"m1", "another"} {
		for _, workspace := range []uuid.UUID{full, other} {
			list = append(list, metricmetadata.OfWorkspace{
				Workspace: workspace, Metadata: metricmetadata.Metadata{Metric: metric, Type: "counter"},
			})
		}
	}
	require.NoError(t, db.PutMetricMetadata(t.Context(), list))
	read := func(workspace uuid.UUID, metric string) []metricmetadata.Metadata {
		found, err := db.MetricMetadata(t.Context(), workspace, metric, 10)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, read(full, "another"))
	require.Equal(t, "counter", read(full, "m1")[0].Type, "what is known is replaced")
	require.Len(t, read(other, "another"), 1)
}

// Several processes write the same metadata at the same time.
func TestMetadataIsWrittenConcurrently(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	workspace := pgtest.Workspace(t, db, "live").ID
	var list []metricmetadata.OfWorkspace
	for _, metric := range []string{"a", "b", "c", "d", "e"} {
		list = append(list, metricmetadata.OfWorkspace{
			Workspace: workspace, Metadata: metricmetadata.Metadata{Metric: metric, Type: "gauge"},
		})
	}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			own := slices.Clone(list)
			if n%2 == 1 {
				slices.Reverse(own)
			}
			for round := range 20 {
				for i := range own {
					own[i].Type = metricmetadata.Types[(n+round)%len(metricmetadata.Types)]
				}
				if err := db.PutMetricMetadata(t.Context(), own); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	found, err := db.MetricMetadata(t.Context(), workspace, "", 10)
	require.NoError(t, err)
	require.Len(t, found, 5)
}
