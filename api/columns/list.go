package columns

import (
	"net/http"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// listBatchRows is the number of rows of a record batch of a list. It is small, because a row may have 100 KB of text.
const listBatchRows = 1000

// List describes the columns of a list of items, in their order.
type List[T any] []Column[T]

// Column is a column of a list of items.
type Column[T any] struct {
	field arrow.Field
	// values returns a function that returns the values of the items from an index up to another.
	values func(items []T) func(from, to int) arrow.Array
}

// Text returns a column of texts.
func Text[T any](name string, get func(item *T) string) Column[T] {
	return column(name, arrow.BinaryTypes.String, false, newStrings, always(get))
}

// OptionalText returns a column of texts that may be null.
func OptionalText[T any](name string, get func(item *T) *string) Column[T] {
	return column(name, arrow.BinaryTypes.String, true, newStrings, get)
}

// Int returns a column of integers.
func Int[T any](name string, get func(item *T) int64) Column[T] {
	return column(name, arrow.PrimitiveTypes.Int64, false, newInts, always(get))
}

// OptionalInt returns a column of integers that may be null.
func OptionalInt[T any](name string, get func(item *T) *int64) Column[T] {
	return column(name, arrow.PrimitiveTypes.Int64, true, newInts, get)
}

// Float returns a column of floating-point numbers.
func Float[T any](name string, get func(item *T) float64) Column[T] {
	return column(name, arrow.PrimitiveTypes.Float64, false, newFloats, always(get))
}

// Time returns a column of times.
func Time[T any](name string, get func(item *T) time.Time) Column[T] {
	return column(name, TimestampType, false, newTimes, func(item *T) *arrow.Timestamp { return timestamp(get(item)) })
}

// OptionalTime returns a column of times that may be null.
func OptionalTime[T any](name string, get func(item *T) *time.Time) Column[T] {
	return column(name, TimestampType, true, newTimes, func(item *T) *arrow.Timestamp {
		if t := get(item); t != nil {
			return timestamp(*t)
		}
		return nil
	})
}

// Names returns a column of texts that repeat, with a dictionary.
func Names[T any](name string, get func(item *T) string) Column[T] {
	return names(name, false, func(item *T) (string, bool) { return get(item), true })
}

// OptionalNames returns a column of texts that repeat and may be null, with a dictionary.
func OptionalNames[T any](name string, get func(item *T) *string) Column[T] {
	return names(name, true, func(item *T) (string, bool) {
		if text := get(item); text != nil {
			return *text, true
		}
		return "", false
	})
}

func names[T any](name string, nullable bool, get func(item *T) (string, bool)) Column[T] {
	return Column[T]{
		field: arrow.Field{Name: name, Type: DictionaryType, Nullable: nullable},
		values: func(items []T) func(from, to int) arrow.Array {
			dictionary := NewDictionary(len(items), func(i int) (string, bool) { return get(&items[i]) })
			return func(from, to int) arrow.Array {
				rows := make([]int32, 0, to-from)
				for i := from; i < to; i++ {
					rows = append(rows, int32(i))
				}
				return dictionary.Rows(rows)
			}
		},
	}
}

// builder is a builder of arrays of arrow.
type builder[V any] interface {
	Append(value V)
	AppendNull()
	NewArray() arrow.Array
}

func newStrings() builder[string] { return array.NewStringBuilder(memory.DefaultAllocator) }
func newInts() builder[int64]     { return array.NewInt64Builder(memory.DefaultAllocator) }
func newFloats() builder[float64] { return array.NewFloat64Builder(memory.DefaultAllocator) }
func newTimes() builder[arrow.Timestamp] {
	return array.NewTimestampBuilder(memory.DefaultAllocator, TimestampType)
}

func timestamp(t time.Time) *arrow.Timestamp { return new(arrow.Timestamp(t.UnixMicro())) }

// always returns get as a function that never returns nil.
func always[T, V any](get func(item *T) V) func(item *T) *V {
	return func(item *T) *V { return new(get(item)) }
}

func column[T, V any](
	name string, kind arrow.DataType, nullable bool, newBuilder func() builder[V], get func(item *T) *V,
) Column[T] {
	return Column[T]{
		field: arrow.Field{Name: name, Type: kind, Nullable: nullable},
		values: func(items []T) func(from, to int) arrow.Array {
			return func(from, to int) arrow.Array {
				b := newBuilder()
				for i := from; i < to; i++ {
					if value := get(&items[i]); value != nil {
						b.Append(*value)
					} else {
						b.AppendNull()
					}
				}
				return b.NewArray()
			}
		},
	}
}

// Write responds with a page of items as columns. next is the URL of the next page, empty at the end.
func (l List[T]) Write(w http.ResponseWriter, f Format, items []T, next string) {
	fields := make([]arrow.Field, len(l))
	values := make([]func(from, to int) arrow.Array, len(l))
	for i, c := range l {
		fields[i], values[i] = c.field, c.values(items)
	}
	schema := arrow.NewSchema(fields, nil)
	f.WriteHeader(w, next)
	out := f.NewWriter(w, schema)
	for from := 0; from < len(items); from += listBatchRows {
		to := min(from+listBatchRows, len(items))
		columns := make([]arrow.Array, len(l))
		for i := range l {
			columns[i] = values[i](from, to)
		}
		batch := NewBatch(schema, columns)
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return // the client is gone
		}
	}
	_ = out.Close() // fails only if the client is gone
}

// NewBatch returns a record batch that owns the columns.
func NewBatch(schema *arrow.Schema, columns []arrow.Array) arrow.RecordBatch {
	batch := array.NewRecordBatch(schema, columns, int64(columns[0].Len()))
	for _, column := range columns {
		column.Release()
	}
	return batch
}
