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
	// countInterval is the time between two counts of the dead letters.
	countInterval = 30 * time.Second
	// deadRecordRetention is how long Postgres keeps the positions of dead-lettered records,
	// which checkpoints report. pruneBatch is the maximum number that is deleted at once.
	deadRecordRetention = 30 * 24 * time.Hour
	pruneBatch          = 10_000
)

// DeadLetterMonitor exports the number of dead letters by topic and state as a metric.
type DeadLetterMonitor struct {
	service *Service
	logger  *slog.Logger
	counts  *prometheus.GaugeVec
}

// NewDeadLetterMonitor creates a Watch; Run runs it. metrics may be nil.
func NewDeadLetterMonitor(service *Service, logger *slog.Logger, metrics prometheus.Registerer) *DeadLetterMonitor {
	w := &DeadLetterMonitor{service: service, logger: logger.With("component", "deadletters")}
	w.counts = promauto.With(metrics).NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_dead_letters",
		Help: "Number of dead letters by topic and state (open, redriven, discarded). Every process that counts them " +
			"reports the total.",
	}, []string{"topic", "state"})
	return w
}

// Run counts the dead letters every 30 seconds until ctx is done.
func (w *DeadLetterMonitor) Run(ctx context.Context) error {
	tick := time.NewTicker(countInterval)
	defer tick.Stop()
	for {
		if err := w.update(ctx); err != nil && ctx.Err() == nil {
			w.logger.Debug("dead letters cannot be counted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *DeadLetterMonitor) update(ctx context.Context) error {
	counts, err := w.service.DeadLetterCounts(ctx)
	if err != nil {
		return err
	}
	for label, states := range counts {
		topic, _ := kafka.IsDeadLetters(label)
		for _, state := range []jobs.DeadLetterState{jobs.DeadLetterOpen, jobs.DeadLetterRedriven, jobs.DeadLetterDiscarded} {
			w.counts.WithLabelValues(topic, string(state)).Set(float64(states[state]))
		}
	}
	_, err = w.service.registry.PruneDeadRecords(ctx, deadRecordRetention, pruneBatch)
	return err
}
