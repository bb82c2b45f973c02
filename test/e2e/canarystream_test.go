package e2e

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// streamOperations are the operations that return a stream.
var streamOperations = []string{"GET /api/queries/events", "GET /api/live-data/stream"}

// stream is a streamed response and the text received so far.
type stream struct {
	call
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *stream) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// open opens a stream, which ends with ctx. Any other response is read to its end.
func (w *tenants) open(ctx context.Context, work *sync.WaitGroup, as createdKey, c call) *stream {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL()+c.path, nil)
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bearer "+as.Key)
	r.Header.Set("X-Workspace-Id", as.workspace)
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err, c.path)
	s := &stream{call: c}
	s.text.WriteString(response{header: answer.Header}.text())
	work.Go(func() {
		defer func() { _ = answer.Body.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := answer.Body.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return s
}

// currentStreamID returns the id of an event in the stream of the first tenant's points.
func (w *tenants) currentStreamID() (place string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	s := w.open(ctx, &work, w.firstKey, call{op: streamOperations[1], path: "/api/live-data/stream"})
	require.Eventually(w.t, func() bool {
		_, after, found := strings.Cut(s.received(), "\nid: ")
		place, _, _ = strings.Cut(after, "\n")
		return found && place != ""
	}, time.Minute, 10*time.Millisecond)
	return place
}

// withoutParameters reports whether a call has no parameters.
func (c call) withoutParameters() bool {
	return c.path == strings.TrimPrefix(c.op, "GET ") && len(c.header) == 0
}

// requireStreamsIsolated opens every stream, with every combination of parameters in calls, while the
// first tenant writes.
func (w *tenants) requireStreamsIsolated(calls []call) {
	t := w.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	var theirs, mine []*stream
	for _, op := range streamOperations {
		theirs = append(theirs, w.open(ctx, &work, w.firstKey, call{op: op, path: strings.TrimPrefix(op, "GET ")}))
	}
	for _, c := range calls {
		if slices.Contains(streamOperations, c.op) {
			mine = append(mine, w.open(ctx, &work, w.secondKey, c))
			if c.withoutParameters() {
				mine = append(mine, w.open(ctx, &work, w.sharedKey, c))
			}
		}
	}
	require.Greater(t, len(mine), 20)
	require.Eventually(t, func() bool { // a stream of points is subscribed once it sends an id
		return !slices.ContainsFunc(append(mine, theirs...), func(s *stream) bool {
			return s.op == streamOperations[1] && strings.Contains(s.received(), "event-stream") &&
				!strings.Contains(s.received(), "\nid: ")
		})
	}, time.Minute, 10*time.Millisecond)

	w.writeJSON(
		opExecute, "/api/commands/execute",
		object{"type": "CREATE_NODE", "payload": object{"name": w.canary("live node"), "entityType": "object"}},
		http.StatusCreated,
	)
	w.checkpoint = w.id(w.writeJSON(opIngest, "/api/live-data/ingest", object{"points": []any{
		object{
			"sourceId": w.values["source"], "metric": w.values["metric"], "value": 4,
			"tags": object{w.values["tagKey"]: w.values["tagValue"]},
		},
	}}, http.StatusCreated), "checkpoint")
	require.Equal(
		t, http.StatusOK,
		w.send(w.firstKey.Key, w.firstKey.workspace, call{
			op: "GET ", path: "/api/live-data/query?checkpoint=" + url.QueryEscape(w.checkpoint),
		}).status,
	)
	for _, s := range theirs {
		require.Eventually(t, func() bool {
			return strings.Contains(s.received(), w.canaryPrefix)
		}, time.Minute, 10*time.Millisecond, "%s: the first tenant hears of it", s.op)
	}
	w.writeAsSecond() // after these writes arrive, all earlier events have arrived
	for _, s := range mine {
		if s.withoutParameters() {
			require.Eventually(t, func() bool {
				return strings.Contains(s.received(), "own-")
			}, time.Minute, 10*time.Millisecond, "%s", s.op)
		}
	}
	cancel()
	work.Wait()
	w.waitForIndex(w.secondKey, "own-node", "own-node")
	for _, s := range mine {
		assert.Empty(t, w.leaked(s.received(), s.content()), "%s", s.path)
	}
}

// writeAsSecond writes to the second tenant's workspace with its key and with the shared key.
func (w *tenants) writeAsSecond() {
	t := w.t
	t.Helper()
	for _, as := range []createdKey{w.secondKey, w.sharedKey} {
		made := w.send(as.Key, as.workspace, call{
			op: opExecute, path: "/api/commands/execute", contentType: asJSON,
			body: `{"type":"CREATE_NODE","payload":{"name":"own-node","entityType":"object","description":"pumps water"}}`,
		})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.body)
		points := w.send(as.Key, as.workspace, call{
			op: opIngest, path: "/api/live-data/ingest", contentType: "text/plain", body: "own-lines f=1",
		})
		require.Equal(t, http.StatusCreated, points.status, "%s", points.body)
	}
}
