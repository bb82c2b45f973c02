package livegraph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// store is a server that stores points, after it may begin, and refuses requests with more than a number of points.
type store struct {
	*server

	mu      sync.Mutex
	batches [][]int
	limit   int
	begin   chan struct{}
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{limit: math.MaxInt, begin: make(chan struct{})}
	s.server = serve(t, func(_ int, w http.ResponseWriter, r *received) {
		<-s.begin
		values := valuesOf(r)
		if len(values) > s.limit {
			fail(w, 413, "VALIDATION_ERROR")
			return
		}
		s.mu.Lock()
		s.batches = append(s.batches, values)
		s.mu.Unlock()
		accept(w, len(values))
	})
	return s
}

// openStore is newStore for a server that stores points at once.
func openStore(t *testing.T) *store {
	t.Helper()
	s := newStore(t)
	close(s.begin)
	return s
}

func (s *store) stored() (values []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batch := range s.batches {
		values = append(values, batch...)
	}
	return values
}

func valuesOf(r *received) (values []int) {
	var content struct{ Points []struct{ Value int } }
	_ = json.Unmarshal([]byte(r.body), &content)
	for _, p := range content.Points {
		values = append(values, p.Value)
	}
	return values
}

func accept(w http.ResponseWriter, n int) {
	succeed(w, fmt.Sprintf(`{"accepted":%d,"rejected":0,"errors":[],"checkpoint":"c"}`, n))
}

func point(value any) livegraph.Point {
	return livegraph.Point{Source: "s", Metric: "m", Value: value}
}

func numbers(n int) []int {
	values := make([]int, n)
	for i := range values {
		values[i] = i
	}
	return values
}

func newWriter(t *testing.T, s *server, options livegraph.WriterOptions) *livegraph.Writer {
	t.Helper()
	w, err := s.client(t).NewWriter(options)
	noError(t, err)
	return w
}

const never = time.Hour

func TestPointsAreSentInBatchesAndTheOthersAtClose(t *testing.T) {
	s := openStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{BatchSize: 3, Interval: never})
	tagged := point(0)
	tagged.Tags = map[string]string{"valve": "a"}
	noError(t, w.Write(t.Context(), tagged))
	tagged.Tags["valve"] = "b" // the writer has its own copy
	for value := range 7 {
		noError(t, w.Write(t.Context(), point(value+1)))
	}
	noError(t, w.Close(t.Context()))
	equal(t, numbers(8), s.stored())
	check(t, strings.Contains(s.all()[0].body, `"tags":{"valve":"a"}`), "%s", s.all()[0].body)
	equal(t, livegraph.WriterStats{Written: 8, Stored: 8}, w.Stats())
	last := int64(0)
	for _, r := range s.all() {
		content := r.json(t)
		equal(t, "us", content["precision"])
		points := content["points"].([]any)
		check(t, len(points) <= 3, "%d points in a request", len(points))
		for _, p := range points {
			stamp := int64(p.(map[string]any)["timestamp"].(float64))
			check(t, stamp > last, "the timestamps do not increase")
			last = stamp
		}
		equal(t, "", r.header.Get("Idempotency-Key"))
	}
	check(t, time.Since(time.UnixMicro(last)).Abs() < time.Minute, "the timestamps are not those of the calls")
	check(t, errors.Is(w.Write(t.Context(), point(1)), livegraph.ErrWriterClosed), "the writer is not closed")
	noError(t, w.Close(t.Context()))
}

func TestACompleteBatchIsSentAtOnceAndOthersAfterTheInterval(t *testing.T) {
	s := openStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{BatchSize: 2, Interval: never})
	noError(t, w.Write(t.Context(), point(0)))
	noError(t, w.Write(t.Context(), point(1)))
	eventually(t, func() bool { return len(s.stored()) == 2 }, "the batch is not sent")
	noError(t, w.Close(t.Context()))
	w = newWriter(t, s.server, livegraph.WriterOptions{Interval: 20 * time.Millisecond})
	noError(t, w.Write(t.Context(), point(2)))
	eventually(t, func() bool { return len(s.stored()) == 3 }, "the point is not sent")
	noError(t, w.Close(t.Context()))
}

func TestFlushWaitsUntilThePointsAreStored(t *testing.T) {
	s := newStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{Interval: never})
	noError(t, w.Flush(t.Context()))
	noError(t, w.Write(t.Context(), point(0)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check(t, errors.Is(w.Flush(ctx), context.DeadlineExceeded), "the point is not stored yet")
	close(s.begin)
	noError(t, w.Flush(t.Context()))
	equal(t, numbers(1), s.stored())
	noError(t, w.Close(t.Context()))
}

func TestWriteBlocksWhileTheWriterIsFull(t *testing.T) {
	s := newStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{MaxPoints: 4, BatchSize: 2, Interval: never})
	for value := range 4 {
		noError(t, w.Write(t.Context(), point(value)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check(t, errors.Is(w.Write(ctx, point(9)), context.DeadlineExceeded), "the writer is not full")
	equal(t, livegraph.WriterStats{Written: 4, Queued: 4}, w.Stats())
	blocked := make(chan error)
	go func() { blocked <- w.Write(t.Context(), point(4)) }()
	close(s.begin)
	noError(t, <-blocked)
	noError(t, w.Close(t.Context()))
	equal(t, numbers(5), s.stored())
}

func TestPointsOfConcurrentCallsAreStoredOnce(t *testing.T) {
	s := openStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{MaxPoints: 20, BatchSize: 7, Interval: time.Millisecond})
	var group sync.WaitGroup
	for g := range 10 {
		group.Go(func() {
			for i := range 50 {
				if err := w.Write(t.Context(), point(50*g+i)); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					_ = w.Flush(t.Context())
					_ = w.Stats()
				}
			}
		})
	}
	group.Wait()
	noError(t, w.Close(t.Context()))
	stored := s.stored()
	sort.Ints(stored)
	equal(t, numbers(500), stored)
}

func TestARepeatedRequestHasTheSamePoints(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			breakOff(w)
			return
		}
		accept(w, 2)
	})
	w := newWriter(t, s, livegraph.WriterOptions{})
	noError(t, w.Write(t.Context(), point(1)))
	noError(t, w.Write(t.Context(), point("text")))
	noError(t, w.Close(t.Context()))
	equal(t, s.all()[0].body, s.all()[1].body)
	equal(t, livegraph.WriterStats{Written: 2, Stored: 2}, w.Stats())
}

func TestPointsThatCouldNotBeWrittenAreReportedOnce(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { fail(w, 403, "AUTHORIZATION_ERROR") })
	var reported []*livegraph.WriteError
	w := newWriter(t, s, livegraph.WriterOptions{BatchSize: 2, OnError: func(err *livegraph.WriteError) {
		reported = append(reported, err)
	}})
	for value := range 3 {
		noError(t, w.Write(t.Context(), point(value)))
	}
	noError(t, w.Close(t.Context()))
	equal(t, 2, len(reported))
	equal(t, 2, len(reported[0].Points))
	check(t, errors.Is(reported[0], livegraph.ErrForbidden), "%v", reported[0])
	equal(t, livegraph.WriterStats{Written: 3, Failed: 3}, w.Stats())

	w = newWriter(t, s, livegraph.WriterOptions{Interval: never})
	noError(t, w.Write(t.Context(), point(0)))
	err := w.Flush(t.Context())
	var failed *livegraph.WriteError
	check(t, errors.As(err, &failed) && len(failed.Points) == 1, "%v", err)
	noError(t, w.Write(t.Context(), point(1)))
	check(t, errors.As(w.Close(t.Context()), &failed), "the failure is lost")
	noError(t, w.Close(t.Context()))
}

func TestPointsThatTheServerRejectedAreReported(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		succeed(w, `{"accepted":1,"rejected":1,"checkpoint":"c",
			"errors":[{"index":1,"field":"points[1].metric","reason":"is too long","count":1}]}`)
	})
	w := newWriter(t, s, livegraph.WriterOptions{})
	noError(t, w.Write(t.Context(), point(0)))
	noError(t, w.Write(t.Context(), point(1)))
	err := w.Close(t.Context())
	var rejected *livegraph.RejectedError
	check(t, errors.As(err, &rejected) && rejected.Rejections[0].Index == 1, "%v", err)
	equal(t, livegraph.WriterStats{Written: 2, Stored: 1, Rejected: 1}, w.Stats())
}

func TestARequestThatIsTooLargeIsHalved(t *testing.T) {
	s := openStore(t)
	s.limit = 2
	w := newWriter(t, s.server, livegraph.WriterOptions{BatchSize: 7})
	for value := range 7 {
		noError(t, w.Write(t.Context(), point(value)))
	}
	noError(t, w.Close(t.Context()))
	equal(t, numbers(7), s.stored())
}

func TestCloseReportsWhatIsLeftWhenTheContextEnds(t *testing.T) {
	s := newStore(t)
	t.Cleanup(func() { close(s.begin) })
	w := newWriter(t, s.server, livegraph.WriterOptions{BatchSize: 2, Interval: never})
	for value := range 5 {
		noError(t, w.Write(t.Context(), point(value)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := w.Close(ctx)
	check(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
	equal(t, livegraph.WriterStats{Written: 5, Failed: 5}, w.Stats())
}

func TestCloseEndsCallsThatWaitForSpace(t *testing.T) {
	s := newStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{MaxPoints: 1})
	noError(t, w.Write(t.Context(), point(0)))
	blocked := make(chan error)
	go func() { blocked <- w.Write(t.Context(), point(1)) }()
	eventually(t, func() bool { return len(s.all()) == 1 }, "the point is not sent")
	closed := make(chan error)
	go func() { closed <- w.Close(t.Context()) }()
	check(t, errors.Is(<-blocked, livegraph.ErrWriterClosed), "the call is not ended")
	close(s.begin)
	noError(t, <-closed)
	equal(t, numbers(1), s.stored())
}

func TestInvalidPointsAndOptionsAreRefused(t *testing.T) {
	s := openStore(t)
	w := newWriter(t, s.server, livegraph.WriterOptions{})
	for name, invalid := range map[string]livegraph.Point{
		"NaN": point(math.NaN()), "infinite": point(float32(math.Inf(1))), "nil": point(nil), "a list": point([]int{1}),
		"text": point("\xff"), "source": {Source: "\xff", Value: 1}, "tag": {Tags: map[string]string{"a": "\xff"}, Value: 1},
		"integer time": {Timestamp: 5, Value: 1},
	} {
		check(t, w.Write(t.Context(), invalid) != nil, "%s is accepted", name)
	}
	noError(t, w.Close(t.Context()))
	equal(t, 0, len(s.all()))
	for _, options := range []livegraph.WriterOptions{{BatchSize: -1}, {MaxPoints: 1, BatchSize: 2}, {Interval: -1}} {
		_, err := s.client(t).NewWriter(options)
		check(t, err != nil, "%+v is accepted", options)
	}
}
