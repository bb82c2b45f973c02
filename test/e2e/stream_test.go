package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pointReader streams the points of a source, and resumes after each restart of the server.
type pointReader struct {
	s      *server
	source string
	done   chan struct{}

	mu       sync.Mutex
	id       string             // of the last event
	started  bool               // an event has been received
	points   map[string]float64 // latest value by metric and time
	repeated int                // points that were received more than once
	failures []string           // events that report missed points, and errors
}

func (r *pointReader) run(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		_ = r.connect(ctx) // the server was killed
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *pointReader) connect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, r.s.URL()+"/api/live-data/stream?epoch=ms&sourceId="+r.source, nil,
	)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+r.s.First.AdminKey)
	request.Header.Set("x-workspace-id", r.s.First.WorkspaceID)
	if r.id != "" {
		request.Header.Set("Last-Event-ID", r.id)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %d", response.StatusCode)
	}
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for event, id := "", ""; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			r.add(event, value)
		case "":
			r.mu.Lock()
			if id != "" { // an event counts once it is complete
				r.id, r.started = id, true
			}
			r.mu.Unlock()
		}
	}
}

func (r *pointReader) add(event, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event != "points" {
		r.failures = append(r.failures, event+" "+data)
		return
	}
	var list []struct {
		Metric string
		Points [][2]float64
	}
	if err := json.Unmarshal([]byte(data), &list); err != nil {
		r.failures = append(r.failures, err.Error())
	}
	for _, series := range list {
		for _, p := range series.Points {
			key := fmt.Sprint(series.Metric, " ", int64(p[0]))
			if _, known := r.points[key]; known {
				r.repeated++
			}
			r.points[key] = p[1]
		}
	}
}

func (r *pointReader) progress() (points int, begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.points), r.started
}

// TestAStreamOfPointsContinuesAfterKillsAndRestarts requires that a reader that reconnects with the id of
// its last event receives every acknowledged point, regardless of how often the server is killed.
func TestAStreamOfPointsContinuesAfterKillsAndRestarts(t *testing.T) {
	t.Parallel()
	const batches, kills = 40, 3
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newServer(t)
	s.Start()
	source := s.createSource("windmill")
	ctx, cancel := context.WithCancel(t.Context())
	r := &pointReader{s: s, source: source, done: make(chan struct{}), points: map[string]float64{}}
	go r.run(ctx)
	defer func() { cancel(); <-r.done }()
	require.Eventually(t, func() bool { _, begun := r.progress(); return begun }, time.Minute, 10*time.Millisecond)

	s.sendThroughKills(source, batches, kills, rand.New(rand.NewPCG(seed, 1)))
	require.Zero(t, s.Stop())
	s.Start()
	require.Eventually(t, func() bool {
		points, _ := r.progress()
		return points == batches*pointsInBatch
	}, time.Minute, 50*time.Millisecond)
	cancel()
	<-r.done
	require.Empty(t, r.failures)
	t.Logf("%d points came again", r.repeated)
	for b := range batches {
		for series := range seriesPerBatch {
			for p := range pointsInSeries {
				at := epoch.Add(time.Duration(b*pointsInSeries+p) * time.Second).UnixMilli()
				require.InDelta(t, batch{b}.value(series, p), r.points[fmt.Sprintf("m%d %d", series, at)], 0)
			}
		}
	}
}
