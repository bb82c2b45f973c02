package kafka

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// startSend starts the span of a produce.
func (c *Client) startSend(ctx context.Context, t *topic, records int) (context.Context, trace.Span) {
	if !c.tracer.Enabled() {
		return ctx, noop.Span{}
	}
	ctx, span := c.tracer.StartChild(ctx, trace.SpanKindProducer, "send "+t.name)
	span.SetAttributes(
		attribute.String("messaging.system", "kafka"),
		attribute.String("messaging.destination.name", t.name),
		attribute.String("messaging.operation.name", "send"),
		attribute.Int("messaging.batch.message_count", records),
	)
	return ctx, span
}
