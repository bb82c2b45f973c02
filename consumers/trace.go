package consumers

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka/tracecontext"
)

// maxLinks is the maximum number of links of a batch. A batch can contain thousands of requests,
// and the link of one is enough to find it.
const maxLinks = 64

// traceBatch starts the span of a batch, in a new trace with links to the spans of its records.
// A batch without a traced record has no span.
func (s *pipeline) traceBatch(b *batch) context.Context {
	if !s.tracer.Enabled() {
		return s.storeCtx
	}
	links := linksOf(b)
	if len(links) == 0 {
		return s.storeCtx
	}
	ctx, span := s.tracer.StartLinked(s.storeCtx, trace.SpanKindConsumer, "process "+s.cfg.Topic, links)
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

// linksOf returns the distinct sampled spans in which the records of a batch were produced.
func linksOf(b *batch) []trace.SpanContext {
	var links []trace.SpanContext
	seen := map[trace.SpanID]bool{}
	for _, r := range b.records {
		sc := tracecontext.Of(r)
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

// stage starts a child span of the batch's span.
func (s *pipeline) stage(ctx context.Context, b *batch, name string) (context.Context, trace.Span) {
	if b.span == nil {
		return ctx, noop.Span{}
	}
	return s.tracer.StartChild(trace.ContextWithSpan(ctx, b.span), trace.SpanKindInternal, name)
}

// end ends the batch's span.
func (b *batch) end(err error) {
	if b.span != nil {
		tracing.End(b.span, err)
	}
}
