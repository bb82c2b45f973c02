package doctor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/chtest"
)

func TestAllShardsOfClickHouseAreChecked(t *testing.T) {
	s := chtest.NewOnShards(t)
	for series := range uint64(5) {
		s.Insert(t, "points", chtest.Row(series, chtest.T0, 1.0, 1))
	}
	for cluster, missing := range map[string]bool{s.Cluster: false, "": true} {
		r := byName(t, doctor.Check(t.Context(), doctor.Target{
			ClickHouseURL: s.URL.String(), ClickHouseCluster: cluster,
		}))["clickhouse"]
		require.Contains(t, []doctor.Status{doctor.OK, doctor.Warning}, r.Status, r.Detail)
		require.Equal(t, missing, strings.Contains(r.Detail, "0 parts, at most 0 in a partition"), r.Detail)
	}
}
