package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// batch is an ingest request whose content depends only on its number, so that a retry sends the same
// points.
type batch struct{ number int }

const (
	seriesPerBatch = 50
	pointsInSeries = 100
	pointsInBatch  = seriesPerBatch * pointsInSeries
)

// epoch is the time of the first point: constant, in the past.
var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func (b batch) body(source string) []byte {
	var body strings.Builder
	fmt.Fprintf(&body, `{"sourceId":%q,"series":[`, source)
	for s := range seriesPerBatch {
		if s > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"metric":"m%d","timestamps":[`, s)
		for p := range pointsInSeries {
			if p > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, "%d", epoch.Add(time.Duration(b.number*pointsInSeries+p)*time.Second).UnixMilli())
		}
		body.WriteString(`],"values":[`)
		for p := range pointsInSeries {
			if p > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, "%d", b.value(s, p))
		}
		body.WriteString("]}")
	}
	body.WriteString("]}")
	return []byte(body.String())
}

func (b batch) value(series, point int) int { return (b.number*31+series*7+point)%1000 + 1 }

func (b batch) sum() (sum float64) {
	for s := range seriesPerBatch {
		for p := range pointsInSeries {
			sum += float64(b.value(s, p))
		}
	}
	return sum
}

func (s *server) createSource(name string) string {
	s.t.Helper()
	var source struct{ ID string }
	s.Do("POST", "/api/live-data/sources", map[string]any{"name": name}, http.StatusCreated, &source)
	return source.ID
}

// totals returns count and sum of all points of a source.
func (s *server) totals(source string, extra url.Values) (count, sum float64) {
	s.t.Helper()
	q := url.Values{
		"sourceId": {source}, "aggregation": {"count,sum"}, "groupBy": {"none"},
		"from": {epoch.Format(time.RFC3339)}, "to": {epoch.AddDate(0, 2, 0).Format(time.RFC3339)},
	}
	for k, v := range extra {
		q[k] = v
	}
	var groups []struct {
		Columns []string
		Points  [][]cell
	}
	s.Do("GET", "/api/live-data/query?"+q.Encode(), nil, http.StatusOK, &groups)
	if len(groups) == 0 || len(groups[0].Points) == 0 {
		return 0, 0
	}
	require.Equal(s.t, []string{"timestamp", "count", "sum"}, groups[0].Columns)
	row := groups[0].Points[0]
	return row[1].number, row[2].number
}

// cell is a value in a result: a timestamp's text or a number.
type cell struct {
	number float64
	text   string
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *cell) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.text)
	}
	return json.Unmarshal(b, &f.number)
}

// TestAPointPassesThePipelineAndSurvivesARestart ingests a batch and reads it with its
// checkpoint, before and after a restart.
func TestAPointPassesThePipelineAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("boiler")

	var accepted struct {
		Accepted, Rejected int
		Checkpoint         string
	}
	s.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{0}.body(source)), http.StatusCreated, &accepted)
	require.Equal(t, pointsInBatch, accepted.Accepted)
	require.Zero(t, accepted.Rejected)

	count, sum := s.totals(source, url.Values{"checkpoint": {accepted.Checkpoint}})
	require.InDelta(t, pointsInBatch, count, 0)
	require.InDelta(t, batch{0}.sum(), sum, 0)

	require.Zero(t, s.Stop(), "SIGTERM ends with exit code 0")
	began := time.Now()
	s.Start()
	t.Logf("second start took %s", time.Since(began).Round(time.Millisecond))
	count, sum = s.totals(source, nil)
	require.InDelta(t, pointsInBatch, count, 0)
	require.InDelta(t, batch{0}.sum(), sum, 0)
}

// TestNothingIsLostOrCountedTwice verifies the guarantee: if a client retries unanswered requests,
// every point exists exactly once, regardless of how often the process is killed, and also after the
// whole log is consumed again.
func TestNothingIsLostOrCountedTwice(t *testing.T) {
	t.Parallel()
	batches, kills := testenv.InFull(200, 80), testenv.InFull(10, 4)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))

	s := newServer(t)
	s.Start()
	source := s.createSource("turbine")

	s.sendThroughKills(source, batches, kills, random)

	var want float64
	for n := range batches {
		want += batch{n}.sum()
	}
	s.requireTotals(source, batches*pointsInBatch, want)

	// A new consumer group reads the topic from its start.
	require.Zero(t, s.Stop())
	s.Args = append(s.Args, "--points-group", "second-reading")
	s.Start()
	s.requireTotals(source, batches*pointsInBatch, want)
	s.waitConsumed(source)
	s.requireTotals(source, batches*pointsInBatch, want)
}

// sendThroughKills sends batches one after the other and retries each until it is answered 201, while
// the server is killed and restarted at random moments.
func (s *server) sendThroughKills(source string, batches, kills int, random *rand.Rand) {
	s.t.Helper()
	var sent atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range batches {
			body := batch{n}.body(source)
			for { // until it is answered 201, or until the test ends
				a, err := s.Try("POST", "/api/live-data/ingest", body)
				if err == nil && a.Status == http.StatusCreated {
					break
				}
				if s.t.Context().Err() != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			sent.Add(1)
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		}
	}()
	for kill := range kills {
		// Kills are spread over the load, each at a random moment after a number of batches.
		target := int64((kill + 1) * batches / (kills + 2))
		for sent.Load() < target {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		s.Kill()
		s.Start()
	}
	<-done
	require.EqualValues(s.t, batches, sent.Load())
}

// requireTotals waits until count and sum have the given values. The count must never be higher.
func (s *server) requireTotals(source string, wantCount int, wantSum float64) {
	s.t.Helper()
	s.requireTotalsWithin(30*time.Second, source, wantCount, wantSum)
}

// requireTotalsWithin is requireTotals with a time limit.
func (s *server) requireTotalsWithin(limit time.Duration, source string, wantCount int, wantSum float64) {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		count, sum := s.totals(source, nil)
		require.LessOrEqual(s.t, count, float64(wantCount), "points are counted twice")
		if count == float64(wantCount) {
			require.InDelta(s.t, wantSum, sum, 0)
			return
		}
		require.True(s.t, time.Now().Before(deadline), "only %v of %d points are visible", count, wantCount)
		time.Sleep(50 * time.Millisecond)
	}
}

// waitConsumed waits until a point ingested now is visible. Then all earlier points of the source's
// partition are visible, too.
func (s *server) waitConsumed(source string) {
	s.t.Helper()
	var accepted struct{ Checkpoint string }
	body := map[string]any{"points": []any{map[string]any{"sourceId": source, "metric": "probe", "value": 1}}}
	s.Do("POST", "/api/live-data/ingest", body, http.StatusCreated, &accepted)
	q := url.Values{"sourceId": {source}, "metric": {"probe"}, "checkpoint": {accepted.Checkpoint}}
	s.Do("GET", "/api/live-data/query?"+q.Encode(), nil, http.StatusOK, nil)
}
