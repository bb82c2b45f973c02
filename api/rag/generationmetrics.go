package rag

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/retrieval"
)

// Outcomes of requests to the chat model that did not fail.
const (
	generationDone       = "generated"
	generationNoAnswer   = "no_answer"   // the model found no answer in the passages
	generationNoPassages = "no_passages" // there was nothing to read, and the model was not called
)

// generationMetrics are the metrics of texts by the chat model.
type generationMetrics struct {
	requests  *prometheus.CounterVec
	duration  prometheus.Histogram
	first     prometheus.Histogram
	sentences *prometheus.CounterVec
	removed   prometheus.Counter
}

func newGenerationMetrics(factory promauto.Factory) *generationMetrics {
	m := &generationMetrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_answer_generations_total",
			Help: "Total number of answers that a chat model was to write, by outcome: generated, no_answer (not in the " +
				"passages), no_passages (nothing was found, and the model was not called), busy (--chat-concurrency), " +
				"rate_limited (429 by the server), unavailable, timeout, invalid (unusable response), refused, cancelled (by the " +
				"client), failed. All after no_passages except for cancelled and failed were answered with quotations.",
		}, []string{"outcome"}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_answer_generation_duration_seconds", Help: "Duration of generated answers in seconds, " +
				"without the search.", Buckets: generationBuckets(),
		}),
		first: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_answer_generation_first_token_seconds", Help: "Time until the chat model sent the first part " +
				"of an answer, in seconds.", Buckets: generationBuckets(),
		}),
		sentences: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_answer_generated_sentences_total",
			Help: "Total number of sentences of generated answers, by support: supported (the cited passages contain it), " +
				"unsupported.",
		}, []string{"support"}),
		removed: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_answer_removed_citations_total",
			Help: "Total number of citations that were removed from generated answers because they named no passage.",
		}),
	}
	for _, outcome := range append(failureOutcomes(), generationDone, generationNoAnswer, generationNoPassages) {
		m.requests.WithLabelValues(outcome)
	}
	for _, support := range []string{"supported", "unsupported"} {
		m.sentences.WithLabelValues(support)
	}
	return m
}

func generationBuckets() []float64 {
	return []float64{.1, .2, .5, 1, 2, 3, 5, 8, 12, 20, 30, 60, 120, 300}
}

// startGeneration starts the measurement of a text. received is receive, measured. done ends it.
func (m *Metrics) startGeneration(
	receive func(part string) error, passages int,
) (done func(g *retrieval.Generated, err error), received func(part string) error) {
	begin, begun := time.Now(), false
	received = func(part string) error {
		if !begun {
			begun = true
			m.generations.first.Observe(time.Since(begin).Seconds())
		}
		return receive(part)
	}
	done = func(g *retrieval.Generated, err error) {
		outcome := generationOutcome(g, err)
		if err == nil && passages == 0 {
			outcome = generationNoPassages
		}
		m.generations.requests.WithLabelValues(outcome).Inc()
		if outcome == generationDone {
			m.generations.duration.Observe(time.Since(begin).Seconds())
			m.generations.count(g)
		}
	}
	return done, received
}

func (m *generationMetrics) count(g *retrieval.Generated) {
	for _, s := range g.Sentences {
		if s.Supported {
			m.sentences.WithLabelValues("supported").Inc()
		} else {
			m.sentences.WithLabelValues("unsupported").Inc()
		}
	}
	m.removed.Add(float64(len(g.RemovedMarks)))
}

func generationOutcome(g *retrieval.Generated, err error) string {
	switch {
	case err != nil:
		return failureOutcome(err)
	case g.Text != "":
		return generationDone
	}
	return generationNoAnswer
}
