// Package tracing is how the parts of the service begin and end the spans of a
// trace, by OpenTelemetry's API. Where spans go is set up by internal/platform/telemetry;
// a part is given a trace.TracerProvider, or nil when the process is not traced.
//
// What a span may say is decided here as well: names and attributes are made of
// what the program knows by itself (routes, tables, counts, kinds of errors).
// Nothing that a tenant chose is in them, nor ids of tenants: the request id,
// which is, leads to the log line that has the rest.
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

// RequestID is the attribute that has the id of the request, as answers and log
// lines have it.
const RequestID = attribute.Key("livegraph.request_id")

// errorType is OpenTelemetry's attribute for the kind of a failure.
const errorType = attribute.Key("error.type")

// Tracer begins spans for one part of the service. The zero Tracer is that of a
// process without tracing: it does nothing, and without an allocation.
type Tracer struct{ tracer trace.Tracer }

// New creates the tracer of a part, such as "storage/kafka". A nil provider gives
// the zero Tracer.
func New(provider trace.TracerProvider, part string) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{provider.Tracer("github.com/livegraph/livegraph/" + part)}
}

// On reports whether the process is traced at all.
func (t Tracer) On() bool { return t.tracer != nil }

// Start begins a span, under the one of the context if there is one. The caller
// ends it by End.
func (t Tracer) Start(ctx context.Context, kind trace.SpanKind, name string) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, noop.Span{}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
}

// StartLinked begins its own trace that points to others: work for several
// requests at once belongs to the trace of none of them.
func (t Tracer) StartLinked(
	ctx context.Context, kind trace.SpanKind, name string, to []trace.SpanContext,
) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, noop.Span{}
	}
	links := make([]trace.Link, len(to))
	for i, sc := range to {
		links[i] = trace.Link{SpanContext: sc}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithLinks(links...), trace.WithNewRoot())
}

// StartWithin begins a span only under one that is recorded: what the process
// does by itself, such as its looks for revoked keys, makes no trace.
func (t Tracer) StartWithin(ctx context.Context, kind trace.SpanKind, name string) (context.Context, trace.Span) {
	if t.tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
}

// End ends a span, as failed if err is not nil. Of the error it tells the kind:
// its text may hold what a tenant wrote, or a password.
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
