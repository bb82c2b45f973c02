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

// split is a harness.Split with the helpers of these tests.
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
	apis := s.ByRole("api")
	return &server{Server: apis[n%len(apis)], t: s.t}
}

// TestSplitIntoProcessesByRole starts two processes of each role together on empty engines. They act
// as one service: what is written through one API is visible through the other.
func TestSplitIntoProcessesByRole(t *testing.T) {
	t.Parallel()
	s := startSplit(t)
	s.requireOneService("boiler")
	s.requireNamesResolveToCurrentSource("kiln")
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
		api.awaitCheckpoint(source, accepted.Checkpoint) // after a crash, until the dead consumer's session expires
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

// requireNamesResolveToCurrentSource deletes and renames sources through one API while the other has
// them in its cache. A line sent after the answer belongs to the source that has its name then. If it
// were assigned to the deleted source, it would be acknowledged and lost.
func (s *split) requireNamesResolveToCurrentSource(name string) {
	s.t.Helper()
	one, other := s.api(0), s.api(1)
	sendLine := func() {
		a, err := other.TryWith(
			http.Header{"Content-Type": {"text/plain"}}, "POST", "/api/live-data/ingest", []byte(name+" value=1"),
		)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusCreated, a.Status, "%+v", a.Error)
	}
	sourceID := func() (id string) {
		var found []struct{ ID, Name string }
		one.Do("GET", "/api/live-data/sources?name="+name, nil, http.StatusOK, &found)
		for _, source := range found {
			if source.Name == name {
				return source.ID
			}
		}
		return ""
	}
	sendLine()
	first := sourceID()
	sendLine() // cached
	one.Do("DELETE", "/api/live-data/sources/"+first, nil, http.StatusNoContent, nil)
	sendLine()
	second := sourceID()
	require.NotEmpty(s.t, second)
	require.NotEqual(s.t, first, second)
	sendLine()
	one.Do("PATCH", "/api/live-data/sources/"+second, map[string]any{"name": name + " of before"}, http.StatusOK, nil)
	sendLine()
	third := sourceID()
	require.NotEmpty(s.t, third, "the name is free, and a line with it makes a source")
	require.NotEqual(s.t, second, third)
	for source, points := range map[string]float64{second: 2, third: 1} {
		require.Eventually(s.t, func() bool {
			count, _ := other.totals(source, url.Values{"from": {"now-1h"}, "to": {"now"}})
			return count == points
		}, time.Minute, 50*time.Millisecond)
		one.Do("DELETE", "/api/live-data/sources/"+source, nil, http.StatusNoContent, nil)
	}
}

// requireOneGraph writes to the graph through one API, and reads and undoes the command through the
// other.
func (s *split) requireOneGraph() {
	s.t.Helper()
	one, other := s.api(0), s.api(1)
	var created struct{ Node struct{ ID string } }
	one.command(createNode(uuid.New(), "a pump"), http.StatusCreated, &created)
	path := "/api/queries/nodes/" + created.Node.ID
	other.Do("GET", path, nil, http.StatusOK, nil)
	other.command(map[string]any{"type": "UNDO"}, http.StatusOK, nil)
	one.Do("GET", path, nil, http.StatusNotFound, nil)
}

// command retries a command until it is executed. After a crash this waits until the dead consumer's
// session expires.
func (s *server) command(body map[string]any, status int, data any) {
	s.t.Helper()
	payload, err := json.Marshal(body)
	require.NoError(s.t, err)
	a := s.retryUntilKnown("/api/commands/execute", uuid.NewString(), payload)
	require.Equal(s.t, status, a.Status, "%+v", a.Error)
	if data != nil {
		require.NoError(s.t, json.Unmarshal(a.Data, data))
	}
}

// retryUntilKnown retries a request with an Idempotency-Key until its outcome is known.
func (s *server) retryUntilKnown(path, key string, body []byte) harness.Answer {
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

// requireKeysWorkEverywhere creates and revokes a key by command line. Every API applies both within a
// second.
func (s *split) requireKeysWorkEverywhere() {
	s.t.Helper()
	var key struct{ ID, Key string }
	cli := s.api(0)
	require.NoError(s.t, json.Unmarshal([]byte(cli.CLI("keys", "create", "--workspace", cli.First.WorkspaceID,
		"--name", "reader", "--scope", "read:livedata", "--json")), &key))
	statuses := func() (all []int) {
		for _, api := range s.ByRole("api") {
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
	time.Sleep(time.Second) // the guaranteed propagation time
	for _, status := range statuses() {
		require.Equal(s.t, http.StatusUnauthorized, status, "a revoked key works nowhere a second later")
	}
}

// TestSplitProcessesAreRestartedUnderLoad restarts one process of each role in turn, gracefully and by
// a crash, while a client sends. Every point is stored once.
func TestSplitProcessesAreRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	requireRestartsLoseNothing(t, func(string) []string { return nil })
}

// TestSplitProcessesAreRestartedUnderLoadOnApacheKafka is the same on Apache Kafka, over TLS and with
// SASL.
func TestSplitProcessesAreRestartedUnderLoadOnApacheKafka(t *testing.T) {
	t.Parallel()
	settings := settingsEnv(secureKafka(t), nil)
	requireRestartsLoseNothing(t, func(prefix string) []string {
		return append(slices.Clone(settings), "LIVEGRAPH_KAFKA_TOPIC_PREFIX="+prefix, "LIVEGRAPH_POINTS_GROUP="+
			prefix+"points",
			"LIVEGRAPH_COMMANDS_GROUP="+prefix+"commands", "LIVEGRAPH_EMBEDDINGS_GROUP="+prefix+"embeddings")
	})
}

// requireRestartsLoseNothing restarts processes under load, by SIGTERM and by kill -9. kafka returns
// the Kafka settings for a prefix.
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
			t.Parallel() // mostly waits for sessions to expire
			s := startSplit(t, kafka(how.prefix)...)
			source := s.api(0).createSource("turbine")
			load, written := s.load(source), s.write()
			for _, role := range harness.Roles() {
				load.waitFor(load.sent.Load() + 5)
				how.restart(t, s.ByRole(role.Name)[rand.IntN(role.Count)])
			}
			load.waitFor(load.sent.Load() + 5)
			count, sum := load.end()
			for n := range s.ByRole("api") {
				// If a consumer is killed during a rebalance, the others wait until the rebalance
				// ends. This takes 30 s with the embedded broker.
				s.api(n).requireTotalsWithin(rebalanceTimeout, source, count, sum)
			}
			written.end()
			s.requireOneService("after")
		})
	}
}

// load sends numbered batches to any API that answers, until end is called.
type load struct {
	t    *testing.T
	sent atomic.Int64
	stop chan struct{}
	done chan struct{}
}

func (s *split) load(source string) *load {
	l := &load{t: s.t, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
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

// waitFor waits until the given number of batches are acknowledged.
func (l *load) waitFor(batches int64) {
	l.t.Helper()
	require.Eventually(l.t, func() bool { return l.sent.Load() >= batches }, time.Minute, time.Millisecond)
}

// end stops the load and returns the expected number and sum of points.
func (l *load) end() (count int, sum float64) {
	l.t.Helper()
	close(l.stop)
	<-l.done
	for n := range int(l.sent.Load()) {
		count += pointsInBatch
		sum += batch{n}.sum()
	}
	return count, sum
}

// TestAProcessThatWaitsForAStoreEndsInOrder requires that SIGTERM during the start ends with exit code
// 0.
func TestAProcessThatWaitsForAStoreEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, role := range harness.Roles() {
		s := harness.New(t, binary, "--roles", role.Name)
		unused := harness.FreeAddress(t)
		s.Env = []string{
			"LIVEGRAPH_KAFKA_BROKERS=" + unused, "LIVEGRAPH_CLICKHOUSE_URL=http://u:p@" + unused + "/db",
			"LIVEGRAPH_POSTGRES_URL=postgres://u:p@" + unused + "/db", "LIVEGRAPH_REDIS_URL=redis://" + unused,
			"LIVEGRAPH_MILVUS_ADDRESS=" + unused,
		}
		s.Launch()
		require.Eventually(
			t, func() bool { return s.CountLogLines("waiting for a store") > 0 }, time.Minute, 10*time.Millisecond,
		)
		require.Zero(t, s.Stop())
	}
}

// writer creates nodes one after the other through any API that answers, until end is called. It
// retries each with its own idempotency key until it is known to be created, so that every node exists
// once.
type writer struct {
	s       *split
	created int
	stop    chan struct{}
	done    chan struct{}
}

func (s *split) write() *writer {
	w := &writer{s: s, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			key, body := uuid.NewString(), []byte(`{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object"}}`)
			for try := w.created; ; try++ {
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
			w.created++
		}
	}()
	return w
}

// end stops the writer and requires that every API returns all created nodes.
func (w *writer) end() {
	w.s.t.Helper()
	close(w.stop)
	<-w.done
	require.Positive(w.s.t, w.created)
	for n := range w.s.ByRole("api") {
		a := w.s.api(n).Do("GET", "/api/queries/nodes?limit=1", nil, http.StatusOK, nil)
		require.EqualValues(w.s.t, w.created, a.Meta.Total)
	}
}
