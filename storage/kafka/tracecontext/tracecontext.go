// Package tracecontext stores the trace context of records in their headers.
package tracecontext

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Names of the headers, which are set only if the trace is sampled, see https://www.w3.org/TR/trace-context/.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

// maxTraceState is the maximum number of bytes of a caller's tracestate that are added to records.
// The specification requires at least this many to be propagated.
const maxTraceState = 512

// Add adds the trace context of ctx to a record's headers if the trace is sampled. Readers cannot link to other traces.
func Add(ctx context.Context, headers []kgo.RecordHeader) []kgo.RecordHeader {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return headers
	}
	carrier := headersCarrier(headers) // a separate variable, so that the parameter does not escape to the heap
	propagation.TraceContext{}.Inject(ctx, &carrier)
	return carrier
}

// Of returns the span context that a record was produced in. It is not valid if the headers contain none or cannot be
// parsed.
func Of(r *kgo.Record) trace.SpanContext {
	if !slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == Parent }) {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), (*headersCarrier)(&r.Headers))
	return trace.SpanContextFromContext(ctx)
}

// headersCarrier are a record's headers as a propagation.TextMapCarrier.
type headersCarrier []kgo.RecordHeader

// Get implements propagation.TextMapCarrier.
func (h *headersCarrier) Get(name string) string {
	for i := range *h {
		if (*h)[i].Key == name && len((*h)[i].Value) <= maxTraceState {
			return string((*h)[i].Value)
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (h *headersCarrier) Set(name, value string) {
	if len(value) <= maxTraceState {
		*h = append(*h, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
}

// Keys implements propagation.TextMapCarrier.
func (h *headersCarrier) Keys() []string {
	names := make([]string, len(*h))
	for i := range *h {
		names[i] = (*h)[i].Key
	}
	return names
}
