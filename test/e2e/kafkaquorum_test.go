package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	quorumSources = 8 // so that most partitions get points
	quorumPause   = 200 * time.Millisecond
	quorumClients = 8
	// recoveryTimeout bounds the time until every source is written again after a fault.
	recoveryTimeout = 2 * time.Minute
)

// livegraphTopics are the topics whose records must not be lost.
var livegraphTopics = []string{"points", "graph.commands", "graph.events", "audit"}

// TestNothingIsLostWhenBrokersFail sends points and commands while brokers of a cluster of three fail: the
// leader of a partition is killed and starts again, a broker hangs, a broker is replaced by a fourth one,
// and two brokers are killed together. With one broker missing every source and the graph are written;
// with two of the three that have replicas, requests are refused with 503. Afterwards everything that was
// acknowledged exists once.
func TestNothingIsLostWhenBrokersFail(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	brokers := kafkatest.NewQuorum(t)
	s := newServer(t)
	s.Env = []string{"LIVEGRAPH_KAFKA_BROKERS=" + strings.Join(brokers.Brokers(), ",")}
	s.Start()
	s.requireSafeTopics(t, brokers)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	load := startQuorumLoad(s, seed)
	load.requireProgress("before the faults")

	t.Log("the leader of a partition is killed")
	killed := brokers.Leader(t, "points", 0)
	brokers.Kill(t, killed)
	brokers.AwaitLeader(t, "points", 0, killed)
	load.requireProgress("without a broker that was killed")
	brokers.Start(t, killed)
	brokers.AwaitInSync(t, livegraphTopics...)

	t.Log("the leader of another partition hangs")
	hangs := brokers.Leader(t, "graph.commands", 0)
	brokers.Pause(t, hangs)
	resumed := time.Now().Add(testenv.BrokerOutage(t))
	load.requireProgress("while a broker hangs")
	for time.Now().Before(resumed) {
		load.awaitProgress("while a broker hangs")
	}
	brokers.Resume(t, hangs)
	brokers.AwaitInSync(t, livegraphTopics...)

	t.Log("a broker is replaced")
	replaced := brokers.Leader(t, "points", 0)
	added, err := brokers.Add(t.Context())
	require.NoError(t, err)
	brokers.Move(t, replaced, added, slices.Concat(livegraphTopics, []string{"__consumer_offsets"})...)
	load.requireProgress("after the replicas were moved")

	// The replaced broker has no replicas, but is a controller: with it and another one leaders are elected,
	// and the in-sync replicas are too few. Without two of three controllers nothing is elected.
	others := slices.DeleteFunc([]int32{1, 2, 3}, func(id int32) bool { return id == replaced })
	for _, two := range [][]int32{{added, others[0]}, others} {
		t.Logf("two brokers are killed: %d", two)
		brokers.Kill(t, two[0])
		brokers.Kill(t, two[1])
		if two[0] == added {
			brokers.AwaitReplicas(t, "points", 0, 1)
		}
		s.requireRefusedWithoutQuorum(load.sources[0])
		brokers.Start(t, two...)
		load.requireProgress("after both started again")
		brokers.AwaitInSync(t, livegraphTopics...)
	}
	load.requireEverythingOnce()
	require.Zero(t, s.Stop())
}

// requireSafeTopics requires that the server created topics that survive the loss of a broker, and that
// the doctor has no objection.
func (s *server) requireSafeTopics(t *testing.T, brokers *kafkatest.Quorum) {
	t.Helper()
	brokers.AwaitInSync(t, livegraphTopics...)
	env := s.Env
	s.Env = nil // the doctor reads the addresses from the run file
	var found doctor.Result
	require.Eventually(t, func() bool {
		found = s.finding("topics")
		return found.Status == doctor.OK
	}, recoveryTimeout, time.Second, "%+v", &found)
	s.Env = env
	require.Equal(t, "8 topics, replication factor 3, min.insync.replicas 2", found.Detail)
}

// quorumLoad writes points of several sources and a graph until it is stopped.
type quorumLoad struct {
	s        *server
	sources  []string
	sent     []atomic.Int64 // acknowledged batches by source
	stop     chan struct{}
	sending  sync.WaitGroup
	graph    *graphLoad
	events   *eventReader
	refused  atomic.Int64
	mu       sync.Mutex
	failures []string // answers that are neither a success nor retryable
}

func startQuorumLoad(s *server, seed uint64) *quorumLoad {
	l := &quorumLoad{s: s, sent: make([]atomic.Int64, quorumSources), stop: make(chan struct{})}
	for range quorumSources {
		l.sources = append(l.sources, s.createSource(uuid.NewString()))
	}
	for i := range l.sources {
		l.sending.Go(func() { l.send(i) })
	}
	l.graph = newGraphLoad(s, seed)
	l.graph.clients, l.graph.check = quorumClients, l.check
	l.events = readEvents(s)
	s.t.Cleanup(l.events.stop)
	l.graph.start()
	return l
}

// send sends the batches of a source one after the other. It repeats each until it is acknowledged.
func (l *quorumLoad) send(source int) {
	for n := 0; ; n++ {
		body := batch{n}.body(l.sources[source])
		for {
			a, err := l.s.Try(http.MethodPost, "/api/live-data/ingest", body)
			l.check("/api/live-data/ingest", a, err)
			if err == nil && a.Status == http.StatusCreated {
				break
			}
			if l.s.t.Context().Err() != nil {
				return
			}
			time.Sleep(quorumPause)
		}
		l.sent[source].Add(1)
		select {
		case <-l.stop:
			return
		case <-time.After(quorumPause):
		}
	}
}

// check records answers that a client could not handle: the server runs all the time, and an outage of
// Kafka must be answered as such.
func (l *quorumLoad) check(path string, a harness.Answer, err error) {
	if err == nil && a.Status < 500 {
		return
	}
	l.refused.Add(1)
	retryable := a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "" ||
		a.Status == http.StatusGatewayTimeout // the outcome of a command is not known yet
	if err != nil || !retryable {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failures = append(l.failures, path+": "+a.Error.Message)
	}
}

// requireProgress is awaitProgress, and logs how long it took.
func (l *quorumLoad) requireProgress(when string) {
	l.s.t.Helper()
	began := time.Now()
	l.awaitProgress(when)
	l.s.t.Logf("points and commands were accepted %s within %s", when, time.Since(began).Round(time.Millisecond))
}

// awaitProgress waits until batches of every source, and commands, are acknowledged that were sent from
// now on.
func (l *quorumLoad) awaitProgress(when string) {
	l.s.t.Helper()
	const batches, commands = 3, 30 // the first answer may be to an earlier request
	before := make([]int64, len(l.sent))
	for i := range l.sent {
		before[i] = l.sent[i].Load()
	}
	answered := len(l.graph.answered())
	require.Eventually(l.s.t, func() bool {
		for i := range l.sent {
			if l.sent[i].Load() < before[i]+batches {
				return false
			}
		}
		return len(l.graph.answered()) >= answered+commands
	}, recoveryTimeout, 20*time.Millisecond, "points and commands are not accepted %s", when)
}

// requireEverythingOnce stops the load and compares what was acknowledged with what exists.
func (l *quorumLoad) requireEverythingOnce() {
	t := l.s.t
	t.Helper()
	close(l.stop)
	l.sending.Wait()
	l.graph.stop()
	total := int64(0)
	for i, source := range l.sources {
		var sum float64
		for n := range int(l.sent[i].Load()) {
			sum += batch{n}.sum()
		}
		total += l.sent[i].Load()
		l.s.requireTotalsWithin(recoveryTimeout, source, int(l.sent[i].Load())*pointsInBatch, sum)
		l.s.waitConsumed(source)
		l.s.requireTotals(source, int(l.sent[i].Load())*pointsInBatch, sum)
	}
	last := l.graph.mustWrite(t)
	l.events.waitFor(t, last.Sequence)
	require.Empty(t, l.events.violations(), "events come once and in order")
	l.events.compareAnswers(t, l.graph.answered())
	compareGraphs(t, l.events.fold(), listGraph(l.s))
	require.Empty(t, l.failures, "answers that are no success and not retryable")
	t.Logf("%d points and %d commands were acknowledged, %d requests refused; Kafka was unavailable %d times",
		total*pointsInBatch, len(l.graph.answered()), l.refused.Load(), l.s.CountLogLines("Kafka is unavailable"))
}

// requireRefusedWithoutQuorum requires that a write is refused with 503 while two of three brokers are
// missing, and that reads are answered.
func (s *server) requireRefusedWithoutQuorum(source string) {
	t := s.t
	t.Helper()
	const limit = 30 * time.Second // the produce timeout is 5 s
	command := []byte(`{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object"}}`)
	for path, body := range map[string][]byte{
		"/api/live-data/ingest": batch{100_000}.body(source), "/api/commands/execute": command,
	} {
		began := time.Now()
		a, err := s.Try(http.MethodPost, path, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.Status, "%s: %+v", path, a.Error)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.NotEmpty(t, a.Error.Code)
		require.Less(t, time.Since(began), limit)
	}
	count, _ := s.totals(source, nil)
	require.Positive(t, count, "queries are answered")
}
