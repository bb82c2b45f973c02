package embeddings

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// metrics are the metrics of the consumer. Those of the index have the same values in every
// process, because they describe the whole installation.
type metrics struct {
	nodes         *prometheus.CounterVec
	vectors       prometheus.Counter
	writeTime     prometheus.Histogram
	texts         prometheus.Counter
	embedTime     prometheus.Histogram
	embedFailures prometheus.Counter
	refused       prometheus.Counter
	failures      prometheus.Counter
	rewritten     prometheus.Counter
	strayVectors  prometheus.Counter

	indexed, pending                    prometheus.Gauge
	lagEvents, lagSeconds               prometheus.Gauge
	rebuilding, rebuilt, rebuildPending prometheus.Gauge
}

// Values of the label change.
const (
	nodeWritten = "written"
	nodeRemoved = "removed"
)

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "livegraph_embeddings_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: "livegraph_search_index_" + name, Help: help})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_embeddings_" + name, Help: help,
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		})
	}
	m := &metrics{
		nodes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_embeddings_nodes_total",
			Help: "Total number of nodes whose vectors changed, by change (written, removed).",
		}, []string{"change"}),
		vectors: counter("vectors_total", "Total number of vectors written to Milvus."),
		writeTime: histogram(
			"write_seconds",
			"Duration of writing the vectors of a set of nodes to Milvus and recording it in Postgres, in seconds.",
		),
		texts:         counter("texts_total", "Total number of texts embedded for the index."),
		embedTime:     histogram("embed_seconds", "Duration of calls to the embedder for the index in seconds."),
		embedFailures: counter("embed_failures_total", "Total number of failed calls to the embedder. They are retried."),
		refused: counter(
			"refused_total",
			"Total number of texts that the embedder rejected because of their content. They have no vector.",
		),
		failures: counter(
			"failures_total", "Total number of failed attempts to write or maintain the index. They are retried.",
		),
		rewritten: counter(
			"lost_nodes_total", "Total number of nodes that were written again because Milvus had lost their vectors.",
		),
		strayVectors: counter(
			"stray_vectors_total",
			"Total number of vectors that were removed because Milvus still contained them after their deletion.",
		),
		indexed:   gauge("nodes", "Number of nodes in the live search index."),
		pending:   gauge("pending_nodes", "Number of nodes that are not yet in the live search index."),
		lagEvents: gauge("lag_events", "Number of graph changes that are not yet in the live search index."),
		lagSeconds: gauge(
			"lag_seconds",
			"Age of the oldest graph change that is not yet in the live search index, in seconds, 0 if there is none.",
		),
		rebuilding: gauge("rebuilding", "1 if a new search index is being built, otherwise 0."),
		rebuilt:    gauge("rebuild_nodes", "Number of nodes in the search index that is being built."),
		rebuildPending: gauge(
			"rebuild_pending_nodes",
			"Number of nodes that are not yet in the search index that is being built.",
		),
	}
	m.nodes.WithLabelValues(nodeWritten)
	m.nodes.WithLabelValues(nodeRemoved)
	return m
}

func (m *metrics) recordWrite(done textindex.IndexedBatch, vectors int, took time.Duration) {
	m.nodes.WithLabelValues(nodeWritten).Add(float64(len(done.Nodes)))
	m.nodes.WithLabelValues(nodeRemoved).Add(float64(len(done.Removed)))
	m.vectors.Add(float64(vectors))
	m.writeTime.Observe(took.Seconds())
}

func (m *metrics) recordEmbedding(texts int, took time.Duration) {
	m.texts.Add(float64(texts))
	m.embedTime.Observe(took.Seconds())
}

// recordRepair records the repair of a workspace.
func (m *metrics) recordRepair(lost, surplus int) {
	m.rewritten.Add(float64(lost))
	m.strayVectors.Add(float64(surplus))
}

// setState sets the gauges of the index.
func (m *metrics) setState(live textindex.IndexTotals, building bool, build textindex.BuildProgress) {
	m.indexed.Set(float64(live.Nodes))
	m.pending.Set(float64(live.Pending))
	m.lagEvents.Set(float64(live.Events))
	m.lagSeconds.Set(live.Seconds)
	if !building {
		build = textindex.BuildProgress{}
	}
	m.rebuilding.Set(map[bool]float64{true: 1}[building])
	m.rebuilt.Set(float64(build.Done))
	m.rebuildPending.Set(float64(build.Total - build.Done))
}
