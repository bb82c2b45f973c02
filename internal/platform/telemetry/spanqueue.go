package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// SpanStats counts the recorded spans of a process by outcome.
type SpanStats struct {
	Sent    int64 // accepted by the collector
	Failed  int64 // not accepted by the collector in time
	Dropped int64 // the queue was full
	Pending int64 // gauge: queued or being sent
}

// spanQueue wraps the batch processor of OpenTelemetry and limits its queue: the
// processor drops spans when its queue is full, too, but does not count them.
type spanQueue struct {
	sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	limit    int64
	logger   *slog.Logger

	pending, sent, failed, dropped atomic.Int64
	loggedAt                       atomic.Int64 // when a failure was last logged, Unix nanoseconds; 0: not failing
}

func newSpanQueue(exporter sdktrace.SpanExporter, limit int, logger *slog.Logger) *spanQueue {
	q := &spanQueue{exporter: exporter, limit: int64(limit), logger: logger.With("component", "tracing")}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(countingExporter{q},
		sdktrace.WithMaxQueueSize(limit), sdktrace.WithMaxExportBatchSize(min(exportBatch, limit)),
		sdktrace.WithBatchTimeout(exportDelay), sdktrace.WithExportTimeout(exportTimeout))
	return q
}

// OnEnd queues a span, or drops it if the queue is full. It never blocks.
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

// countingExporter is the exporter that the batch processor uses. It counts spans and logs
// failures, at most every 30 seconds, instead of returning them.
type countingExporter struct{ *spanQueue }

// ExportSpans implements sdktrace.SpanExporter.
func (c countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := int64(len(spans))
	err := c.exporter.ExportSpans(ctx, spans)
	c.pending.Add(-n)
	if err == nil {
		c.sent.Add(n)
		if c.loggedAt.Swap(0) != 0 {
			c.logger.Info("traces are sent again", "failed", c.failed.Load(), "dropped", c.dropped.Load())
		}
		return nil
	}
	c.failed.Add(n)
	now := time.Now()
	if logged := c.loggedAt.Load(); logged == 0 || now.Sub(time.Unix(0, logged)) >= failureLogInterval {
		c.loggedAt.Store(now.UnixNano())
		c.logger.Warn("traces cannot be sent", "failed", c.failed.Load(), "dropped", c.dropped.Load(), "error", err)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (c countingExporter) Shutdown(ctx context.Context) error { return c.exporter.Shutdown(ctx) }
