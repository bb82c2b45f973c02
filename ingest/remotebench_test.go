package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/promwrite"
)

// benchRemoteWrite returns a request like those of Prometheus: ten series per target, each with its
// name and eight other labels, sorted.
func benchRemoteWrite(series, samples int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []message
	for s := range series {
		m := promwrite.Labels("__name__", fmt.Sprintf("node_cpu_seconds_total_%d", s%10),
			"cluster", "eu-west-1-production", "cpu", fmt.Sprint(s%10),
			"environment", "production", "instance", fmt.Sprintf("10.1.%d.%d:9100", s/10/250, s/10%250), "job", "node-exporter",
			"mode", "idle", "namespace", "monitoring", "pod", fmt.Sprintf("node-exporter-%05d", s/10))
		for i := range samples {
			m = m.Sample(1_795_000_000_000+int64(i)*1000, rng.Float64()*100)
		}
		all = append(all, m)
	}
	return promWrite(all...)
}

// benchWrites are the sizes of the benchmarks' requests.
var benchWrites = []struct{ series, samples int }{{2000, 1}, {100, 100}, {10, 1000}}

// BenchmarkParseRemoteWrite measures parsing alone, with cached and with new label sets.
func BenchmarkParseRemoteWrite(b *testing.B) {
	for _, shape := range benchWrites {
		body := benchRemoteWrite(shape.series, shape.samples)
		known := newFakeStores().pipeline(Limits{})
		if _, err := known.Accept(b.Context(), RemoteWrite, request(body)); err != nil {
			b.Fatal(err)
		}
		for name, cache := range map[string]*block.LabelCache{"known": known.labels, "new": block.NewLabelCache(0)} {
			b.Run(fmt.Sprintf("series=%d/samples=%d/labels=%s", shape.series, shape.samples, name), func(b *testing.B) {
				req, w := request(body), newWork(cache, nil)
				measurePoints(b, body, shape.series*shape.samples, func() {
					w.begin(RemoteWrite, &req)
					if err := w.parse(1_000_000); err != nil {
						b.Fatal(err)
					}
					w.end()
				})
			})
		}
	}
}

// BenchmarkAcceptRemoteWrite measures everything except the stores: from the body to the records.
func BenchmarkAcceptRemoteWrite(b *testing.B) {
	for _, shape := range benchWrites {
		b.Run(fmt.Sprintf("series=%d/samples=%d", shape.series, shape.samples), func(b *testing.B) {
			body := benchRemoteWrite(shape.series, shape.samples)
			p := newFakeStores()
			p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
			pipeline := p.pipeline(Limits{})
			req := request(body)
			measurePoints(b, body, shape.series*shape.samples, func() {
				if _, err := pipeline.Accept(context.Background(), RemoteWrite, req); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
