package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// SpanStats counts the recorded spans of a process by what became of them.
type SpanStats struct {
	Sent    int64 // the collector has them
	Failed  int64 // the collector did not take them in time
	Dropped int64 // the queue was full
	Pending int64 // gauge: waiting, or under way
}

// spanQueue is OpenTelemetry's batch processor behind a gate: the processor drops
// spans when its queue is full as well, but does not report how many.
type spanQueue struct {
	sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	limit    int64
	logger   *slog.Logger

	pending, sent, failed, dropped atomic.Int64
	saidAt                         atomic.Int64 // when a failure was last said, Unix nanoseconds; 0: none lasts
}

func newSpanQueue(exporter sdktrace.SpanExporter, limit int, logger *slog.Logger) *spanQueue {
	q := &spanQueue{exporter: exporter, limit: int64(limit), logger: logger.With("component", "tracing")}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(counted{q},
		sdktrace.WithMaxQueueSize(limit), sdktrace.WithMaxExportBatchSize(min(exportBatch, limit)),
		sdktrace.WithBatchTimeout(exportDelay), sdktrace.WithExportTimeout(exportTimeout))
	return q
}

// OnEnd takes a span, or drops it: it never waits.
func (q *spanQueue) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	if q.pending.Add(1) > q.limit {
		q.pending.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(span)
}

func (q *spanQueue) stats() SpanStats {
	return SpanStats{Sent: q.sent.Load(), Failed: q.failed.Load(), Dropped: q.dropped.Load(), Pending: q.pending.Load()}
}

// counted is the queue's exporter as the batch processor sees it. It keeps
// failures to itself: the log says them, not at every batch.
type counted struct{ *spanQueue }

// ExportSpans implements sdktrace.SpanExporter.
func (c counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := int64(len(spans))
	err := c.exporter.ExportSpans(ctx, spans)
	c.pending.Add(-n)
	if err == nil {
		c.sent.Add(n)
		if c.saidAt.Swap(0) != 0 {
			c.logger.Info("traces are sent again", "failed", c.failed.Load(), "dropped", c.dropped.Load())
		}
		return nil
	}
	c.failed.Add(n)
	now := time.Now()
	if said := c.saidAt.Load(); said == 0 || now.Sub(time.Unix(0, said)) >= exportSilence {
		c.saidAt.Store(now.UnixNano())
		c.logger.Warn("traces cannot be sent", "failed", c.failed.Load(), "dropped", c.dropped.Load(), "error", err)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (c counted) Shutdown(ctx context.Context) error { return c.exporter.Shutdown(ctx) }
