package milvus

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// WithTracing makes the DB record spans of operations within a trace. With a nil provider there are none.
func WithTracing(provider trace.TracerProvider) Option {
	return func(db *DB) { db.tracer = tracing.New(provider, "storage/milvus") }
}

// start starts the span of an operation if ctx belongs to a trace.
func (db *DB) start(ctx context.Context, operation string) (context.Context, trace.Span) {
	ctx, span := db.tracer.StartChild(ctx, trace.SpanKindClient, operation)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("db.system.name", "milvus"),
			attribute.String("db.operation.name", operation),
		)
	}
	return ctx, span
}

func end(span trace.Span, err error) { tracing.End(span, err) }
