package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// split is harness.Split with what these tests ask of it.
type split struct {
	*harness.Split
	t *testing.T
}

func startSplit(t *testing.T, kafka ...string) *split {
	t.Helper()
	s := &split{Split: harness.NewSplit(t, binary, harness.Roles(), kafka...), t: t}
	s.Start()
	return s
}

// api returns one of the API processes.
func (s *split) api(n int) *server {
	apis := s.Of("api")
	return &server{Server: apis[n%len(apis)], t: s.t}
}

// TestSplitIntoProcessesByRole: two processes of each role that begin together
// on empty engines are one service. What one API is told the other one knows.
func TestSplitIntoProcessesByRole(t *testing.T) {
	t.Parallel()
	s := startSplit(t)
	s.requireOneService("boiler")
	s.requireNamesAreOfTheAnswer("kiln")
	s.requireKeysWorkEverywhere()
	for _, process := range s.All() {
		began := time.Now()
		require.Zero(t, process.Stop(), "SIGTERM ends with exit code 0: %v", process.Args)
		require.Less(t, time.Since(began), 10*time.Second)
	}
}

// requireOneService creates a source on one API, ingests on another, reads with
// the checkpoint on both, and deletes the source.
func (s *split) requireOneService(name string) {
	s.t.Helper()
	one, other := s.api(0), s.api(1)
	source := one.createSource(name)
	var accepted struct {
		Accepted   int
		Checkpoint string
	}
	other.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{0}.body(source)), http.StatusCreated, &accepted)
	require.Equal(s.t, pointsInBatch, accepted.Accepted)
	for _, api := range []*server{one, other} {
		api.awaitCheckpoint(source, accepted.Checkpoint) // after a crash, until the dead consumer's session has run out
		count, sum := api.totals(source, url.Values{"checkpoint": {accepted.Checkpoint}})
		require.InDelta(s.t, pointsInBatch, count, 0)
		require.InDelta(s.t, batch{0}.sum(), sum, 0)
	}

	one.Do("DELETE", "/api/live-data/sources/"+source, nil, http.StatusNoContent, nil)
	other.Do("GET", "/api/live-data/sources/"+source, nil, http.StatusNotFound, nil)
	count, _ := other.totals(source, nil)
	require.Zero(s.t, count, "the points of a deleted source are in no answer")
	a, err := other.Try("POST", "/api/live-data/ingest", batch{1}.body(source))
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusUnprocessableEntity, a.Status, "the other API takes no points of a deleted source")
	again := other.createSource(name)
	require.NotEqual(s.t, source, again, "the name is free again")
	one.Do("DELETE", "/api/live-data/sources/"+again, nil, http.StatusNoContent, nil)
	s.requireOneGraph()
}

// requireNamesAreOfTheAnswer deletes and renames sources on one API while the other one
// remembers them. Lines with a name that are sent after the answer are of the source that
// has it then: were they taken for the deleted one, they would be acknowledged and lost.
func (s *split) requireNamesAreOfTheAnswer(name string) {
	s.t.Helper()
	one, other := s.api(0), s.api(1)
	line := func() {
		a, err := other.TryWith(
			http.Header{"Content-Type": {"text/plain"}}, "POST", "/api/live-data/ingest", []byte(name+" value=1"),
		)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusCreated, a.Status, "%+v", a.Error)
	}
	has := func() (id string) {
		var found []struct{ ID, Name string }
		one.Do("GET", "/api/live-data/sources?name="+name, nil, http.StatusOK, &found)
		for _, source := range found {
			if source.Name == name {
				return source.ID
			}
		}
		return ""
	}
	line()
	first := has()
	line() // remembered
	one.Do("DELETE", "/api/live-data/sources/"+first, nil, http.StatusNoContent, nil)
	line()
	second := has()
	require.NotEmpty(s.t, second)
	require.NotEqual(s.t, first, second)
	line()
	one.Do("PATCH", "/api/live-data/sources/"+second, map[string]any{"name": name + " of before"}, http.StatusOK, nil)
	line()
	third := has()
	require.NotEmpty(s.t, third, "the name is free, and a line with it makes a source")
	require.NotEqual(s.t, second, third)
	for source, points := range map[string]float64{second: 2, third: 1} {
		require.Eventually(s.t, func() bool {
			count, _ := other.totals(source, url.Values{"from": {"now-1h"}, "to": {"now"}})
			return count == points
		}, 20*time.Second, 50*time.Millisecond)
		one.Do("DELETE", "/api/live-data/sources/"+source, nil, http.StatusNoContent, nil)
	}
}

// requireOneGraph writes the graph on one API, reads it on the other, and undoes it
// there.
func (s *split) requireOneGraph() {
	s.t.Helper()
	one, other := s.api(0), s.api(1)
	var made struct{ Node struct{ ID string } }
	one.command(createNode(uuid.New(), "a pump"), http.StatusCreated, &made)
	path := "/api/queries/nodes/" + made.Node.ID
	other.Do("GET", path, nil, http.StatusOK, nil)
	other.command(map[string]any{"type": "UNDO"}, http.StatusOK, nil)
	one.Do("GET", path, nil, http.StatusNotFound, nil)
}

// command runs a command until it is carried out: after a crash, a while passes
// until the dead consumer's session has run out.
func (s *server) command(body map[string]any, status int, data any) {
	s.t.Helper()
	payload, err := json.Marshal(body)
	require.NoError(s.t, err)
	a := s.insist("/api/commands/execute", uuid.NewString(), payload)
	require.Equal(s.t, status, a.Status, "%+v", a.Error)
	if data != nil {
		require.NoError(s.t, json.Unmarshal(a.Data, data))
	}
}

// insist makes a request with an Idempotency-Key again until its outcome is known.
func (s *server) insist(path, key string, body []byte) harness.Answer {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		a, err := s.TryWith(http.Header{"Idempotency-Key": {key}}, http.MethodPost, path, body)
		unknown := err != nil || a.Status >= 500 || a.Status == http.StatusConflict && a.Header.Get("Retry-After") != ""
		if !unknown {
			return a
		}
		require.True(s.t, time.Now().Before(deadline), "no outcome: %d %+v %v", a.Status, a.Error, err)
		time.Sleep(50 * time.Millisecond)
	}
}

// requireKeysWorkEverywhere makes and revokes a key by command line and sees both
// on every API within a second.
func (s *split) requireKeysWorkEverywhere() {
	s.t.Helper()
	var key struct{ ID, Key string }
	cli := s.api(0)
	require.NoError(s.t, json.Unmarshal([]byte(cli.CLI("keys", "create", "--workspace", cli.First.WorkspaceID,
		"--name", "reader", "--scope", "read:livedata", "--json")), &key))
	statuses := func() (all []int) {
		for _, api := range s.Of("api") {
			a, err := api.TryAs(key.Key, api.First.WorkspaceID, "GET", "/api/live-data/sources", nil)
			require.NoError(s.t, err)
			all = append(all, a.Status)
		}
		return all
	}
	for _, status := range statuses() {
		require.Equal(s.t, http.StatusOK, status, "a new key works at once")
	}
	cli.CLI("keys", "revoke", key.ID)
	time.Sleep(time.Second) // the promise itself
	for _, status := range statuses() {
		require.Equal(s.t, http.StatusUnauthorized, status, "a revoked key works nowhere a second later")
	}
}

// TestSplitProcessesAreRestartedUnderLoad restarts one process of each role in
// turn, in order and by a crash, while a client sends: every point is there once.
func TestSplitProcessesAreRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	requireRestartsLoseNothing(t, func(string) []string { return nil })
}

// TestSplitProcessesAreRestartedUnderLoadOnApacheKafka is the same on the log that
// production has, over TLS and with a login.
func TestSplitProcessesAreRestartedUnderLoadOnApacheKafka(t *testing.T) {
	t.Parallel()
	settings := environment(secureKafka(t), nil)
	requireRestartsLoseNothing(t, func(prefix string) []string {
		return append(slices.Clone(settings), "LIVEGRAPH_KAFKA_TOPIC_PREFIX="+prefix, "LIVEGRAPH_POINTS_GROUP="+
			prefix+"points",
			"LIVEGRAPH_COMMANDS_GROUP="+prefix+"commands", "LIVEGRAPH_EMBEDDINGS_GROUP="+prefix+"embeddings")
	})
}

// requireRestartsLoseNothing does so, each way of restarting with the settings of
// Kafka that are made for it.
func requireRestartsLoseNothing(t *testing.T, kafka func(prefix string) []string) {
	t.Helper()
	for _, how := range []struct {
		name, prefix string
		restart      func(*testing.T, *harness.Server)
	}{
		{"by SIGTERM", "ended-", func(t *testing.T, s *harness.Server) { require.Zero(t, s.Restart()) }},
		{"by kill -9", "killed-", func(_ *testing.T, s *harness.Server) { s.Crash() }},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel() // mostly waiting for sessions to run out
			s := startSplit(t, kafka(how.prefix)...)
			source := s.api(0).createSource("turbine")
			load, written := s.load(source), s.write()
			for _, role := range harness.Roles() {
				load.waitFor(load.sent.Load() + 5)
				how.restart(t, s.Of(role.Name)[rand.IntN(role.Count)])
			}
			load.waitFor(load.sent.Load() + 5)
			count, sum := load.end()
			for n := range s.Of("api") {
				// A consumer that is killed while its group forms is waited for until the
				// rebalance is over, which takes 30 s with the embedded broker.
				s.api(n).requireTotalsWithin(wakeLimit, source, count, sum)
			}
			written.end()
			s.requireOneService("after")
		})
	}
}

// load sends numbered batches to whichever API answers until it is ended.
type load struct {
	t    *testing.T
	sent atomic.Int64
	stop chan struct{}
	over chan struct{}
}

func (s *split) load(source string) *load {
	l := &load{t: s.t, stop: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(l.over)
		for n := 0; ; n++ {
			body := batch{n}.body(source)
			for try := n; ; try++ { // until it is answered 201
				a, err := s.api(try).Try("POST", "/api/live-data/ingest", body)
				if err == nil && a.Status == http.StatusCreated {
					break
				}
				if err == nil && !slices.Contains([]int{502, 503, 504}, a.Status) {
					s.t.Errorf("ingest answered %d %+v", a.Status, a.Error)
					return
				}
				if s.t.Context().Err() != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			l.sent.Add(1)
			select {
			case <-l.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return l
}

// waitFor waits until so many batches are acknowledged.
func (l *load) waitFor(batches int64) {
	l.t.Helper()
	require.Eventually(l.t, func() bool { return l.sent.Load() >= batches }, time.Minute, time.Millisecond)
}

// end stops the load and gives how many points must be there, and their sum.
func (l *load) end() (count int, sum float64) {
	l.t.Helper()
	close(l.stop)
	<-l.over
	for n := range int(l.sent.Load()) {
		count += pointsInBatch
		sum += batch{n}.sum()
	}
	return count, sum
}

// TestAProcessThatWaitsForAStoreEndsInOrder: SIGTERM while a process is starting
// is no failure either.
func TestAProcessThatWaitsForAStoreEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, role := range harness.Roles() {
		s := harness.New(t, binary, "--roles", role.Name)
		nobody := harness.FreeAddress(t)
		s.Env = []string{
			"LIVEGRAPH_KAFKA_BROKERS=" + nobody, "LIVEGRAPH_CLICKHOUSE_URL=http://u:p@" + nobody + "/db",
			"LIVEGRAPH_POSTGRES_URL=postgres://u:p@" + nobody + "/db", "LIVEGRAPH_REDIS_URL=redis://" + nobody,
			"LIVEGRAPH_MILVUS_ADDRESS=" + nobody,
		}
		s.Launch()
		require.Eventually(t, func() bool { return s.Logged("waiting for a store") > 0 }, time.Minute, 10*time.Millisecond)
		require.Zero(t, s.Stop())
	}
}

// writer makes nodes, one after the other, on whichever API answers until it is
// ended. Each is asked for under its own key, again until it is known to be
// made: then all are there, none twice.
type writer struct {
	s    *split
	made int
	stop chan struct{}
	over chan struct{}
}

func (s *split) write() *writer {
	w := &writer{s: s, stop: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			key, body := uuid.NewString(), []byte(`{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object"}}`)
			for try := w.made; ; try++ {
				a, err := s.api(try).TryWith(http.Header{"Idempotency-Key": {key}}, http.MethodPost, "/api/commands/execute", body)
				if err == nil && a.Status == http.StatusCreated {
					break
				}
				if err == nil && !slices.Contains([]int{409, 502, 503, 504}, a.Status) {
					s.t.Errorf("a command was answered %d %+v", a.Status, a.Error)
					return
				}
				if s.t.Context().Err() != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			w.made++
		}
	}()
	return w
}

// end stops the writer and requires every API to have what it made.
func (w *writer) end() {
	w.s.t.Helper()
	close(w.stop)
	<-w.over
	require.Positive(w.s.t, w.made)
	for n := range w.s.Of("api") {
		a := w.s.api(n).Do("GET", "/api/queries/nodes?limit=1", nil, http.StatusOK, nil)
		require.EqualValues(w.s.t, w.made, a.Meta.Total)
	}
}
