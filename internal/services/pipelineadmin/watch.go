package pipelineadmin

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

const (
	// countEvery is how often dead letters are counted.
	countEvery = 30 * time.Second
	// deadRecordsKept is how long it is remembered which records were put aside, for
	// checkpoints; and pruneBatch how many are forgotten at a time.
	deadRecordsKept = 30 * 24 * time.Hour
	pruneBatch      = 10_000
)

// Watch shows how many dead letters there are, by topic and state.
type Watch struct {
	desk   *Service
	logger *slog.Logger
	counts *prometheus.GaugeVec
}

// NewWatch creates a watch; Run runs it. Metrics may be nil.
func NewWatch(desk *Service, logger *slog.Logger, metrics prometheus.Registerer) *Watch {
	w := &Watch{desk: desk, logger: logger.With("component", "deadletters")}
	w.counts = promauto.With(metrics).NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_dead_letters",
		Help: "Dead letters of a topic, by state: open, redriven, discarded. Every process that counts sees all of them.",
	}, []string{"topic", "state"})
	return w
}

// Run counts until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.logger.Debug("dead letters cannot be counted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *Watch) look(ctx context.Context) error {
	counts, err := w.desk.LetterCounts(ctx)
	if err != nil {
		return err
	}
	for letters, states := range counts {
		topic, _ := kafka.IsDeadLetters(letters)
		for _, state := range []jobs.LetterState{jobs.LetterOpen, jobs.LetterRedriven, jobs.LetterDiscarded} {
			w.counts.WithLabelValues(topic, string(state)).Set(float64(states[state]))
		}
	}
	_, err = w.desk.registry.PruneDeadRecords(ctx, deadRecordsKept, pruneBatch)
	return err
}
