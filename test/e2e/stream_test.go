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

// pointReader follows the points of a source, and resumes where it was whenever the
// server goes away.
type pointReader struct {
	s      *server
	source string
	done   chan struct{}

	mu     sync.Mutex
	id     string             // of the last event
	begun  bool               // it has been heard once
	points map[string]float64 // by metric and time: the last that came
	again  int                // points that came more than once
	missed []string           // events that say so
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
			r.take(event, value)
		case "":
			r.mu.Lock()
			if id != "" { // an event counts once it is here as a whole
				r.id, r.begun = id, true
			}
			r.mu.Unlock()
		}
	}
}

func (r *pointReader) take(event, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event != "points" {
		r.missed = append(r.missed, event+" "+data)
		return
	}
	var list []struct {
		Metric string
		Points [][2]float64
	}
	if err := json.Unmarshal([]byte(data), &list); err != nil {
		r.missed = append(r.missed, err.Error())
	}
	for _, series := range list {
		for _, p := range series.Points {
			key := fmt.Sprint(series.Metric, " ", int64(p[0]))
			if _, known := r.points[key]; known {
				r.again++
			}
			r.points[key] = p[1]
		}
	}
}

func (r *pointReader) has() (points int, begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.points), r.begun
}

// A reader that comes back with its last event's id has, in the end, every point that
// was acknowledged, however often the server is killed.
func TestAStreamOfPointsGoesOnOverKillsAndRestarts(t *testing.T) {
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
	require.Eventually(t, func() bool { _, begun := r.has(); return begun }, 30*time.Second, 10*time.Millisecond)

	s.sendThroughKills(source, batches, kills, rand.New(rand.NewPCG(seed, 1)))
	require.Zero(t, s.Stop())
	s.Start()
	require.Eventually(t, func() bool {
		points, _ := r.has()
		return points == batches*pointsInBatch
	}, 60*time.Second, 50*time.Millisecond)
	cancel()
	<-r.done
	require.Empty(t, r.missed)
	t.Logf("%d points came again", r.again)
	for b := range batches {
		for series := range seriesPerBatch {
			for p := range pointsInSeries {
				at := epoch.Add(time.Duration(b*pointsInSeries+p) * time.Second).UnixMilli()
				require.InDelta(t, batch{b}.value(series, p), r.points[fmt.Sprintf("m%d %d", series, at)], 0)
			}
		}
	}
}
