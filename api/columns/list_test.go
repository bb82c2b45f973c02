package columns_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/columnread"
)

// row has a field of each type of column.
type row struct {
	text, name         string
	optText, optName   *string
	integer            int64
	optInteger         *int64
	number             float64
	moment             time.Time
	optMoment          *time.Time
	allNull            *string
	allNullWithEntries *string
}

var rowColumns = columns.List[row]{
	columns.Text("text", func(r *row) string { return r.text }),
	columns.Names("a name", func(r *row) string { return r.name }),
	columns.OptionalText("optText", func(r *row) *string { return r.optText }),
	columns.OptionalNames("optName", func(r *row) *string { return r.optName }),
	columns.Int("integer", func(r *row) int64 { return r.integer }),
	columns.OptionalInt("optInteger", func(r *row) *int64 { return r.optInteger }),
	columns.Float("number", func(r *row) float64 { return r.number }),
	columns.Time("moment", func(r *row) time.Time { return r.moment }),
	columns.OptionalTime("optMoment", func(r *row) *time.Time { return r.optMoment }),
	columns.OptionalText("allNull", func(r *row) *string { return r.allNull }),
	columns.OptionalNames("allNullWithEntries", func(r *row) *string { return r.allNullWithEntries }),
}

// types are the types and nullabilities of rowColumns.
var types = []arrow.Field{
	{Name: "text", Type: arrow.BinaryTypes.String},
	{Name: "a name", Type: columns.DictionaryType},
	{Name: "optText", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "optName", Type: columns.DictionaryType, Nullable: true},
	{Name: "integer", Type: arrow.PrimitiveTypes.Int64},
	{Name: "optInteger", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "number", Type: arrow.PrimitiveTypes.Float64},
	{Name: "moment", Type: columns.TimestampType},
	{Name: "optMoment", Type: columns.TimestampType, Nullable: true},
	{Name: "allNull", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "allNullWithEntries", Type: columns.DictionaryType, Nullable: true},
}

// optional returns nil or the value.
func optional[T any](r *rand.Rand, value T) *T {
	if r.IntN(3) == 0 {
		return nil
	}
	return &value
}

// drawRows draws rows whose texts are from a pool of a few drawn ones.
func drawRows(rt *rapid.T) []row {
	pool := rapid.SliceOfN(rapid.String(), 1, 6).Draw(rt, "texts")
	pool = append(pool, "", "\x00", "null", `"`, "\r\n,;", "é\u202e𝄞", "=1+1")
	integers := rapid.SliceOfN(rapid.Int64Range(-1<<53, 1<<53), 1, 4).Draw(rt, "integers")
	numbers := rapid.SliceOfN(rapid.Float64(), 1, 4).Draw(rt, "numbers")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	rows := make([]row, rapid.SampledFrom([]int{0, 1, 2, 9, 999, 1000, 1001, 2500}).Draw(rt, "count"))
	for i := range rows {
		text := func() string { return pool[r.IntN(len(pool))] }
		moment := func() time.Time { return time.UnixMicro(integers[r.IntN(len(integers))]).UTC() }
		rows[i] = row{
			text: text(), name: text(), optText: optional(r, text()), optName: optional(r, text()),
			integer: integers[r.IntN(len(integers))], optInteger: optional(r, integers[0]),
			number: numbers[r.IntN(len(numbers))], moment: moment(), optMoment: optional(r, moment()),
		}
	}
	return rows
}

// value returns the value of a pointer, nil for nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func (r *row) want() map[string]any {
	want := map[string]any{
		"text": r.text, "a name": r.name, "optText": value(r.optText), "optName": value(r.optName),
		"integer": float64(r.integer), "optInteger": nil, "number": r.number,
		"moment": r.moment.Format(time.RFC3339Nano), "optMoment": nil, "allNull": nil, "allNullWithEntries": nil,
	}
	if r.optInteger != nil {
		want["optInteger"] = float64(*r.optInteger)
	}
	if r.optMoment != nil {
		want["optMoment"] = r.optMoment.Format(time.RFC3339Nano)
	}
	return want
}

func format(name string) columns.Format {
	r := &http.Request{URL: &url.URL{RawQuery: "format=" + name}}
	return columns.ReadFormat(request.Query(r), nil, columns.JSON, columns.Arrow, columns.Parquet)
}

// TestListsAreReadAsTheyWereWritten writes rows of all types of columns, in no, one and several batches, and reads them
// with Arrow's library.
func TestListsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawRows(rt)
		for name, reader := range columnread.Formats {
			w := httptest.NewRecorder()
			rowColumns.Write(w, format(name), rows, "/next?cursor=x")
			require.Equal(rt, reader.Media, w.Header().Get("Content-Type"))
			require.Equal(rt, `</next?cursor=x>; rel="next"`, w.Header().Get("Link"))
			batches := reader.Read(t, w.Body.Bytes())
			for i, field := range batches[0].Schema().Fields() {
				require.Equal(rt, types[i].Name, field.Name)
				require.Equal(rt, types[i].Nullable, field.Nullable, field.Name)
				if name == "arrow" {
					require.True(rt, arrow.TypeEqual(types[i].Type, field.Type), "%s: %s", field.Name, field.Type)
				}
			}
			read := columnread.Rows(t, batches)
			require.Len(rt, read, len(rows))
			for i := range rows {
				require.Equal(rt, rows[i].want(), read[i], "%s row %d", name, i)
			}
		}
	})
}

// TestBatchesOfAListShareTheirDictionary requires one dictionary of distinct texts: pandas accepts no others.
func TestBatchesOfAListShareTheirDictionary(t *testing.T) {
	rows := make([]row, 2500)
	for i := range rows {
		rows[i].name = fmt.Sprint(i % 7)
	}
	w := httptest.NewRecorder()
	rowColumns.Write(w, format("arrow"), rows, "")
	require.Empty(t, w.Header().Get("Link"))
	batches := columnread.Formats["arrow"].Read(t, w.Body.Bytes())[1:]
	require.Len(t, batches, 3)
	for _, batch := range batches {
		require.Equal(t, `["0" "1" "2" "3" "4" "5" "6"]`, columnread.Dictionary(batch.Column(1)).String())
	}
}

// brokenWriter is a connection that the client has closed.
type brokenWriter struct {
	http.ResponseWriter
	writes int
}

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, http.ErrAbortHandler
}

func TestAListForAClosedConnectionEnds(t *testing.T) {
	encoded := 0
	list := columns.List[row]{columns.Text("text", func(*row) string { encoded++; return "" })}
	w := &brokenWriter{ResponseWriter: httptest.NewRecorder()}
	list.Write(w, format("arrow"), make([]row, 5000), "")
	require.Equal(t, 1, w.writes)
	require.Equal(t, 1000, encoded, "one batch")
	list.Write(w, format("parquet"), make([]row, 5000), "")
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		query, accept, want string
		vary                bool
	}{
		{"", "", "json", true},
		{"", "application/vnd.apache.arrow.stream", "arrow", true},
		{"", "application/vnd.apache.parquet;q=0.5, application/json;q=0.4", "parquet", true},
		{"", "application/json, application/vnd.apache.parquet;q=0.5", "json", true},
		{"", "text/csv, image/png, */*", "json", true}, // CSV is no format of this route
		{"", "application/vnd.apache.parquet;q=0", "json", true},
		{"format=arrow", "application/vnd.apache.parquet", "arrow", false},
		{"format=json", "application/vnd.apache.parquet", "json", false},
	} {
		p := request.Query(&http.Request{URL: &url.URL{RawQuery: c.query}})
		f := columns.ReadFormat(p, http.Header{"Accept": {c.accept}}, columns.JSON, columns.Arrow, columns.Parquet)
		require.NoError(t, p.Err())
		require.Equal(t, c.want, f.Name, "%+v", c)
		require.Equal(t, c.want != "json", f.IsColumns())
		header := http.Header{}
		f.Vary(header)
		require.Equal(t, c.vary, header.Get("Vary") == "Accept", "%+v", c)
	}
	p := request.Query(&http.Request{URL: &url.URL{RawQuery: "format=csv"}})
	columns.ReadFormat(p, nil, columns.JSON, columns.Arrow, columns.Parquet)
	require.ErrorContains(t, p.Err(), "format")
}
