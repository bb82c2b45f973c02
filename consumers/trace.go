package consumers

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka"
)

// maxLinks is how many traces a batch points to at most. A batch can hold
// thousands of requests, and one of them is enough to find it.
const maxLinks = 64

// traceBatch begins the span of a batch, its own trace with links to those of
// its records. A batch without a traced record has none.
func (s *lane) traceBatch(b *batch) context.Context {
	if !s.tracer.On() {
		return s.hard
	}
	links := linksOf(b)
	if len(links) == 0 {
		return s.hard
	}
	ctx, span := s.tracer.StartLinked(s.hard, trace.SpanKindConsumer, "process "+s.cfg.Topic, links)
	span.SetAttributes(
		attribute.String("messaging.system", "kafka"),
		attribute.String("messaging.destination.name", s.cfg.Topic),
		attribute.String("messaging.consumer.group.name", s.cfg.Group),
		attribute.String("messaging.operation.name", "process"),
		attribute.Int("messaging.batch.message_count", len(b.records)),
		attribute.Int("livegraph.rows", b.Rows()),
	)
	b.span = span
	return ctx
}

// linksOf returns the sampled spans that a batch's records were produced in, each
// once.
func linksOf(b *batch) []trace.SpanContext {
	var links []trace.SpanContext
	seen := map[trace.SpanID]bool{}
	for _, r := range b.records {
		sc := kafka.TraceOf(r)
		if !sc.IsSampled() || seen[sc.SpanID()] {
			continue
		}
		seen[sc.SpanID()] = true
		if links = append(links, sc); len(links) == maxLinks {
			break
		}
	}
	return links
}

// stage begins a part of a batch's work.
func (s *lane) stage(ctx context.Context, b *batch, name string) (context.Context, trace.Span) {
	if b.span == nil {
		return ctx, noop.Span{}
	}
	return s.tracer.StartWithin(trace.ContextWithSpan(ctx, b.span), trace.SpanKindInternal, name)
}

// end ends the batch's span.
func (b *batch) end(err error) {
	if b.span != nil {
		tracing.End(b.span, err)
	}
}
