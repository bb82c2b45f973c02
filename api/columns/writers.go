package columns

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// rowGroupRows is the number of rows from which a row group of Parquet is written. One row group is in memory, encoded,
// until then.
const rowGroupRows = 128 << 10

// Writer writes record batches in a format of columns. Close writes the end, and does not close the underlying writer.
type Writer interface {
	Write(batch arrow.RecordBatch) error
	Close() error
}

// NewWriter returns a writer of a format of columns.
func (f Format) NewWriter(w io.Writer, schema *arrow.Schema) Writer {
	if f.Name == Parquet {
		return newParquetWriter(w, schema)
	}
	return newArrowWriter(w, schema)
}

// newArrowWriter returns a writer of the stream format of Arrow. Its buffers are not compressed:
// not every client reads compressed ones.
func newArrowWriter(w io.Writer, schema *arrow.Schema) Writer {
	return ipc.NewWriter(w, ipc.WithSchema(schema))
}

// parquetWriter writes record batches as a file of Parquet. The library of Arrow could, too, but it
// makes the binary 20 MB larger (docs/adr/0080-columns.md).
type parquetWriter struct {
	out    *parquet.GenericWriter[any]
	values []parquet.Value // of the column that is written
	rows   int64           // in the row group
}

func newParquetWriter(w io.Writer, schema *arrow.Schema) *parquetWriter {
	return &parquetWriter{out: parquet.NewGenericWriter[any](
		w, parquet.NewSchema("rows", newParquetGroup(schema)), parquet.Compression(&parquet.Zstd),
	)}
}

func (w *parquetWriter) Write(batch arrow.RecordBatch) error {
	columns := w.out.ColumnWriters()
	for i, column := range columns {
		w.values = appendParquet(w.values[:0], batch.Column(i), i, batch.Schema().Field(i).Nullable)
		if _, err := column.WriteRowValues(w.values); err != nil {
			return err
		}
	}
	if w.rows += batch.NumRows(); w.rows >= rowGroupRows {
		w.rows = 0
		return w.out.Flush()
	}
	return nil
}

func (w *parquetWriter) Close() error { return w.out.Close() }

// appendParquet appends the values of a column. Those of optional columns have level 1, null has 0.
func appendParquet(dst []parquet.Value, column arrow.Array, index int, optional bool) []parquet.Value {
	value := parquetValues(column)
	level := 0
	if optional {
		level = 1
	}
	for i := range column.Len() {
		if column.IsNull(i) {
			dst = append(dst, parquet.NullValue().Level(0, 0, index))
		} else {
			dst = append(dst, value(i).Level(0, level, index))
		}
	}
	return dst
}

// parquetValues returns a function that returns the value of a row of a column.
func parquetValues(column arrow.Array) func(i int) parquet.Value {
	switch column := column.(type) {
	case *array.Timestamp:
		return func(i int) parquet.Value { return parquet.Int64Value(int64(column.Value(i))) }
	case *array.Int64:
		return func(i int) parquet.Value { return parquet.Int64Value(column.Value(i)) }
	case *array.Float64:
		return func(i int) parquet.Value { return parquet.DoubleValue(column.Value(i)) }
	case *array.Dictionary:
		entries := column.Dictionary().(*array.String)
		values := make([]parquet.Value, entries.Len())
		for i := range values {
			values[i] = text(entries.Value(i))
		}
		return func(i int) parquet.Value { return values[column.GetValueIndex(i)] }
	}
	strings := column.(*array.String)
	return func(i int) parquet.Value { return text(strings.Value(i)) }
}

func text(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }

// parquetGroup is the schema of rows, with the columns in their order: a parquet.Group sorts them.
type parquetGroup struct {
	parquet.Group
	fields []parquet.Field
}

func newParquetGroup(schema *arrow.Schema) parquetGroup {
	g := parquetGroup{Group: parquet.Group{}}
	for _, field := range schema.Fields() {
		g.Group[field.Name] = parquetNode(field)
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

func parquetNode(field arrow.Field) parquet.Node {
	node := parquet.String()
	switch field.Type.ID() {
	case arrow.TIMESTAMP:
		node = parquet.Timestamp(parquet.Microsecond)
	case arrow.INT64:
		node = parquet.Int(64)
	case arrow.FLOAT64:
		node = parquet.Leaf(parquet.DoubleType)
	case arrow.DICTIONARY:
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	}
	if field.Nullable {
		return parquet.Optional(node)
	}
	return parquet.Required(node)
}
