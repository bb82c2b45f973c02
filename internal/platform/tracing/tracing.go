// Package tracing starts and ends spans with the API of OpenTelemetry. The package
// internal/platform/telemetry sets up their export. A component receives a
// trace.TracerProvider, or nil if the process has no tracing.
//
// The package also defines what spans may contain. Names and attributes are constants
// and values of the program itself: routes, tables, counts, kinds of errors. They do not
// contain data of tenants, or ids of tenants. The request id, which they do contain,
// leads to the log line with the other information.
package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// RequestID is the attribute for the id of the request, as in responses and log
// lines.
const RequestID = attribute.Key("livegraph.request_id")

// errorType is the OpenTelemetry attribute for the kind of an error.
const errorType = attribute.Key("error.type")

// Tracer starts spans for one component. The zero Tracer is for a process without
// tracing: it does nothing and does not allocate.
type Tracer struct{ tracer trace.Tracer }

// New creates the Tracer of a component, such as "storage/kafka". It returns the zero
// Tracer if provider is nil.
func New(provider trace.TracerProvider, component string) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{provider.Tracer("github.com/livegraph/livegraph/" + component)}
}

// Enabled reports whether tracing is enabled.
func (t Tracer) Enabled() bool { return t.tracer != nil }

// Start starts a span, as a child of the span of the context if there is one. The caller
// ends it with End.
func (t Tracer) Start(ctx context.Context, kind trace.SpanKind, name string) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, noop.Span{}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
}

// StartLinked starts a new trace with links to other spans, because work for several
// requests at once does not belong to the trace of one of them.
func (t Tracer) StartLinked(
	ctx context.Context, kind trace.SpanKind, name string, linked []trace.SpanContext,
) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, noop.Span{}
	}
	links := make([]trace.Link, len(linked))
	for i, sc := range linked {
		links[i] = trace.Link{SpanContext: sc}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithLinks(links...), trace.WithNewRoot())
}

// StartChild starts a span only as a child of a recorded span. Background work of the
// process, such as polling for revoked keys, therefore creates no traces.
func (t Tracer) StartChild(ctx context.Context, kind trace.SpanKind, name string) (context.Context, trace.Span) {
	if t.tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
}

// End ends a span, with an error status if err is not nil. It records only the kind of
// the error, because the text may contain data of a tenant, or a password.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind := kindOf(err)
		span.SetAttributes(errorType.String(kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End()
}

func kindOf(err error) string {
	var failure *fault.Error
	switch {
	case errors.As(err, &failure):
		return failure.Kind.String()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "error"
}
