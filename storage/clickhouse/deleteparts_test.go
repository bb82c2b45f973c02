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

// partMetrics are of each source; the names must mean nothing in a statement.
var partMetrics = []string{"a", "b'c", `d) OR (1`}

// partial fills sources with points, each of its own version.
type partial struct {
	workspace uuid.UUID
	sources   []uuid.UUID
	left      map[uint64]map[int64]uint64 // of each series the version of each time
}

func newPartial(t *testing.T, db *clickhouse.DB, dice *rand.Rand) *partial {
	t.Helper()
	p := &partial{workspace: uuid.New(), left: map[uint64]map[int64]uint64{}}
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
			p.left[id] = map[int64]uint64{}
			for ts := range int64(partTimes) {
				version := dice.Uint64N(100) + 1
				p.left[id][ts] = version
				c.Append(id, ts, float64(version), version)
			}
			last := p.left[id][partTimes-1]
			latest = append(latest, clickhouse.LatestRow{
				Workspace: p.workspace, Source: source, Series: id, TS: partTimes - 1, Value: float64(last), Version: last,
			})
		}
	}
	require.NoError(t, db.InsertPoints(t.Context(), &c))
	require.NoError(t, db.InsertSeries(t.Context(), series))
	require.NoError(t, db.InsertLatest(t.Context(), latest))
	return p
}

// roll makes up a deletion of some points.
func (p *partial) roll(dice *rand.Rand) clickhouse.Deletion {
	d := clickhouse.Deletion{Workspace: p.workspace, Source: p.sources[dice.IntN(partSources)], Ceiling: dice.Uint64N(60)}
	if dice.IntN(4) > 0 {
		d.Metric = &partMetrics[dice.IntN(len(partMetrics))]
	}
	from := dice.Int64N(partTimes)
	to := from + dice.Int64N(5)
	if dice.IntN(20) > 0 {
		d.FromUS = &from
	}
	if d.FromUS != nil || dice.IntN(2) > 0 {
		d.ToUS = &to
	}
	return d
}

// remove takes from the model what a deletion takes.
func (p *partial) remove(d clickhouse.Deletion) {
	for id, points := range p.left {
		at := int(id - 1)
		if p.sources[at/len(partMetrics)] != d.Source || d.Metric != nil && partMetrics[at%len(partMetrics)] != *d.Metric {
			continue
		}
		for ts, version := range points {
			if version <= d.Ceiling && (d.FromUS == nil || ts >= *d.FromUS) && (d.ToUS == nil || ts < *d.ToUS) {
				delete(points, ts)
			}
		}
	}
}

// lines are the model as ClickHouse writes it: all points, and the newest of each series.
func (p *partial) lines() (points, latest string) {
	var all, newest []string
	for id := uint64(1); id <= uint64(len(p.left)); id++ {
		last := ""
		for ts := range int64(partTimes) {
			if version, ok := p.left[id][ts]; ok {
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

func TestManyDeletionsOfPartsGoTogether(t *testing.T) {
	db, address := open(t)
	dice := rand.New(rand.NewPCG(7, 7))
	p := newPartial(t, db, dice)
	deletions := make([]clickhouse.Deletion, 250)
	for i := range deletions {
		deletions[i] = p.roll(dice)
		p.remove(deletions[i])
	}
	elsewhere := "unheard of"
	deletions = append(deletions, clickhouse.Deletion{Workspace: p.workspace, Source: uuid.New(), Ceiling: 99},
		clickhouse.Deletion{Workspace: p.workspace, Source: p.sources[0], Metric: &elsewhere, Ceiling: 99})
	points, latest := p.lines()
	require.NotEmpty(t, latest)
	for range 2 { // again changes nothing
		require.NoError(t, db.Delete(t.Context(), deletions...))
		require.Equal(t, points, testenv.AskClickHouse(
			t, address, "SELECT series, toUnixTimestamp64Micro(ts), version FROM points FINAL ORDER BY series, ts",
		))
		require.Equal(t, latest, testenv.AskClickHouse(
			t, address, "SELECT series, toUnixTimestamp64Micro(ts), version FROM latest FINAL ORDER BY series",
		))
	}
	mutations, err := strconv.Atoi(testenv.AskClickHouse(
		t,
		address,
		"SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table IN ('points', 'states', 'latest')",
	))
	require.NoError(t, err)
	require.LessOrEqual(t, mutations, 9, "a statement a table each hundred deletions, not each deletion")
}
