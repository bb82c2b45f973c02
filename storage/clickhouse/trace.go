package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Traced records the statements that are run for traced work; nil: none.
func Traced(provider trace.TracerProvider) Option {
	return func(db *DB) { db.tracer = tracing.New(provider, "storage/clickhouse") }
}

// start begins the span of an operation, if it is done for traced work. It is
// named as metrics name it, never by the statement's text, which names series and
// holds times. The context it gives tells ClickHouse as well: over the native
// protocol its system.opentelemetry_span_log then has what it did, under the same
// trace.
func (db *DB) start(ctx context.Context, operation string) (context.Context, trace.Span) {
	ctx, span := db.tracer.StartWithin(ctx, trace.SpanKindClient, operation)
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(
		attribute.String("db.system.name", "clickhouse"),
		attribute.String("db.operation.name", operation),
	)
	return ch.Context(ctx, ch.WithSpan(span.SpanContext())), span
}
