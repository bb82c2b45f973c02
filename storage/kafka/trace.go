package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// maxTraceState is the maximum number of bytes of a caller's tracestate that are added to records.
// The specification requires at least this many to be propagated.
const maxTraceState = 512

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

// withTrace adds the trace context of ctx to a record's headers if the trace is sampled. Readers
// cannot link to other traces.
func withTrace(ctx context.Context, headers []kgo.RecordHeader) []kgo.RecordHeader {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return headers
	}
	carrier := traceHeaders(headers) // a separate variable, so that the parameter does not escape to the heap
	propagation.TraceContext{}.Inject(ctx, &carrier)
	return carrier
}

// TraceOf returns the span context that a record was produced in. It is not valid if the headers
// contain none or cannot be parsed.
func TraceOf(r *kgo.Record) trace.SpanContext {
	if Header(r, HeaderTrace) == nil {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), (*traceHeaders)(&r.Headers))
	return trace.SpanContextFromContext(ctx)
}

// traceHeaders are a record's headers as a propagation.TextMapCarrier.
type traceHeaders []kgo.RecordHeader

// Get implements propagation.TextMapCarrier.
func (h *traceHeaders) Get(name string) string {
	for i := range *h {
		if (*h)[i].Key == name && len((*h)[i].Value) <= maxTraceState {
			return string((*h)[i].Value)
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (h *traceHeaders) Set(name, value string) {
	if len(value) <= maxTraceState {
		*h = append(*h, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
}

// Keys implements propagation.TextMapCarrier.
func (h *traceHeaders) Keys() []string {
	names := make([]string, len(*h))
	for i := range *h {
		names[i] = (*h)[i].Key
	}
	return names
}
