package registry_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

// TestCachedSeriesReflectChangesOfOtherProcesses checks that a list has the changes of
// another process, whether its page was cached or not.
func TestCachedSeriesReflectChangesOfOtherProcesses(t *testing.T) {
	url := pgtest.Migrated(t)
	db, other := pgtest.OpenAt(t, url), pgtest.OpenAt(t, url)
	rapid.Check(t, func(rt *rapid.T) {
		ws := pgtest.LimitedWorkspace(t, db, 100, 100_000)
		var (
			sources []uuid.UUID // that are not deleted
			deleted []registry.PendingDeletion
			created int
		)
		add := func() {
			created++
			sources = append(sources, source(t, other, ws, fmt.Sprint("source ", created)).ID)
		}
		add()
		one := func(rt *rapid.T) uuid.UUID { return rapid.SampledFrom(sources).Draw(rt, "source") }
		change := func(rt *rapid.T, change func(*registry.Source)) {
			_, err := other.UpdateSource(t.Context(), ws, one(rt), nil, func(s *registry.Source) error { change(s); return nil })
			require.NoError(rt, err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"register": func(rt *rapid.T) {
				from := rapid.IntRange(0, 6).Draw(rt, "from")
				idents, prints := identities(ws, one(rt), from, from+rapid.IntRange(1, 3).Draw(rt, "many"))
				_, _, err := other.RegisterSeries(t.Context(), ws, idents, prints)
				require.NoError(rt, err)
			},
			"create": func(*rapid.T) { add() },
			"rename": func(rt *rapid.T) {
				created++
				change(rt, func(s *registry.Source) { s.Name = fmt.Sprint("renamed ", created) })
			},
			"units": func(rt *rapid.T) {
				change(rt, func(s *registry.Source) {
					s.Unit = new(rapid.SampledFrom([]string{"bar", "K"}).Draw(rt, "unit"))
					s.Metrics = []registry.SourceMetric{{Name: "m000001", Unit: new("V")}, {Name: "m000002"}}
				})
			},
			"keep": func(rt *rapid.T) {
				days := new(rapid.Int32Range(1, 3).Draw(rt, "days"))
				change(rt, func(s *registry.Source) { s.RetentionDays = days })
				_, err := other.UpdateWorkspace(t.Context(), ws, access.WorkspaceChange{RetentionDays: new(new(int32(2)))})
				require.NoError(rt, err)
			},
			"delete": func(rt *rapid.T) {
				if len(sources) < 2 {
					rt.Skip("one source has to remain")
				}
				d, err := other.DeleteSource(t.Context(), ws, sources[0], "request")
				require.NoError(rt, err)
				sources, deleted = sources[1:], append(deleted, d)
			},
			"remove": func(rt *rapid.T) {
				for _, d := range deleted {
					_, err := other.RemoveSeries(t.Context(), d)
					require.NoError(rt, err)
				}
				deleted = nil
			},
			"": func(rt *rapid.T) {
				filter := rapid.SampledFrom([]registry.SeriesFilter{
					{}, {Sources: []uuid.UUID{sources[0]}}, {Metrics: []string{"m000001", "m000003"}},
					{Tags: map[string][]string{"n": {"1"}}},
				}).Draw(rt, "filter")
				page := registry.SeriesPage{Limit: rapid.SampledFrom([]int{3, 100}).Draw(rt, "limit")}
				list, total, more, err := db.Series(t.Context(), ws, filter, page)
				require.NoError(rt, err)
				page.After = &registry.SeriesPosition{} // pages after a position are not cached
				want, wantTotal, wantMore, err := db.Series(t.Context(), ws, filter, page)
				require.NoError(rt, err)
				require.Equal(rt, want, list)
				require.Equal(rt, wantTotal, total)
				require.Equal(rt, wantMore, more)
			},
		})
	})
}
