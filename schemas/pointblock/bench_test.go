package pointblock_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/bench/record"
)

// benchmark runs f for 10,000 points with several numbers of points per series, with numbers of two
// decimals and random numbers. It reports the time, CPU time and bytes per point.
func benchmark(b *testing.B, f func(b *testing.B, ts []int64, values []float64) (bytes int)) {
	for _, n := range []int{1, 10, 100, 1000} {
		for _, kind := range []string{"decimals", "random"} {
			b.Run(fmt.Sprintf("points=%d/%s", n, kind), func(b *testing.B) {
				b.ReportAllocs()
				ts, values := benchColumns(n, kind == "decimals")
				began := record.CPU(b)
				bytes := f(b, ts, values)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPoints, "ns/point")
				b.ReportMetric(float64((record.CPU(b)-began).Nanoseconds())/float64(b.N)/benchPoints, "cpu-ns/point")
				b.ReportMetric(float64(bytes)/benchPoints, "bytes/point")
			})
		}
	}
}

const benchPoints = 10_000

func benchColumns(n int, decimals bool) (ts []int64, values []float64) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		value := rng.Float64()
		if decimals {
			value = float64(2000+100*math.Sin(float64(i)/50)+10*rng.Float64()) / 100
			value = math.Round(value*100) / 100
		}
		ts, values = append(ts, 1_700_000_000_000_000+int64(i)*1_000_000), append(values, value)
	}
	return ts, values
}

func encodeBench(
	b *testing.B, e *pointblock.Encoder, ref pointblock.SeriesRef, id *pointblock.Identity, ts []int64, values []float64,
) {
	e.Reset(workspaceA, 1)
	for i := range benchPoints / len(ts) {
		ref.ID = uint64(i)
		if err := e.AppendNumbers(ref, id, ts, values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	benchmark(b, func(b *testing.B, ts []int64, values []float64) (bytes int) {
		ref, id := numberSeries(sourceA, "temperature")
		var e pointblock.Encoder
		for b.Loop() {
			encodeBench(b, &e, ref, id, ts, values)
		}
		return e.Len()
	})
}

func BenchmarkDecode(b *testing.B) {
	benchmark(b, func(b *testing.B, ts []int64, values []float64) (bytes int) {
		ref, id := numberSeries(sourceA, "temperature")
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
		return e.Len()
	})
}

func BenchmarkColumns(b *testing.B) {
	benchmark(b, func(b *testing.B, ts []int64, values []float64) (bytes int) {
		ref, id := numberSeries(sourceA, "temperature")
		var e pointblock.Encoder
		encodeBench(b, &e, ref, id, ts, values)
		records := make([]pointblock.Record, 0, 8)
		for _, m := range e.AppendMessages(nil, 0) {
			var r pointblock.Record
			require.NoError(b, pointblock.Decode(m.Value, &r))
			records = append(records, r)
		}
		ts, values = nil, nil
		for b.Loop() {
			ts, values = ts[:0], values[:0]
			for i := range records {
				for j := range records[i].Spans {
					ts = records[i].Spans[j].AppendTimestamps(ts)
					values = records[i].Spans[j].AppendValues(values)
				}
			}
		}
		return e.Len()
	})
}

func BenchmarkFingerprint(b *testing.B) {
	_, id := numberSeries(sourceA, "temperature")
	id.Tags = []pointblock.Tag{{Key: "hall", Value: "3"}, {Key: "line", Value: "7"}}
	b.ReportAllocs()
	for b.Loop() {
		id.Fingerprint(&[16]byte{1})
	}
}
