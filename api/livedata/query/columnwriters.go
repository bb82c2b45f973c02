package query

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// rowGroupBatches is the number of record batches of a row group of Parquet. One row group is in
// memory, encoded, until it is written.
const rowGroupBatches = 2

// newArrowWriter returns a writer of the stream format of Arrow. Its buffers are not compressed:
// not every client reads compressed ones.
func newArrowWriter(w io.Writer, schema *arrow.Schema) recordWriter {
	return ipc.NewWriter(w, ipc.WithSchema(schema))
}

// parquetWriter writes record batches as a file of Parquet. The library of Arrow could, too, but it
// makes the binary 20 MB larger (docs/adr/0080-columns.md).
type parquetWriter struct {
	out     *parquet.GenericWriter[any]
	values  []parquet.Value // of the column that is written
	batches int             // in the row group
}

func newParquetWriter(w io.Writer, schema *arrow.Schema) *parquetWriter {
	return &parquetWriter{out: parquet.NewGenericWriter[any](
		w, parquet.NewSchema("points", newParquetGroup(schema)), parquet.Compression(&parquet.Zstd),
	)}
}

func (w *parquetWriter) Write(batch arrow.RecordBatch) error {
	columns := w.out.ColumnWriters()
	for i, column := range columns {
		w.values = appendParquet(w.values[:0], batch.Column(i), i)
		if _, err := column.WriteRowValues(w.values); err != nil {
			return err
		}
	}
	if w.batches++; w.batches%rowGroupBatches == 0 {
		return w.out.Flush()
	}
	return nil
}

func (w *parquetWriter) Close() error { return w.out.Close() }

// appendParquet appends the values of a column. Those of optional columns have level 1, null has 0.
func appendParquet(dst []parquet.Value, column arrow.Array, index int) []parquet.Value {
	switch column := column.(type) {
	case *array.Timestamp:
		for _, ts := range column.TimestampValues() {
			dst = append(dst, parquet.Int64Value(int64(ts)).Level(0, 0, index))
		}
	case *array.Float64:
		dst = appendOptional(dst, column, index, func(i int) parquet.Value { return parquet.DoubleValue(column.Value(i)) })
	case *array.String:
		dst = appendOptional(dst, column, index, func(i int) parquet.Value { return text(column.Value(i)) })
	case *array.Dictionary:
		entries := column.Dictionary().(*array.String)
		values := make([]parquet.Value, entries.Len())
		for i := range values {
			values[i] = text(entries.Value(i))
		}
		dst = appendOptional(dst, column, index, func(i int) parquet.Value { return values[column.GetValueIndex(i)] })
	}
	return dst
}

func text(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }

func appendOptional(
	dst []parquet.Value, column arrow.Array, index int, value func(i int) parquet.Value,
) []parquet.Value {
	for i := range column.Len() {
		if column.IsNull(i) {
			dst = append(dst, parquet.NullValue().Level(0, 0, index))
		} else {
			dst = append(dst, value(i).Level(0, 1, index))
		}
	}
	return dst
}

// parquetGroup is the schema of rows, with the columns in their order: a parquet.Group sorts them.
type parquetGroup struct {
	parquet.Group
	fields []parquet.Field
}

func newParquetGroup(schema *arrow.Schema) parquetGroup {
	g := parquetGroup{Group: parquet.Group{}}
	for _, field := range schema.Fields() {
		g.Group[field.Name] = parquetNode(field.Type)
	}
	byName := map[string]parquet.Field{}
	for _, field := range g.Group.Fields() {
		byName[field.Name()] = field
	}
	for _, field := range schema.Fields() {
		g.fields = append(g.fields, byName[field.Name])
	}
	return g
}

func (g parquetGroup) Fields() []parquet.Field { return g.fields }

func parquetNode(kind arrow.DataType) parquet.Node {
	switch kind.ID() {
	case arrow.TIMESTAMP:
		return parquet.Timestamp(parquet.Microsecond)
	case arrow.FLOAT64:
		return parquet.Optional(parquet.Leaf(parquet.DoubleType))
	case arrow.DICTIONARY:
		return parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
	}
	return parquet.Optional(parquet.String())
}
