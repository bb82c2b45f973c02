package rag

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// Values of the metric label kind.
const (
	kindSearch = "search"
	kindHybrid = "hybrid"
	kindAnswer = "answer"
)

// Metrics are the metrics of searches. No label identifies a workspace.
type Metrics struct {
	requests     *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	degraded     *prometheus.CounterVec
	lanes        *prometheus.HistogramVec
	laneFailures *prometheus.CounterVec
	textCut      *prometheus.CounterVec
	reranks      *prometheus.CounterVec
	generations  *generationMetrics
}

// NewMetrics creates the metrics and registers them, unless registerer is nil.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	m := &Metrics{
		generations: newGenerationMetrics(factory), reranks: newRerankMetric(factory),
		lanes: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "livegraph_search_lane_duration_seconds",
			Help: "Duration of a lane's part of a search in seconds, by lane: text, vector (including the embedder), graph " +
				"(traversal), sentences (the embedder, for an answer), rerank (the reranker).",
			Buckets: searchBuckets(),
		}, []string{"lane"}),
		laneFailures: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_search_lane_failures_total",
			Help: "Total number of searches that a lane could not answer, by lane.",
		}, []string{"lane"}),
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_search_requests_total",
			Help: "Total number of searches by kind (search, hybrid, answer) and outcome: answered, degraded (answered " +
				"without a lane), refused (invalid input), unavailable, timeout, failed.",
		}, []string{"kind", "outcome"}),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "livegraph_search_duration_seconds", Help: "Duration of answered searches in seconds, by kind.",
			Buckets: searchBuckets(),
		}, []string{"kind"}),
		degraded: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_search_degraded_total",
			Help: "Total number of searches answered without a part of the result, by the missing part: text, vector, graph " +
				"(lanes), rerank (the order by the reranker), liveData, generation (the text by the chat model).",
		}, []string{"missing"}),
		textCut: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_search_text_cut_total",
			Help: "Total number of searches with a word that occurs in more nodes than are read, by the nodes read: heaviest " +
				"(those with the highest weight for the word, and the newest), newest (only the newest, because the list of the " +
				"heaviest is not built yet).",
		}, []string{"read"}),
	}
	for _, read := range []retrieval.TextTruncation{retrieval.TextTopWeighted, retrieval.TextNewest} {
		m.textCut.WithLabelValues(string(read))
	}
	for _, kind := range []string{kindSearch, kindHybrid, kindAnswer} {
		m.duration.WithLabelValues(kind)
		for _, outcome := range []string{"answered", "degraded", "refused", "unavailable", "timeout", "failed"} {
			m.requests.WithLabelValues(kind, outcome)
		}
	}
	for _, lane := range retrieval.Lanes() {
		m.lanes.WithLabelValues(lane)
		m.laneFailures.WithLabelValues(lane)
	}
	for _, missing := range []string{
		retrieval.LaneText, retrieval.LaneVector, retrieval.LaneGraph, retrieval.DegradedRerank, degradedLiveData,
		degradedGeneration,
	} {
		m.degraded.WithLabelValues(missing)
	}
	return m
}

// searchBuckets returns buckets that are finest around the targets of p50 and p95.
func searchBuckets() []float64 {
	return []float64{.002, .005, .01, .02, .03, .045, .065, .1, .2, .5, 1, 2, 5, 10}
}

// ObserveLane records a query of a lane. The engine calls it.
func (m *Metrics) ObserveLane(lane string, duration time.Duration, err error) {
	m.lanes.WithLabelValues(lane).Observe(duration.Seconds())
	if err != nil {
		m.laneFailures.WithLabelValues(lane).Inc()
	}
}

// start starts the measurement of a search. done ends it and records the result.
func (m *Metrics) start(kind string) (done func(degraded []string, err error)) {
	begin := time.Now()
	return func(degraded []string, err error) {
		m.requests.WithLabelValues(kind, outcome(degraded, err)).Inc()
		if err != nil {
			return
		}
		m.duration.WithLabelValues(kind).Observe(time.Since(begin).Seconds())
		for _, missing := range degraded {
			m.degraded.WithLabelValues(missing).Inc()
		}
	}
}

func outcome(degraded []string, err error) string {
	if err == nil && len(degraded) == 0 {
		return "answered"
	} else if err == nil {
		return "degraded"
	}
	switch reply.Public(err).Kind {
	case fault.Unavailable, fault.BadGateway:
		return "unavailable"
	case fault.Timeout:
		return "timeout"
	case fault.Internal:
		return "failed"
	}
	return "refused"
}
