package pointblock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/bench/record"
)

// benchmark runs f on 10,000 points in series of so many, and reports the time
// of one point, also as CPU time.
func benchmark(b *testing.B, f func(b *testing.B, perSeries int)) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("points=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			began := record.CPU(b)
			f(b, n)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPoints, "ns/point")
			b.ReportMetric(float64((record.CPU(b)-began).Nanoseconds())/float64(b.N)/benchPoints, "cpu-ns/point")
		})
	}
}

const benchPoints = 10_000

func benchColumns(n int) (ts []int64, values []float64) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		ts, values = append(ts, 1_700_000_000_000_000+int64(i)*1_000_000), append(values, rng.Float64())
	}
	return ts, values
}

func encodeBench(b *testing.B, e *pointblock.Encoder, ref pointblock.SeriesRef, id *pointblock.Identity, ts []int64, values []float64) {
	e.Reset(workspaceA, 1)
	for i := range benchPoints / len(ts) {
		ref.ID = uint64(i)
		if err := e.AppendNumbers(ref, id, ts, values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	benchmark(b, func(b *testing.B, n int) {
		ref, id := number(sourceA, "temperature")
		ts, values := benchColumns(n)
		var e pointblock.Encoder
		for b.Loop() {
			encodeBench(b, &e, ref, id, ts, values)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	benchmark(b, func(b *testing.B, n int) {
		ref, id := number(sourceA, "temperature")
		ts, values := benchColumns(n)
		var e pointblock.Encoder
		encodeBench(b, &e, ref, id, ts, values)
		messages := e.AppendMessages(nil, 0)
		var r pointblock.Record
		for b.Loop() {
			for _, m := range messages {
				if err := pointblock.Decode(m.Value, &r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkColumns(b *testing.B) {
	benchmark(b, func(b *testing.B, n int) {
		ref, id := number(sourceA, "temperature")
		ts, values := benchColumns(n)
		var e pointblock.Encoder
		encodeBench(b, &e, ref, id, ts, values)
		records := make([]pointblock.Record, 0, 8)
		for _, m := range e.AppendMessages(nil, 0) {
			var r pointblock.Record
			require.NoError(b, pointblock.Decode(m.Value, &r))
			records = append(records, r)
		}
		for b.Loop() {
			ts, values = ts[:0], values[:0]
			for i := range records {
				for j := range records[i].Spans {
					ts = records[i].Spans[j].AppendTimestamps(ts)
					values = records[i].Spans[j].AppendValues(values)
				}
			}
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	_, id := number(sourceA, "temperature")
	id.Tags = []pointblock.Tag{{Key: "hall", Value: "3"}, {Key: "line", Value: "7"}}
	b.ReportAllocs()
	for b.Loop() {
		id.Fingerprint(&[16]byte{1})
	}
}
