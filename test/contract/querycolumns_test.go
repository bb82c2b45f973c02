package contract_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// columnFormats are the formats of columns, with their media types and readers.
var columnFormats = map[string]struct {
	media string
	read  func(t *testing.T, body []byte) []arrow.RecordBatch
}{
	"arrow":   {"application/vnd.apache.arrow.stream", readArrow},
	"parquet": {"application/vnd.apache.parquet", readParquet},
}

func readArrow(t *testing.T, body []byte) (batches []arrow.RecordBatch) {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(body))
	require.NoError(t, err)
	defer reader.Release()
	batches = append(batches, array.NewRecordBatch(reader.Schema(), emptyColumns(reader.Schema()), 0))
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	require.NoError(t, reader.Err())
	return batches
}

func readParquet(t *testing.T, body []byte) (batches []arrow.RecordBatch) {
	t.Helper()
	table, err := pqarrow.ReadTable(
		t.Context(), bytes.NewReader(body), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator,
	)
	require.NoError(t, err)
	defer table.Release()
	batches = append(batches, array.NewRecordBatch(table.Schema(), emptyColumns(table.Schema()), 0))
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

func emptyColumns(schema *arrow.Schema) []arrow.Array {
	columns := make([]arrow.Array, schema.NumFields())
	for i, field := range schema.Fields() {
		columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, field.Type, 0)
	}
	return columns
}

// rowsOf returns the rows as NDJSON has them: null fields of a series stay, those of tags are left out.
func rowsOf(t *testing.T, batches []arrow.RecordBatch) (rows []map[string]any) {
	t.Helper()
	for _, batch := range batches {
		for i := range int(batch.NumRows()) {
			row := map[string]any{"tags": map[string]any{}}
			for c, field := range batch.Schema().Fields() {
				cell := cellOf(t, batch.Column(c), i)
				tag, isTag := strings.CutPrefix(field.Name, "tag.")
				name, isText := strings.CutSuffix(field.Name, ".text")
				switch {
				case isTag && cell != nil:
					row["tags"].(map[string]any)[tag] = cell
				case isTag, isText && cell == nil:
				default:
					row[name] = cell
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func cellOf(t *testing.T, column arrow.Array, i int) any {
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
	case *array.String:
		return column.Value(i)
	case *array.Dictionary:
		return column.Dictionary().(*array.String).Value(column.GetValueIndex(i))
	}
	require.Failf(t, "a column of another type", "%T", column)
	return nil
}

func ndjsonRows(t *testing.T, body []byte) (rows []map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		var row map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		rows = append(rows, row)
	}
	return rows
}

// TestColumnsHaveTheRowsOfNDJSON compares the formats in all shapes of answers: numbers and strings,
// aggregates with empty buckets, groups without a source, no rows, and descending order.
func TestColumnsHaveTheRowsOfNDJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, params := range []string{
		"", "&order=desc", "&metric=temp", "&metric=state", "&metric=absent",
		"&aggregation=avg,count&interval=2m&fill=null", "&aggregation=sum&groupBy=none&metric=temp",
		"&aggregation=last,count&groupBy=metric", "&aggregation=avg&groupBy=tag.room&interval=1m&metric=temp",
	} {
		want := ndjsonRows(t, f.queryRows(
			t, rangeParams(10*time.Minute)+params+"&format=ndjson", "application/x-ndjson", nil,
		).Body)
		for name, format := range columnFormats {
			a := f.Do(t, contract.Request{
				Path:   "/api/live-data/query?" + rangeParams(10*time.Minute) + params,
				Header: map[string]string{"Accept": format.media},
			})
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
			require.Equal(t, format.media, a.Header.Get("Content-Type"))
			require.Contains(t, a.Header.Values("Vary"), "Accept")
			batches := format.read(t, a.Body)
			require.Equal(t, want, rowsOf(t, batches), "%s of %s", name, params)
			require.Equal(t, "timestamp", batches[0].Schema().Field(0).Name)
		}
	}
}

func TestColumnsRefuseWhatTheyCannotContain(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for name := range columnFormats {
		l.Do(t, contract.Request{Path: "/api/live-data/query?epoch=ms&format=" + name}).
			RequireFailure(t, http.StatusBadRequest, "VALIDATION_ERROR", "", map[string]any{"field": "epoch"})
	}
}

func TestColumnsComeInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var rows []map[string]any
	pages := 0
	for next := "/api/live-data/query?" + rangeParams(10*time.Minute) + "&format=arrow&limit=1"; next != ""; pages++ {
		a := f.Do(t, contract.Request{Path: next})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		rows = append(rows, rowsOf(t, readArrow(t, a.Body))...)
		next = nextLink(t, a)
	}
	require.Equal(t, 4, pages)
	require.Len(t, rows, 8)
}

func TestColumnsHaveTagsOfAnyName(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	odd := map[string]string{"a.b": "1", "0": "2", "Ünit e\"": "ü\n", "tag.x": "", "A.B": "4", "__x": "5"}
	boiler := l.createSource(t, `{"name":"boiler"}`)
	l.store(t, l.Workspace, seriesKey{source: boiler.ID, metric: "temp", tags: odd}, sample{microsAt(0), 1.5, 1})
	want := ndjsonRows(t, l.queryRows(t, rangeParams(time.Hour)+"&format=ndjson", "application/x-ndjson", nil).Body)
	require.Len(t, want[0]["tags"], len(odd))
	for name, format := range columnFormats {
		a := l.Do(t, contract.Request{Path: "/api/live-data/query?format=" + name + "&" + rangeParams(time.Hour)})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Equal(t, want, rowsOf(t, format.read(t, a.Body)), name)
	}
}

// TestColumnsOfMoreThanOneBatch writes more rows than a record batch and a row group have.
func TestColumnsOfMoreThanOneBatch(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	boiler := l.createSource(t, `{"name":"boiler"}`)
	const count = 140_000
	samples := make([]sample, count)
	for i := range samples {
		samples[i] = sample{microsAt(time.Duration(i) * time.Millisecond), float64(i), 1}
	}
	l.store(t, l.Workspace, seriesKey{source: boiler.ID, metric: "temp"}, samples...)
	for name, format := range columnFormats {
		a := l.Do(t, contract.Request{
			Path: "/api/live-data/query?pointsLimit=200000&format=" + name + "&" + rangeParams(time.Hour),
		})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		next := 0.0
		for _, batch := range format.read(t, a.Body) {
			values := batch.Column(batch.Schema().FieldIndices("value")[0]).(*array.Float64)
			for i := range values.Len() {
				require.InDelta(t, next, values.Value(i), 0)
				next++
			}
		}
		require.InDelta(t, count, next, 0, name)
	}
}
