package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// operation is a statement as traces name it: never by its text, which names
// series and holds times.
type operation struct {
	verb  string // SELECT, INSERT, DELETE
	table string
}

// start begins the span of a statement, if it is run for traced work, and gives
// the option by which ClickHouse itself knows of it: over the native protocol its
// system.opentelemetry_span_log then has what it did, under the same trace.
func (db *DB) start(ctx context.Context, o operation) (context.Context, trace.Span, []ch.QueryOption) {
	ctx, span := db.tracer.StartWithin(ctx, trace.SpanKindClient, o.verb+" "+o.table)
	if !span.IsRecording() {
		return ctx, span, nil
	}
	span.SetAttributes(
		attribute.String("db.system.name", "clickhouse"),
		attribute.String("db.operation.name", o.verb),
		attribute.String("db.collection.name", o.table),
	)
	return ctx, span, []ch.QueryOption{ch.WithSpan(span.SpanContext())}
}

// rowsOf notes how many rows a statement was about.
func rowsOf(span trace.Span, name string, rows int) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int(name, rows))
	}
}

const (
	rowsRead    = "db.response.returned_rows"
	rowsWritten = "livegraph.rows"
)
