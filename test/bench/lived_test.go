package bench

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/bench/rival"
)

// livedShape describes one way in which users send points.
type livedShape struct {
	name    string
	format  load.Format
	size    load.Size
	batch   int // points per request
	callers int
	points  int64 // per turn
	perLine int64
	turns   int
}

var (
	livedThousand = load.Size{Sources: 10, Series: 1000, Sensors: 100}
	livedSensors  = load.Size{Sources: 100, Series: 100_000, Sensors: 1000}
	livedMillion  = load.Size{Sources: 1000, Series: 1_000_000, Sensors: 1000}
)

var livedShapes = []livedShape{
	{"series", load.FormatSeries, livedThousand, 10_000, 4, 20_000_000, 1, 3},
	{"lines", load.FormatLines, livedThousand, 10_000, 4, 20_000_000, 1, 3},
	{"wide-lines", load.FormatWideLines, load.Size{Sources: 10, Series: 1000, Sensors: 10}, 10_000, 4, 20_000_000, 10, 3},
	{"sensors-lines", load.FormatLines, livedSensors, 100_000, 4, 10_000_000, 1, 3},
	{"sensors-series", load.FormatSeries, livedSensors, 100_000, 4, 10_000_000, 1, 3},
	{"hundred", load.FormatLines, livedThousand, 100, 64, 4_000_000, 1, 3},
	{"million-lines", load.FormatLines, livedMillion, 100_000, 4, 10_000_000, 1, 2},
}

// livedSingles come last, because they exhaust QuestDB's open files: it has a writer for each caller and table.
var livedSingles = []livedShape{
	{"single-64", load.FormatLines, livedThousand, 1, 64, 200_000, 1, 3},
	{"single-256", load.FormatLines, livedThousand, 1, 256, 200_000, 1, 3},
}

// livedOnly is the environment variable that selects shapes, "queries", "sustained-lines" and "sustained-series" by
// a regular expression, for trial runs.
const livedOnly = "LIVEGRAPH_BENCH_SHAPES"

// lived is a server with default settings and the peers that receive the same points and queries.
type lived struct {
	*dashboards
	r      *record.Recorder
	rivals []*rival.Rival
	share  float64
	months int // turns so far: each has its own month
}

// BenchmarkLived measures the load shapes of daily use with default settings: rollups, merges, audit,
// request log and limits are on. Each turn is sent to Livegraph and to the peers, and each clock
// stops when a query finds every point. Queries and sustained loads follow.
func BenchmarkLived(b *testing.B) {
	r := record.New(b)
	l := &lived{dashboards: startDashboards(b, r), r: r, share: record.Share(b)}
	l.CLI("workspaces", "update", l.First.WorkspaceID, "--max-series", "10000000")
	l.rivals = l.target.rivals(r)
	only, err := regexp.Compile(os.Getenv(livedOnly))
	require.NoError(b, err, livedOnly)
	for _, s := range livedShapes {
		if only.MatchString(s.name) {
			l.compareIngest(s)
		}
	}
	if only.MatchString("queries") {
		l.compareQueries()
	}
	for _, format := range []load.Format{load.FormatLines, load.FormatSeries} {
		if only.MatchString("sustained-" + string(format)) {
			l.sustain(format)
		}
	}
	for _, s := range livedSingles {
		if only.MatchString(s.name) {
			l.compareIngest(s)
		}
	}
	if only.String() != "" {
		return
	}
	l.r.Add("share", "ratio", l.share)
	l.r.Add("sustained", "s", sustainedTime.Seconds()*l.share)
	l.r.Add("disk", "GB", l.stored()/1e9)
	r.Save()
}

// idle waits until Livegraph has finished its deferred work, so that a peer's turn has the machine to
// itself.
func (l *lived) idle() {
	l.b.Helper()
	l.rolledUp()
	l.settle()
}

// compareIngest sends the turns of one shape to Livegraph, and then the same points to each peer. The
// first turn warms up. Rollups of a turn may run during the next one, as in production.
func (l *lived) compareIngest(s livedShape) {
	l.b.Helper()
	fleet := l.fleet("lived-"+s.name, s.size)
	defer fleet.Close()
	l.idle()
	plans := make([]load.Plan, s.turns+1)
	ours := make([]outcome, len(plans))
	for turn := range plans {
		points := int64(float64(s.points) * l.share)
		if turn == 0 {
			points /= 5
		}
		plans[turn] = load.Plan{
			Points: max(points, int64(s.batch), int64(s.size.Series)), Batch: s.batch, Callers: s.callers, Format: s.format,
			Prepared: true, SkipFreshness: true, Values: load.ValuesGauge, Interval: time.Second, Start: l.month(),
		}
		ours[turn] = l.load(fleet, plans[turn])
		l.note(s.name, "livegraph", turn, ours[turn], ours[turn])
		if turn > 0 {
			l.r.Add("livegraph/"+s.name+"/memory", "MiB", ours[turn].peak)
		}
	}
	l.idle()
	failed := map[string]bool{} // peers that did not show all points of a turn
	for turn, plan := range plans {
		for _, other := range l.rivals {
			to, bodies := l.bodiesFor(other, s.size, fleet, plan)
			if to == "" || failed[other.Name] {
				continue
			}
			theirs, err := l.sendTo(other, comparison{name: s.name, perLine: s.perLine}, fleet, plan, to, bodies)
			if err != nil {
				l.r.Logf("%s: %s is skipped: %v", s.name, other.Name, err)
				failed[other.Name] = true
				continue
			}
			l.note(s.name, other.Name, turn, theirs, ours[turn])
		}
	}
}

// note records one outcome of a turn and its ratio to Livegraph's.
func (l *lived) note(shape, name string, turn int, o, ours outcome) {
	l.r.Logf("%s, turn %d: %s %.3f M points/s visible", shape, turn, name, o.perSecond()/1e6)
	if turn == 0 {
		return
	}
	l.r.Add(name+"/"+shape+"/visible", "points/s", o.perSecond())
	l.r.Add(name+"/"+shape+"/cpu", "cpu-ns/point", o.perPoint(o.used.total()))
	l.r.Add(name+"/"+shape+"/ours", "ratio", ours.perSecond()/o.perSecond())
}

// month returns the start of the next unused month.
func (l *lived) month() time.Time {
	l.months++
	return month(l.months)
}
