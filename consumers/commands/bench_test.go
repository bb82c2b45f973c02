package commands_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// runCallers submits requests with b.N commands in total from count goroutines. Each goroutine
// waits for an outcome before it submits the next request.
func runCallers(b *testing.B, f *fixture, count, commands int, request func() *graphrecord.Request) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	began := time.Now()
	b.ResetTimer()
	for range count {
		wait.Go(func() {
			for left.Add(-int64(commands)) > -int64(commands) {
				f.submit(request())
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "commands/s")
}

func BenchmarkSingleCommands(b *testing.B) {
	f := newFixture(b, kafkatest.NewKFake(b))
	f.consume()
	f.do(node("first"))
	runCallers(b, f, 256, 1, func() *graphrecord.Request { return f.request(graphrecord.Single, node("pump")) })
}

func BenchmarkUpdates(b *testing.B) {
	f := newFixture(b, kafkatest.NewKFake(b))
	f.consume()
	nodes := make([]uuid.UUID, 256)
	for i := range nodes {
		created := node("pump")
		f.do(created)
		nodes[i] = created.ID
	}
	var next atomic.Int64
	runCallers(b, f, 256, 1, func() *graphrecord.Request {
		name := uuid.NewString()
		return f.request(graphrecord.Single, graph.UpdateNode{ID: nodes[next.Add(1)%256], Name: &name})
	})
}

func BenchmarkUndo(b *testing.B) {
	f := newFixture(b, kafkatest.NewKFake(b))
	f.consume()
	f.do(node("pump"))
	var next atomic.Int64
	runCallers(b, f, 1, 1, func() *graphrecord.Request {
		if next.Add(1)%2 == 1 {
			return f.request(graphrecord.Single, graph.Undo{})
		}
		return f.request(graphrecord.Single, graph.Redo{})
	})
}

func BenchmarkBatches(b *testing.B) {
	for name, mode := range map[string]graphrecord.Mode{"atomic": graphrecord.Atomic, "separate": graphrecord.Separate} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, kafkatest.NewKFake(b))
			f.consume()
			f.do(node("first"))
			runCallers(b, f, 8, 1000, func() *graphrecord.Request {
				payloads := make([]graph.Payload, 0, 1000)
				for range 500 {
					created := node("pump")
					payloads = append(payloads, created, edge(created.ID, created.ID))
				}
				return f.request(mode, payloads...)
			})
			require.NoError(b, f.graph.Ping(context.Background()))
		})
	}
}
