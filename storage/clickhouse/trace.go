package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// WithTracing sets the provider with which statements of traced requests are recorded. nil: none
// are.
func WithTracing(provider trace.TracerProvider) Option {
	return func(db *DB) { db.tracer = tracing.New(provider, "storage/clickhouse") }
}

// start starts the span of an operation, if the context is traced. The name of the span is
// the name of the operation in metrics, never the text of the statement, which contains
// series and times. The returned context passes the trace to ClickHouse: over the native
// protocol, its system.opentelemetry_span_log then has the spans of the server under the same
// trace.
func (db *DB) start(ctx context.Context, operation string) (context.Context, trace.Span) {
	ctx, span := db.tracer.StartChild(ctx, trace.SpanKindClient, operation)
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(
		attribute.String("db.system.name", "clickhouse"),
		attribute.String("db.operation.name", operation),
	)
	return ch.Context(ctx, ch.WithSpan(span.SpanContext())), span
}
