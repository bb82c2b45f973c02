package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/bench/record"
)

// benchSeries returns a request with the given numbers of series and of points per series, as
// columns: ten metrics and two tags, one point per second, values with four decimals.
func benchSeries(series, points int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"series":[`)
	for s := range series {
		if s > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(
			&b, `{%s,"metric":"metric_%d","tags":{"host":"host-%d","rack":"r%d"},"timestamps":[`, someSource, s%10, s/10, s%7,
		)
		for i := range points {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, 1_795_000_000_000+int64(i)*1000)
		}
		b.WriteString(`],"values":[`)
		for i := range points {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(rng.Float64()*100, 'f', 4, 64))
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

// benchRows returns the same as rows: all series at the first time, then all at the second, and so
// on.
func benchRows(series, points int, rfc3339 bool) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"points":[`)
	for i := range points {
		for s := range series {
			if i+s > 0 {
				b.WriteByte(',')
			}
			at := fmt.Sprint(1_795_000_000_000 + int64(i)*1000)
			if rfc3339 {
				at = fmt.Sprintf(`"2026-11-20T%02d:%02d:%02d.123456Z"`, i/3600%24, i/60%60, i%60)
			}
			fmt.Fprintf(&b, `{%s,"metric":"metric_%d","timestamp":%s,"value":%s,"tags":{"host":"host-%d","rack":"r%d"}}`,
				someSource, s%10, at, strconv.FormatFloat(rng.Float64()*100, 'f', 4, 64), s/10, s%7)
		}
	}
	b.WriteString("]}")
	return b.String()
}

// jsonShapes are the JSON requests of the benchmarks.
var jsonShapes = []benchShape{
	{"shape=series/points=10", func() string { return benchSeries(1000, 10) }, 10_000},
	{"shape=series/points=100", func() string { return benchSeries(100, 100) }, 10_000},
	{"shape=series/points=1000", func() string { return benchSeries(10, 1000) }, 10_000},
	{"shape=series/series=100000", func() string { return benchSeries(100_000, 1) }, 100_000},
	{"shape=rows/series=1", func() string { return benchRows(1, 10_000, false) }, 10_000},
	{"shape=rows/series=100", func() string { return benchRows(100, 100, false) }, 10_000},
	{"shape=rows/series=100/time=rfc3339", func() string { return benchRows(100, 100, true) }, 10_000},
	{"shape=rows/series=10000", func() string { return benchRows(10_000, 1, false) }, 10_000},
}

// measurePoints runs f repeatedly and reports the time per point, also as CPU time, which does not
// depend on the load of the machine.
func measurePoints(b *testing.B, body string, points int, f func()) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	f() // exclude the work for new series
	start := record.CPU(b)
	for b.Loop() {
		f()
	}
	all := float64(b.N) * float64(points)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/point")
	b.ReportMetric(float64((record.CPU(b)-start).Nanoseconds())/all, "cpu-ns/point")
}

// benchShape is a request that a benchmark sends.
type benchShape struct {
	name   string
	body   func() string
	points int
}

// parseShapes measures parsing alone.
func parseShapes(b *testing.B, format Format, shapes []benchShape) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			body := shape.body()
			req, w := request(body), newWork(block.NewLabelCache(0), nil)
			measurePoints(b, body, shape.points, func() {
				w.begin(format, &req)
				if err := w.parse(1_000_000); err != nil {
					b.Fatal(err)
				}
				w.end()
			})
		})
	}
}

// acceptShapes measures everything except the stores: from the body to the records.
func acceptShapes(b *testing.B, format Format, shapes []benchShape) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			body := shape.body()
			p := newFakeStores()
			p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
			pipeline := p.pipeline(Limits{})
			req := request(body)
			measurePoints(b, body, shape.points, func() {
				if _, err := pipeline.Accept(context.Background(), format, req); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkParseJSON(b *testing.B)  { parseShapes(b, JSON, jsonShapes) }
func BenchmarkAcceptJSON(b *testing.B) { acceptShapes(b, JSON, jsonShapes) }

// BenchmarkManySources sends rows of different sources.
func BenchmarkManySources(b *testing.B) {
	p := newFakeStores()
	var rows []string
	for i := range 10_000 {
		id := uuid.New()
		p.sources[id] = id.String()
		rows = append(rows, fmt.Sprintf(`{"sourceId":"%s","metric":"m","timestamp":%d,"value":1.5}`, id, i))
	}
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
	pipeline, body := p.pipeline(Limits{}), `{"points":[`+strings.Join(rows, ",")+`]}`
	req := request(body)
	measurePoints(b, body, len(rows), func() {
		if _, err := pipeline.Accept(context.Background(), JSON, req); err != nil {
			b.Fatal(err)
		}
	})
}
