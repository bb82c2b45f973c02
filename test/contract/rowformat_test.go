package contract_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/contract"
)

// queryRows sends a query for a format without an envelope.
func (l *live) queryRows(t *testing.T, params, contentType string, header map[string]string) *contract.Answer {
	t.Helper()
	a := l.Do(t, contract.Request{Path: "/api/live-data/query?" + params, Header: header})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.Equal(t, contentType+"; charset=utf-8", a.Header.Get("Content-Type"))
	require.NotEmpty(t, a.Header.Get("X-Request-Id"))
	return a
}

func TestCSVHasARowAPointInTheOrderOfTimeOverAllSeries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	raw := rangeParams(10*time.Minute) + "&format=csv"
	a := f.queryRows(t, raw, "text/csv", nil)
	first, second := f.boiler.ID+",boiler,", f.fan.ID+",fan,"
	lines := strings.Split(strings.TrimSpace(string(a.Body)), "\n")
	require.Equal(t, "timestamp,sourceId,sourceName,metric,kind,unit,tag.room,value", lines[0])
	require.ElementsMatch(t, []string{
		timestampAt(0) + "," + first + "temp,number,°C,A,1", timestampAt(0) + "," + second + "temp,number,,B,100",
	}, lines[1:3], "those of one time")
	require.Equal(t, []string{
		timestampAt(time.Second) + "," + first + "pressure,number,bar,,7",
	}, lines[3:4])
	require.ElementsMatch(t, []string{
		timestampAt(time.Minute) + "," + first + "state,string,bar,,on",
		timestampAt(time.Minute) + "," + first + "temp,number,°C,A,2",
	}, lines[4:6])
	require.Equal(t, []string{
		timestampAt(2*time.Minute+time.Microsecond) + "," + first + `state,string,bar,,"off ""now"""`,
		timestampAt(3*time.Minute) + "," + first + "temp,number,°C,A,4.5",
		timestampAt(5*time.Minute) + "," + second + "temp,number,,B,101",
	}, lines[6:])
	require.Empty(t, a.Header.Get("Link"))

	backwards := f.queryRows(t, raw+"&order=desc&metric=temp&epoch=ms", "text/csv", nil)
	table, err := csv.NewReader(strings.NewReader(string(backwards.Body))).ReadAll()
	require.NoError(t, err)
	var values []string
	for _, row := range table[1:] {
		values = append(values, row[len(row)-1])
	}
	require.Equal(t, []string{"101", "4.5", "2"}, values[:3])
	require.Equal(t, "1772323500000", table[1][0])
}

func TestNDJSONHasAnObjectAPoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.queryRows(
		t, rangeParams(10*time.Minute)+"&format=ndjson&aggregation=avg,count&interval=2m&fill=null&sourceId="+f.fan.ID,
		"application/x-ndjson", nil,
	)
	row := func(at time.Duration, cells string) string {
		return `{"timestamp":"` +
			timestampAt(at) +
			`","sourceId":"` +
			f.fan.ID + `","sourceName":"fan","metric":"temp","kind":"number","unit":null,"tags":{"room":"B"},` + cells + "}\n"
	}
	require.Equal(t, row(0, `"avg":100,"count":1`)+row(2*time.Minute, `"avg":null,"count":null`)+
		row(4*time.Minute, `"avg":101,"count":1`)+row(6*time.Minute, `"avg":null,"count":null`)+
		row(8*time.Minute, `"avg":null,"count":null`), string(a.Body))
	grouped := f.queryRows(
		t, rangeParams(10*time.Minute)+"&format=ndjson&aggregation=sum&groupBy=none&metric=temp", "application/x-ndjson", nil,
	)
	require.Equal(
		t,
		`{"timestamp":"`+
			timestampAt(0)+
			`","sourceId":null,"sourceName":null,"metric":null,"kind":"number","unit":null,"tags":{},"sum":208.5}`+"\n",
		string(grouped.Body),
	)
}

func TestTheAcceptHeaderChoosesTheFormUnlessTheParameterDoes(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for accept, want := range map[string]string{
		"text/csv":                             "text/csv",
		"application/x-ndjson":                 "application/x-ndjson",
		"text/csv;q=0.5, application/x-ndjson": "application/x-ndjson",
		"application/json, text/csv;q=0.9":     "application/json",
		"text/html, */*;q=0.8":                 "application/json",
		"text/csv;q=0":                         "application/json",
		";;;, text/csv":                        "text/csv",
		strings.Repeat("x/y,", 500) + "application/x-ndjson;q=x": "application/json",
	} {
		a := l.Do(t, contract.Request{Path: "/api/live-data/query?epoch=ms", Header: map[string]string{"Accept": accept}})
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, want+"; charset=utf-8", a.Header.Get("Content-Type"), accept)
		require.Contains(t, a.Header.Values("Vary"), "Accept")
	}
	l.queryRows(t, "format=csv", "text/csv", map[string]string{"Accept": "application/json"})
	refused := l.Do(t, contract.Request{Path: "/api/live-data/query?format=csv&limit=0"})
	refused.RequireFailure(t, http.StatusBadRequest, "VALIDATION_ERROR", "", map[string]any{"field": "limit"})
}

func TestFurtherPagesOfRowsAreInTheLinkHeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := map[string]bool{}
	for next := "/api/live-data/query?" + rangeParams(10*time.Minute) + "&format=csv&limit=1"; next != ""; {
		a := f.Do(t, contract.Request{Path: next})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		for _, line := range strings.Split(strings.TrimSpace(string(a.Body)), "\n")[1:] {
			require.False(t, seen[line], "a row comes once")
			seen[line] = true
		}
		next = nextLink(t, a)
	}
	require.Len(t, seen, 8)
	// The points of one raw series are paged by cursor.
	a := f.Do(t, contract.Request{
		Path: "/api/live-data/query?" + rangeParams(10*time.Minute) + "&format=ndjson&metric=state&pointsLimit=1",
	})
	next := nextLink(t, a)
	require.Contains(t, next, "cursor=")
	require.Contains(t, string(f.Do(t, contract.Request{Path: next}).Body), `"off \"now\""`)
}

// TestAPageOfRowsHasUpTo10000Series reads the newest points of more series than a page of
// JSON has in one request.
func TestAPageOfRowsHasUpTo10000Series(t *testing.T) {
	t.Parallel()
	const series = 120
	l := startLive(t)
	made := l.createSource(t, `{"name":"wide"}`)
	var latest clickhouse.LatestColumns
	for i := range series {
		id := l.register(t, l.Workspace, seriesKey{source: made.ID, metric: fmt.Sprintf("m%03d", i)})
		latest.Append(&clickhouse.LatestRow{
			Workspace: l.Workspace, Source: uuid.MustParse(made.ID), Series: id, TS: int64(i), Version: 1, Value: float64(i),
		})
	}
	require.NoError(t, l.Points.InsertLatest(t.Context(), &latest))

	for form, header := range map[string]int{"csv": 1, "ndjson": 0} {
		a := l.Do(t, contract.Request{Path: "/api/live-data/query?latest=true&limit=10001&format=" + form})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Equal(t, series, strings.Count(string(a.Body), "\n")-header, form)
		require.Empty(t, a.Header.Get("Link"))
	}
	a := l.Do(t, contract.Request{
		Path: "/api/live-data/query?latest=true&limit=10001", Header: map[string]string{"Accept": "text/csv"},
	})
	require.Equal(t, series+1, strings.Count(string(a.Body), "\n"), "the form that is accepted decides, too")
	a = l.Do(t, contract.Request{Path: "/api/live-data/query?latest=true&limit=10001"})
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, string(a.Body), `"limit":100`)
}

func nextLink(t *testing.T, a *contract.Answer) string {
	t.Helper()
	link := a.Header.Get("Link")
	if link == "" {
		return ""
	}
	target, found := strings.CutSuffix(link, `>; rel="next"`)
	require.True(t, found, link)
	u, err := url.Parse(strings.TrimPrefix(target, "<"))
	require.NoError(t, err)
	return u.String()
}

func TestNoTextOfATenantIsAFormulaInCSV(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	texts := []string{
		`=HYPERLINK("http://x","y")`, "+1+1", "-2+3", "@SUM(A1)", "'quoted", "\t=1", "plain", "a,b", "line\nbreak", "",
	}
	s := l.createSource(t, `{"name":"=cmd|'/c calc'!A1","tags":{}}`)
	var samples []sample
	for i, text := range texts {
		samples = append(samples, sample{microsAt(time.Duration(i) * time.Second), text, 1})
	}
	l.store(
		t, l.Workspace, seriesKey{source: s.ID, metric: "-m", tags: map[string]string{"=k": "=v"}, text: true}, samples...,
	)
	a := l.queryRows(t, rangeParams(time.Hour)+"&format=csv", "text/csv", nil)
	table, err := csv.NewReader(strings.NewReader(string(a.Body))).ReadAll()
	require.NoError(t, err)
	require.Equal(
		t, []string{"timestamp", "sourceId", "sourceName", "metric", "kind", "unit", "tag.=k", "value"}, table[0],
	)
	for i, row := range table[1:] {
		require.Equal(t, []string{"'=cmd|'/c calc'!A1", "'-m", "string", "", "'=v"}, row[2:7])
		for _, cell := range row[2:] {
			require.False(t, cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r"), cell)
		}
		require.Equal(t, texts[i], strings.TrimPrefix(row[7], "'"), "one ' taken away gives the text")
	}
	require.Len(t, table, len(texts)+1)
}

func TestCSVHasABoundedNumberOfColumns(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	s := l.createSource(t, `{"name":"many"}`)
	for i := range 5 {
		tags := map[string]string{}
		for k := range 60 {
			tags["k"+string(rune('a'+i))+strings.Repeat("x", k)] = "v"
		}
		l.store(t, l.Workspace, seriesKey{source: s.ID, metric: "m", tags: tags}, sample{microsAt(0), 1.0, 1})
	}
	l.Do(t, contract.Request{Path: "/api/live-data/query?format=csv&" + rangeParams(time.Hour)}).
		RequireFailure(t, http.StatusUnprocessableEntity, "VALIDATION_ERROR", "", map[string]any{"field": "format"})
	l.queryRows(t, "format=ndjson&"+rangeParams(time.Hour), "application/x-ndjson", nil)
}
