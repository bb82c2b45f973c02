package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	rollingRate    = 100_000 // points per second
	rollingSources = 16      // more than partitions, so that every consumer gets some
	// rollingMaxRequests limits the concurrent requests. At the limit, the load waits.
	rollingMaxRequests = 256
)

// TestARollingRestartUnderLoadLosesNothing restarts every process of every role, one after the other,
// under 100,000 points per second. Each answer is a success or asks for a retry (the balancer verifies
// this). Unanswered requests are retried. At the end every point exists once. The test logs the rate
// that the machine reached.
func TestARollingRestartUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	s := startSplit(t)
	newRollingLoad(t, s.ByRole("api")).restartAll(s.All(), testenv.InFull(3, 1))
}

// TestTheSingleProcessIsRestartedUnderLoad is the same for one process with all roles and the embedded
// engines, which restarts on its data directory. Connections are refused during the restart; the
// requirements for answers are the same.
func TestTheSingleProcessIsRestartedUnderLoad(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	all := []*harness.Server{s.Server}
	newRollingLoad(t, all).restartAll(all, 1)
}

// restartAll restarts each process the given number of times and requires that nothing is lost.
func (l *rollingLoad) restartAll(processes []*harness.Server, rounds int) {
	t := l.t
	l.begin()
	began := time.Now()
	for range rounds {
		for _, process := range processes {
			l.restart(process)
		}
	}
	l.end()
	t.Logf("%d points in %s: %.0f a second; %d connections refused, %d requests unanswered, %d answers 502, 503 or 504",
		l.next*pointsInBatch, time.Since(began).Round(time.Millisecond), float64(l.next*pointsInBatch)/l.took.Seconds(),
		l.balancer.Refused.Load(), l.balancer.Unanswered.Load(), l.balancer.Postponed.Load())
	l.reportFreshness()
	l.requireEverythingOnce()
}

// rollingLoad sends numbered batches to several sources in turn at a fixed rate
// and measures how long after the answer each became visible.
type rollingLoad struct {
	t        *testing.T
	apis     []*server
	balancer *harness.Balancer
	sources  []string
	next     int // number of the next batch; only the pacer accesses it until end
	took     time.Duration
	stop     chan struct{}
	paced    sync.WaitGroup
	sending  sync.WaitGroup
	slots    chan struct{}

	mu        sync.Mutex
	freshness []freshnessSample
	restarts  []string
}

// freshnessSample is the time of an answer and the delay until the batch was visible.
type freshnessSample struct {
	at    time.Time
	delay time.Duration
}

func newRollingLoad(t *testing.T, apis []*harness.Server) *rollingLoad {
	t.Helper()
	l := &rollingLoad{
		t: t, balancer: harness.NewBalancer(t, apis), stop: make(chan struct{}),
		slots: make(chan struct{}, rollingMaxRequests),
	}
	for _, api := range apis {
		l.apis = append(l.apis, &server{Server: api, t: t})
	}
	for i := range rollingSources {
		l.sources = append(l.sources, l.apis[0].createSource(fmt.Sprintf("rolling-%d", i)))
	}
	return l
}

func (l *rollingLoad) begin() {
	l.paced.Go(func() {
		began := time.Now()
		tick := time.NewTicker(time.Second * pointsInBatch / rollingRate)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				l.took = time.Since(began)
				return
			case <-tick.C:
			}
			n := l.next
			l.next++
			l.slots <- struct{}{}
			l.sending.Go(func() {
				defer func() { <-l.slots }()
				l.send(n)
			})
		}
	})
}

// send retries a batch until it is answered 201, and waits until it is visible.
func (l *rollingLoad) send(n int) {
	source := l.sources[n%len(l.sources)]
	answer, err := l.balancer.Do("POST", "/api/live-data/ingest", batch{n}.body(source))
	if err != nil {
		return // the test has ended
	}
	var accepted struct{ Checkpoint string }
	if answer.Status != http.StatusCreated || json.Unmarshal(answer.Data, &accepted) != nil {
		l.t.Errorf("batch %d was answered %d: %+v", n, answer.Status, answer.Error)
		return
	}
	answered := time.Now()
	query := url.Values{"sourceId": {source}, "metric": {"none"}, "checkpoint": {accepted.Checkpoint}}
	if answer, err = l.balancer.Do("GET", "/api/live-data/query?"+query.Encode(), nil); err != nil {
		return
	}
	if answer.Status != http.StatusOK {
		l.t.Errorf("the query with the checkpoint of batch %d was answered %d: %+v", n, answer.Status, answer.Error)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freshness = append(l.freshness, freshnessSample{answered, time.Since(answered)})
}

// restart stops a process gracefully, starts it again, and records the durations and the freshness.
func (l *rollingLoad) restart(process *harness.Server) {
	began := time.Now()
	require.Zero(l.t, process.Stop(), "%v ends with exit code 0", process.Args)
	stopped := time.Since(began)
	require.Less(l.t, stopped, 10*time.Second)
	process.Launch()
	process.WaitReady()
	ready := time.Now()
	time.Sleep(time.Second) // keeps the load running between two restarts
	l.mu.Lock()
	defer l.mu.Unlock()
	var during []time.Duration
	for _, v := range l.freshness {
		if v.at.After(began) {
			during = append(during, v.delay)
		}
	}
	l.restarts = append(l.restarts, fmt.Sprintf("%v stopped in %s, ready after %s: fresh %s",
		process.Args, stopped.Round(time.Millisecond), ready.Sub(began).Round(time.Millisecond), percentiles(during)))
}

func (l *rollingLoad) end() {
	close(l.stop)
	l.paced.Wait()
	l.sending.Wait()
}

func (l *rollingLoad) reportFreshness() {
	for _, restart := range l.restarts {
		l.t.Log(restart)
	}
	var all []time.Duration
	for _, v := range l.freshness {
		all = append(all, v.delay)
	}
	l.t.Logf("from an answer until its points are visible, over all: %s", percentiles(all))
}

func percentiles(durations []time.Duration) string {
	if len(durations) == 0 {
		return "nothing"
	}
	slices.Sort(durations)
	at := func(share float64) time.Duration {
		return durations[min(int(float64(len(durations))*share), len(durations)-1)].Round(time.Millisecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s, max %s", at(0.5), at(0.95), at(1))
}

// requireEverythingOnce compares count and sum of every source through every API.
func (l *rollingLoad) requireEverythingOnce() {
	l.t.Helper()
	counts, sums := make([]int, len(l.sources)), make([]float64, len(l.sources))
	for n := range l.next {
		counts[n%len(l.sources)] += pointsInBatch
		sums[n%len(l.sources)] += batch{n}.sum()
	}
	for i, source := range l.sources {
		for _, api := range l.apis {
			api.requireTotals(source, counts[i], sums[i])
		}
	}
}
