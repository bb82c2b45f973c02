// Package columnread reads answers with columns by the libraries of Apache Arrow, for tests. They share no code with
// the server's writer of Parquet.
package columnread

import (
	"bytes"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// Format is a format of columns.
type Format struct {
	Media string
	// Read returns the record batches. The first one is empty, so that there is a schema without rows.
	Read func(t testing.TB, body []byte) []arrow.RecordBatch
}

// Formats are the formats of columns by their names.
var Formats = map[string]Format{
	"arrow":   {"application/vnd.apache.arrow.stream", readArrow},
	"parquet": {"application/vnd.apache.parquet", readParquet},
}

func readArrow(t testing.TB, body []byte) (batches []arrow.RecordBatch) {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(body))
	require.NoError(t, err)
	defer reader.Release()
	batches = append(batches, emptyBatch(reader.Schema()))
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	require.NoError(t, reader.Err())
	return batches
}

func readParquet(t testing.TB, body []byte) (batches []arrow.RecordBatch) {
	t.Helper()
	table, err := pqarrow.ReadTable(
		t.Context(), bytes.NewReader(body), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator,
	)
	require.NoError(t, err)
	defer table.Release()
	batches = append(batches, emptyBatch(table.Schema()))
	rows := array.NewTableReader(table, 0)
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	require.NoError(t, rows.Err())
	return batches
}

func emptyBatch(schema *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, schema.NumFields())
	for i, field := range schema.Fields() {
		columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, field.Type, 0)
	}
	return array.NewRecordBatch(schema, columns, 0)
}

// Rows returns the rows of record batches by the names of the columns, with the values as in JSON: times as texts,
// integers as float64, null as nil.
func Rows(t testing.TB, batches []arrow.RecordBatch) []map[string]any {
	t.Helper()
	rows := []map[string]any{}
	for _, batch := range batches {
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c, field := range batch.Schema().Fields() {
				row[field.Name] = Cell(t, batch.Column(c), i)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// Cell returns the value of a row of a column, as in JSON.
func Cell(t testing.TB, column arrow.Array, i int) any {
	t.Helper()
	if column.IsNull(i) {
		return nil
	}
	switch column := column.(type) {
	case *array.Timestamp:
		kind, ok := column.DataType().(*arrow.TimestampType)
		require.True(t, ok)
		require.Equal(t, arrow.Microsecond, kind.Unit)
		require.Equal(t, "UTC", kind.TimeZone)
		return time.UnixMicro(int64(column.Value(i))).UTC().Format(time.RFC3339Nano)
	case *array.Float64:
		return column.Value(i)
	case *array.Int64:
		return float64(column.Value(i))
	case *array.String:
		return column.Value(i)
	case *array.Dictionary:
		return Dictionary(column).Value(column.GetValueIndex(i))
	}
	require.Failf(t, "a column of another type", "%T", column)
	return nil
}

// Dictionary returns the texts of the dictionary of a column.
func Dictionary(column arrow.Array) *array.String {
	return column.(*array.Dictionary).Dictionary().(*array.String)
}
