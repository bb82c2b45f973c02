package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// WithTracing records the statements of traced work as spans. With a nil provider it records none.
func WithTracing(provider trace.TracerProvider) Option {
	return func(o *openOptions) { o.tracer = tracing.New(provider, "storage/postgres") }
}

// queryTracer records statements as spans. It implements pgx.QueryTracer, pgx.BatchTracer
// and pgx.CopyFromTracer. A span has the verb and the table of its statement, never its
// text or its arguments.
type queryTracer struct{ tracer tracing.Tracer }

func (t queryTracer) start(ctx context.Context, name string, attributes ...attribute.KeyValue) context.Context {
	ctx, span := t.tracer.StartChild(ctx, trace.SpanKindClient, name)
	if span.IsRecording() {
		span.SetAttributes(append(attributes, attribute.String("db.system.name", "postgresql"))...)
		return context.WithValue(ctx, spanKey{}, span)
	}
	return ctx
}

// spanKey is the context key of a statement's own span. If the statement is not recorded,
// the context's current span is that of the enclosing work.
type spanKey struct{}

func endSpan(ctx context.Context, err error) {
	if span, ok := ctx.Value(spanKey{}).(trace.Span); ok {
		tracing.End(span, Classify(err))
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (t queryTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	verb, table := summary(q.SQL)
	name := verb
	attributes := []attribute.KeyValue{attribute.String("db.operation.name", verb)}
	if table != "" {
		name += " " + table
		attributes = append(attributes, attribute.String("db.collection.name", table))
	}
	return t.start(ctx, name, attributes...)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t queryTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	endSpan(ctx, q.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (t queryTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	name := "BATCH"
	if b.Batch.Len() > 0 {
		verb, table := summary(b.Batch.QueuedQueries[0].SQL)
		name += " " + strings.TrimSpace(verb+" "+table)
	}
	return t.start(ctx, name, attribute.Int("db.operation.batch.size", b.Batch.Len()))
}

// TraceBatchQuery implements pgx.BatchTracer. A batch is one span.
func (t queryTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t queryTracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchEndData) {
	endSpan(ctx, b.Err)
}

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (t queryTracer) TraceCopyFromStart(
	ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromStartData,
) context.Context {
	table := strings.Join(c.TableName, ".")
	return t.start(
		ctx, "COPY "+table, attribute.String("db.operation.name", "COPY"), attribute.String("db.collection.name", table),
	)
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (t queryTracer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromEndData) {
	endSpan(ctx, c.Err)
}

// summary returns the verb of a statement and the first table after FROM, INTO or UPDATE,
// if its name is plain. It does not parse SQL: all statements are Livegraph's own.
func summary(sql string) (verb, table string) {
	const maxWords = 400 // Livegraph's statements name a table long before
	previous, n := "", 0
	for word := range strings.FieldsSeq(sql) {
		if verb == "" {
			verb = strings.ToUpper(word)
		}
		switch previous {
		case "FROM", "INTO", "UPDATE":
			if name := tableName(word); name != "" {
				return verb, name
			}
		}
		if previous = strings.ToUpper(word); n == maxWords {
			break
		}
		n++
	}
	return verb, ""
}

// tableName returns the name of a table without the punctuation after it, empty if word is not a name.
func tableName(word string) string {
	word = strings.TrimRight(word, ",;()")
	for i := range len(word) {
		if c := word[i]; c != '_' && c != '.' && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return word
}
