package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// rss returns the server's resident memory in bytes.
func (s *server) rss() int {
	s.t.Helper()
	payload, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID()))
	require.NoError(s.t, err)
	pages, err := strconv.Atoi(strings.Fields(string(payload))[1])
	require.NoError(s.t, err)
	return pages * os.Getpagesize()
}

// TestIngestContinuesWhileClickHouseIsDown stops ClickHouse for half a minute under a steady load. Every
// request is answered 201, memory stays bounded, and all points are visible within seconds after
// ClickHouse is back.
func TestIngestContinuesWhileClickHouseIsDown(t *testing.T) {
	t.Parallel()
	const outage, catchUp, memoryBound = 30 * time.Second, 10 * time.Second, 600 << 20
	clickhouse := testenv.StoppableClickHouse(t)
	s := newServer(t, "--clickhouse-url", clickhouse.Address())
	s.Start()
	source := s.createSource("pump")
	number := 0
	send := func() {
		a, err := s.Try("POST", "/api/live-data/ingest", batch{number}.body(source))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, a.Status, "%+v", a.Error)
		number++
	}
	send()
	s.requireTotals(source, pointsInBatch, batch{0}.sum())

	require.NoError(t, clickhouse.Stop(t.Context()))
	for began := time.Now(); time.Since(began) < outage; {
		send()
		require.Less(t, s.rss(), memoryBound, "memory grows while ClickHouse is down")
		time.Sleep(100 * time.Millisecond)
	}
	a, err := s.Try("GET", "/api/live-data/query?sourceId="+source, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, a.Status, "a query says that the store is down")
	require.NotEmpty(t, a.Header.Get("Retry-After"))

	require.NoError(t, clickhouse.Start(t.Context()))
	back := time.Now()
	var want float64
	for n := range number {
		want += batch{n}.sum()
	}
	s.eventuallyTotals(source, number*pointsInBatch, want, catchUp)
	t.Logf(
		"%d points became visible %s after ClickHouse came back", number*pointsInBatch,
		time.Since(back).Round(time.Millisecond),
	)
	require.Zero(t, s.Stop())
}

// eventuallyTotals is requireTotals, but queries may fail at first.
func (s *server) eventuallyTotals(source string, count int, sum float64, limit time.Duration) {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		a, err := s.Try("GET", "/api/live-data/query?latest=true&sourceId="+source, nil)
		require.NoError(s.t, err)
		if a.Status == http.StatusOK {
			break
		}
		require.True(s.t, time.Now().Before(deadline), "queries still answer %d", a.Status)
		time.Sleep(50 * time.Millisecond)
	}
	s.requireTotals(source, count, sum)
	require.True(s.t, time.Now().Before(deadline), "the points became visible too late")
}

// TestIngestIsRefusedAtOnceWhileKafkaIsDown requires that ingest acknowledges nothing that the log
// does not contain, that requests fail without waiting, and that ingest resumes when Kafka is back.
func TestIngestIsRefusedAtOnceWhileKafkaIsDown(t *testing.T) {
	t.Parallel()
	kafka := kafkatest.NewKFake(t)
	s := newServer(t)
	s.Env = kafka.Settings()
	s.Start()
	source := s.createSource("valve")
	ingest := func(n int) (int, http.Header, time.Duration) {
		began := time.Now()
		a, err := s.Try("POST", "/api/live-data/ingest", batch{n}.body(source))
		require.NoError(t, err)
		return a.Status, a.Header, time.Since(began)
	}
	status, _, _ := ingest(0)
	require.Equal(t, http.StatusCreated, status)

	kafka.Stop(t)
	status, header, took := ingest(1)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotEmpty(t, header.Get("Retry-After"))
	require.Less(t, took, 7*time.Second, "a request under way is bounded by the produce timeout")
	for range 20 {
		status, header, took = ingest(1)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.NotEmpty(t, header.Get("Retry-After"))
		require.Less(t, took, 2*time.Second, "once it is known that Kafka is down, nobody waits for the produce timeout")
	}
	s.Do("GET", "/api/live-data/sources", nil, http.StatusOK, nil)

	kafka.Start(t)
	require.Eventually(t, func() bool {
		status, _, _ := ingest(1)
		return status == http.StatusCreated
	}, time.Minute, 100*time.Millisecond, "ingest goes on when Kafka is back")
	s.requireTotals(source, 2*pointsInBatch, batch{0}.sum()+batch{1}.sum())
	require.Zero(t, s.Stop())
}

// TestStoppingUnderLoadKeepsEveryAcknowledgement sends SIGTERM during requests. Points that were
// answered 201 exist after the next start, refusals are temporary errors, and the exit code is 0.
func TestStoppingUnderLoadKeepsEveryAcknowledgement(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("fan")
	acknowledged := make(chan int, 10000)
	refused := make(chan int, 10000)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for n := 0; ; n++ {
			a, err := s.Try("POST", "/api/live-data/ingest", batch{n}.body(source))
			if err != nil {
				return // the listener is closed
			}
			if a.Status != http.StatusCreated {
				refused <- a.Status
				return
			}
			acknowledged <- n
		}
	}()
	time.Sleep(2 * time.Second)
	began := time.Now()
	require.Zero(t, s.Stop())
	require.Less(t, time.Since(began), 10*time.Second)
	<-finished
	close(acknowledged)
	close(refused)
	for status := range refused {
		require.Contains(t, []int{502, 503, 504}, status)
	}
	count, sum := 0, 0.0
	for n := range acknowledged {
		count++
		sum += batch{n}.sum()
	}
	require.Positive(t, count)
	s.Start()
	s.waitConsumed(source)
	gotCount, gotSum := s.totals(source, nil)
	require.GreaterOrEqual(t, gotCount, float64(count*pointsInBatch))
	if gotCount == float64(count*pointsInBatch) {
		require.InDelta(t, sum, gotSum, 0)
	}
}

// TestASecondServerOnTheSameDirectoryIsRefused prevents two processes from writing to the same
// engines.
func TestASecondServerOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	second := newServer(t)
	second.DataDir = s.DataDir
	second.Listen, second.Metrics = s.Listen, s.Metrics // the same addresses as by default
	output, code := second.RunServe()
	require.NotZero(t, code)
	require.Contains(t, output, strconv.Itoa(s.PID()), "the message names the process that runs")
	require.False(t, bytes.Contains([]byte(output), []byte("panic")))
}
