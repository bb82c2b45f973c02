package clickhouse_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	partSources = 3
	partTimes   = 60
)

// partMetrics are the metrics of each source. Their names must not be interpreted as SQL.
var partMetrics = []string{"a", "b'c", `d) OR (1`}

// deletionModel is a model of sources with points, each with a random version.
type deletionModel struct {
	workspace uuid.UUID
	sources   []uuid.UUID
	remaining map[uint64]map[int64]uint64 // version of each remaining point, by series and time
}

func newDeletionModel(t *testing.T, db *clickhouse.DB, random *rand.Rand) *deletionModel {
	t.Helper()
	p := &deletionModel{workspace: uuid.New(), remaining: map[uint64]map[int64]uint64{}}
	var c clickhouse.PointColumns
	var series []clickhouse.SeriesRow
	var latest []clickhouse.LatestRow
	for range partSources {
		source := uuid.New()
		p.sources = append(p.sources, source)
		for _, metric := range partMetrics {
			id := uint64(len(series)) + 1
			series = append(series, clickhouse.SeriesRow{
				ID: id, Workspace: p.workspace, Source: source, Metric: metric, Kind: 1,
			})
			p.remaining[id] = map[int64]uint64{}
			for ts := range int64(partTimes) {
				version := random.Uint64N(100) + 1
				p.remaining[id][ts] = version
				c.Append(id, ts, float64(version), version)
			}
			last := p.remaining[id][partTimes-1]
			latest = append(latest, clickhouse.LatestRow{
				Workspace: p.workspace, Source: source, Series: id, TS: partTimes - 1, Value: float64(last), Version: last,
			})
		}
	}
	require.NoError(t, db.InsertPoints(t.Context(), &c))
	require.NoError(t, db.InsertSeries(t.Context(), series))
	require.NoError(t, db.InsertLatest(t.Context(), clickhouse.LatestOf(latest...)))
	return p
}

// drawDeletion returns a random deletion of some points.
func (p *deletionModel) drawDeletion(random *rand.Rand) clickhouse.Deletion {
	source := p.sources[random.IntN(partSources)]
	d := clickhouse.Deletion{Workspace: p.workspace, Source: source, Ceiling: random.Uint64N(60)}
	if random.IntN(4) > 0 {
		d.Metric = &partMetrics[random.IntN(len(partMetrics))]
	}
	from := random.Int64N(partTimes)
	to := from + random.Int64N(5)
	if random.IntN(20) > 0 {
		d.FromUS = &from
	}
	if d.FromUS != nil || random.IntN(2) > 0 {
		d.ToUS = &to
	}
	return d
}

// remove applies a deletion to the model.
func (p *deletionModel) remove(d clickhouse.Deletion) {
	for id, points := range p.remaining {
		index := int(id - 1)
		metric := partMetrics[index%len(partMetrics)]
		if p.sources[index/len(partMetrics)] != d.Source || d.Metric != nil && metric != *d.Metric {
			continue
		}
		for ts, version := range points {
			if version <= d.Ceiling && (d.FromUS == nil || ts >= *d.FromUS) && (d.ToUS == nil || ts < *d.ToUS) {
				delete(points, ts)
			}
		}
	}
}

// rows returns the model in ClickHouse's text format: all points, and the newest of each series.
func (p *deletionModel) rows() (points, latest string) {
	var all, newest []string
	for id := uint64(1); id <= uint64(len(p.remaining)); id++ {
		last := ""
		for ts := range int64(partTimes) {
			if version, ok := p.remaining[id][ts]; ok {
				last = fmt.Sprintf("%d\t%d\t%d", id, ts, version)
				all = append(all, last)
			}
		}
		if last != "" {
			newest = append(newest, last)
		}
	}
	return strings.Join(all, "\n"), strings.Join(newest, "\n")
}

func TestManyDeletionsOfPartsAreOneStatement(t *testing.T) {
	db, address := open(t)
	random := rand.New(rand.NewPCG(7, 7))
	p := newDeletionModel(t, db, random)
	deletions := make([]clickhouse.Deletion, 250)
	for i := range deletions {
		deletions[i] = p.drawDeletion(random)
		p.remove(deletions[i])
	}
	unknown := "unknown"
	deletions = append(deletions, clickhouse.Deletion{Workspace: p.workspace, Source: uuid.New(), Ceiling: 99},
		clickhouse.Deletion{Workspace: p.workspace, Source: p.sources[0], Metric: &unknown, Ceiling: 99})
	points, latest := p.rows()
	require.NotEmpty(t, latest)
	for range 2 { // a repetition changes nothing
		require.NoError(t, db.Delete(t.Context(), deletions...))
		require.Equal(t, points, testenv.QueryClickHouse(
			t, address, "SELECT series, toUnixTimestamp64Micro(ts), version FROM points FINAL ORDER BY series, ts",
		))
		require.Equal(t, latest, testenv.QueryClickHouse(
			t, address, "SELECT series, toUnixTimestamp64Micro(ts), version FROM latest FINAL ORDER BY series",
		))
	}
	mutations, err := strconv.Atoi(testenv.QueryClickHouse(
		t,
		address,
		"SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table IN ('points', 'states', 'latest')",
	))
	require.NoError(t, err)
	require.LessOrEqual(t, mutations, 9, "a statement a table each hundred deletions, not each deletion")
}
