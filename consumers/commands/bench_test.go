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
	"github.com/livegraph/livegraph/test/testenv"
)

// callers asks as many requests as b.N has of commands, from so many goroutines, each
// of which waits for its outcome before it asks again.
func callers(b *testing.B, w *world, count, commands int, request func() *graphrecord.Request) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	began := time.Now()
	b.ResetTimer()
	for range count {
		wait.Go(func() {
			for left.Add(-int64(commands)) > -int64(commands) {
				w.ask(request())
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "commands/s")
}

func BenchmarkSingleCommands(b *testing.B) {
	w := newWorld(b, testenv.NewKFake(b))
	w.consume()
	w.do(node("first"))
	callers(b, w, 256, 1, func() *graphrecord.Request { return w.request(graphrecord.Single, node("pump")) })
}

func BenchmarkUpdates(b *testing.B) {
	w := newWorld(b, testenv.NewKFake(b))
	w.consume()
	nodes := make([]uuid.UUID, 256)
	for i := range nodes {
		made := node("pump")
		w.do(made)
		nodes[i] = made.ID
	}
	var next atomic.Int64
	callers(b, w, 256, 1, func() *graphrecord.Request {
		name := uuid.NewString()
		return w.request(graphrecord.Single, graph.UpdateNode{ID: nodes[next.Add(1)%256], Name: &name})
	})
}

func BenchmarkUndo(b *testing.B) {
	w := newWorld(b, testenv.NewKFake(b))
	w.consume()
	w.do(node("pump"))
	var next atomic.Int64
	callers(b, w, 1, 1, func() *graphrecord.Request {
		if next.Add(1)%2 == 1 {
			return w.request(graphrecord.Single, graph.Undo{})
		}
		return w.request(graphrecord.Single, graph.Redo{})
	})
}

func BenchmarkBatches(b *testing.B) {
	for name, mode := range map[string]graphrecord.Mode{"atomic": graphrecord.Atomic, "separate": graphrecord.Separate} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, testenv.NewKFake(b))
			w.consume()
			w.do(node("first"))
			callers(b, w, 8, 1000, func() *graphrecord.Request {
				payloads := make([]graph.Payload, 0, 1000)
				for range 500 {
					made := node("pump")
					payloads = append(payloads, made, edge(made.ID, made.ID))
				}
				return w.request(mode, payloads...)
			})
			require.NoError(b, w.graph.Ping(context.Background()))
		})
	}
}
