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
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/columnread"
	"github.com/livegraph/livegraph/test/contract"
)

// rowsOf returns the rows as NDJSON has them: null fields of a series stay, those of tags are left out.
func rowsOf(t *testing.T, batches []arrow.RecordBatch) (rows []map[string]any) {
	t.Helper()
	for _, batch := range batches {
		for i := range int(batch.NumRows()) {
			row := map[string]any{"tags": map[string]any{}}
			for c, field := range batch.Schema().Fields() {
				cell := columnread.Cell(t, batch.Column(c), i)
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
		for name, format := range columnread.Formats {
			a := f.Do(t, contract.Request{
				Path:   "/api/live-data/query?" + rangeParams(10*time.Minute) + params,
				Header: map[string]string{"Accept": format.Media},
			})
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
			require.Equal(t, format.Media, a.Header.Get("Content-Type"))
			require.Contains(t, a.Header.Values("Vary"), "Accept")
			batches := format.Read(t, a.Body)
			require.Equal(t, want, rowsOf(t, batches), "%s of %s", name, params)
			require.Equal(t, "timestamp", batches[0].Schema().Field(0).Name)
		}
	}
}

func TestColumnsRefuseWhatTheyCannotContain(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for name := range columnread.Formats {
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
		rows = append(rows, rowsOf(t, columnread.Formats["arrow"].Read(t, a.Body))...)
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
	for name, format := range columnread.Formats {
		a := l.Do(t, contract.Request{Path: "/api/live-data/query?format=" + name + "&" + rangeParams(time.Hour)})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Equal(t, want, rowsOf(t, format.Read(t, a.Body)), name)
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
	for name, format := range columnread.Formats {
		a := l.Do(t, contract.Request{
			Path: "/api/live-data/query?pointsLimit=200000&format=" + name + "&" + rangeParams(time.Hour),
		})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		next := 0.0
		for _, batch := range format.Read(t, a.Body) {
			values := batch.Column(batch.Schema().FieldIndices("value")[0]).(*array.Float64)
			for i := range values.Len() {
				require.InDelta(t, next, values.Value(i), 0)
				next++
			}
		}
		require.InDelta(t, count, next, 0, name)
	}
}
