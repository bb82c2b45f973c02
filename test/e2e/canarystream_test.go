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

// lasting are the operations whose answers last.
var lasting = []string{"GET /api/queries/events", "GET /api/live-data/stream"}

// stream is an answer that lasts, as far as it has been heard.
type stream struct {
	call
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *stream) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// open begins a stream; it ends with ctx. Whatever is no stream is heard to its end.
func (w *tenants) open(ctx context.Context, work *sync.WaitGroup, as made, c call) *stream {
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
	s.text.WriteString(heard{header: answer.Header}.text())
	work.Go(func() {
		defer func() { _ = answer.Body.Close() }()
		piece := make([]byte, 64<<10)
		for {
			n, err := answer.Body.Read(piece)
			s.mu.Lock()
			s.text.Write(piece[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return s
}

// placeInStream returns where a stream of the first tenant's points is.
func (w *tenants) placeInStream() (place string) {
	w.t.Helper()
	ctx, leave := context.WithCancel(w.t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer leave()
	s := w.open(ctx, &work, w.theirs, call{op: lasting[1], path: "/api/live-data/stream"})
	require.Eventually(w.t, func() bool {
		_, after, found := strings.Cut(s.heard(), "\nid: ")
		place, _, _ = strings.Cut(after, "\n")
		return found && place != ""
	}, time.Minute, 10*time.Millisecond)
	return place
}

// whole reports that a call has no parameters.
func (c call) whole() bool { return c.path == strings.TrimPrefix(c.op, "GET ") && len(c.header) == 0 }

// requireStreamsOwn follows all that can be followed, in every way, while the first
// tenant writes.
func (w *tenants) requireStreamsOwn(calls []call) {
	t := w.t
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer leave()
	var theirs, mine []*stream
	for _, op := range lasting {
		theirs = append(theirs, w.open(ctx, &work, w.theirs, call{op: op, path: strings.TrimPrefix(op, "GET ")}))
	}
	for _, c := range calls {
		if slices.Contains(lasting, c.op) {
			mine = append(mine, w.open(ctx, &work, w.mine, c))
			if c.whole() {
				mine = append(mine, w.open(ctx, &work, w.both, c))
			}
		}
	}
	require.Greater(t, len(mine), 20)
	require.Eventually(t, func() bool { // it is heard when it says so
		return !slices.ContainsFunc(append(mine, theirs...), func(s *stream) bool {
			return s.op == lasting[1] && strings.Contains(s.heard(), "event-stream") && !strings.Contains(s.heard(), "\nid: ")
		})
	}, time.Minute, 10*time.Millisecond)

	w.writeJSON(
		opExecute, "/api/commands/execute",
		object{"type": "CREATE_NODE", "payload": object{"name": w.canary("live node"), "entityType": "object"}},
		http.StatusCreated,
	)
	w.checkpoint = w.id(w.writeJSON(opIngest, "/api/live-data/ingest", object{"points": []any{
		object{
			"sourceId": w.pick["source"], "metric": w.pick["metric"], "value": 4,
			"tags": object{w.pick["tagKey"]: w.pick["tagValue"]},
		},
	}}, http.StatusCreated), "checkpoint")
	require.Equal(
		t, http.StatusOK,
		w.say(w.theirs.Key, w.theirs.workspace, call{
			op: "GET ", path: "/api/live-data/query?checkpoint=" + url.QueryEscape(w.checkpoint),
		}).status,
	)
	for _, s := range theirs {
		require.Eventually(t, func() bool {
			return strings.Contains(s.heard(), w.mark)
		}, time.Minute, 10*time.Millisecond, "%s: the first tenant hears of it", s.op)
	}
	w.writeOwn() // what comes later has come, so what came before has come, too
	for _, s := range mine {
		if s.whole() {
			require.Eventually(t, func() bool {
				return strings.Contains(s.heard(), "own-")
			}, time.Minute, 10*time.Millisecond, "%s", s.op)
		}
	}
	leave()
	work.Wait()
	w.awaitIndexed(w.mine, "own-node", "own-node")
	for _, s := range mine {
		assert.Empty(t, w.foreign(s.heard(), s.asked()), "%s", s.path)
	}
}

// writeOwn has the second tenant, and the key that opens both, write something in the
// second's workspace.
func (w *tenants) writeOwn() {
	t := w.t
	t.Helper()
	for _, as := range []made{w.mine, w.both} {
		made := w.say(as.Key, as.workspace, call{
			op: opExecute, path: "/api/commands/execute", kind: asJSON,
			body: `{"type":"CREATE_NODE","payload":{"name":"own-node","entityType":"object","description":"pumps water"}}`,
		})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.body)
		points := w.say(as.Key, as.workspace, call{
			op: opIngest, path: "/api/live-data/ingest", kind: "text/plain", body: "own-lines f=1",
		})
		require.Equal(t, http.StatusCreated, points.status, "%s", points.body)
	}
}
