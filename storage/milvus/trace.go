package milvus

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Traced records the operations that are run for traced work; nil: none.
func Traced(provider trace.TracerProvider) Option {
	return func(db *DB) { db.tracer = tracing.New(provider, "storage/milvus") }
}

// start begins the span of an operation, if it is done for traced work.
func (db *DB) start(ctx context.Context, operation string) (context.Context, trace.Span) {
	ctx, span := db.tracer.StartWithin(ctx, trace.SpanKindClient, operation)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("db.system.name", "milvus"),
			attribute.String("db.operation.name", operation),
		)
	}
	return ctx, span
}

func end(span trace.Span, err error) { tracing.End(span, err) }
