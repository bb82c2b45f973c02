package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const ingestPath = "/api/live-data/ingest"

// accepted is the answer to an ingest.
type accepted struct {
	Accepted, Rejected int
	Errors             []rejection
	Checkpoint         string
}

type rejection struct {
	Index, Count  int
	Position      *int
	Line          *int
	Field, Reason string
}

// readPointsLog returns all points in the log as "source metric tags time=value", and all deletions.
func readPointsLog(t *testing.T, broker *kafkatest.Broker) []string {
	t.Helper()
	out := []string{}
	for _, record := range kafkatest.Records(t, broker, "points") {
		var decoded pointblock.Record
		require.NoError(t, pointblock.Decode(record.Value, &decoded))
		for i := range decoded.Spans {
			span := &decoded.Spans[i]
			numbers, texts := span.AppendValues(nil), span.AppendStrings(nil)
			for n, us := range span.AppendTimestamps(nil) {
				var value any
				if span.Kind == pointblock.KindNumber {
					value = numbers[n]
				} else {
					value = strconv.Quote(texts[n])
				}
				out = append(out, fmt.Sprintf(
					"%s %s %v %s=%v", span.Source, span.Metric(), span.Tags(),
					time.UnixMicro(us).UTC().Format(time.RFC3339Nano), value,
				))
			}
		}
		for _, d := range decoded.Deletions {
			out = append(out, fmt.Sprintf("deleted %s %v", d.Source, d.WholeSource))
		}
	}
	return out
}

type liveWithLog struct {
	*live
	broker *kafkatest.Broker
}

func startLiveWithLog(t *testing.T) *liveWithLog {
	t.Helper()
	broker := kafkatest.NewKFake(t)
	group := &contract.LiveData{Log: contract.OpenLog(t, broker)}
	return &liveWithLog{live: &live{Server: contract.Start(t, group.Group), LiveData: group}, broker: broker}
}

func TestRowsAndColumnsReachTheLog(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	before := time.Now()
	got := decode[accepted](t, l.post(t, ingestPath, `{"source":"boiler","tags":{"room":"A"},"points":[
		{"metric":"temp","timestamp":"2026-03-01T00:00:00.000001Z","value":1.5},
		{"metric":"temp","timestamp":1772323201000,"value":true,"tags":{"room":"B"}},
		{"sourceId":"`+
		strings.ToUpper(made.ID)+`","metric":"door","timestamp":"2026-03-01T01:00:02+01:00","value":"open \"wide\""},
		{"metric":"now","value":-0}]}`), http.StatusCreated)
	require.Equal(t, 4, got.Accepted)
	require.Zero(t, got.Rejected)
	require.NotNil(t, got.Errors)
	require.NotEmpty(t, got.Checkpoint)
	got = decode[accepted](
		t,
		l.post(
			t, ingestPath,
			`{"precision":"s","series":[{"sourceId":"`+
				made.ID+`","metric":"load","timestamps":[1772323200,1772323201],"values":[1,2]}]}`,
		),
		http.StatusCreated,
	)
	require.Equal(t, 2, got.Accepted)

	lines := readPointsLog(t, l.broker)
	require.Len(t, lines, 6)
	for _, want := range []string{
		"temp [{room A}] 2026-03-01T00:00:00.000001Z=1.5", "temp [{room B}] 2026-03-01T00:00:01Z=1",
		`door [{room A}] 2026-03-01T00:00:02Z="open \"wide\""`,
		"load [] 2026-03-01T00:00:00Z=1", "load [] 2026-03-01T00:00:01Z=2",
	} {
		require.Contains(t, lines, made.ID+" "+want)
	}
	var list []map[string]any
	require.EqualValues(t, 5, l.Get(t, "/api/live-data/series", &list).Meta.Total)
	for _, line := range lines {
		if strings.Contains(line, " now ") {
			text := line[strings.Index(line, "] ")+2 : strings.LastIndex(line, "=")]
			when, err := time.Parse(time.RFC3339Nano, text)
			require.NoError(t, err)
			require.WithinRange(t, when, before.Add(-time.Second), time.Now())
		}
	}
}

func TestRejectedPointsAreReportedAndTheRestIsAccepted(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	other := l.NewWorkspace(t, apikey.Live)
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	foreign := decode[source](
		t,
		l.Do(t, contract.Request{
			Method: "POST", Path: "/api/live-data/sources", Body: `{"name":"foreign"}`, Key: key, Workspace: other.String(),
		}),
		201,
	)
	future := time.Now().Add(25 * time.Hour).UTC().Format(time.RFC3339)
	body := `{"sourceId":"` + made.ID + `","metric":"m","points":[
		{"timestamp":"2026-03-01T00:00:00Z","value":1},
		{"timestamp":"1969-12-31T23:59:59Z","value":1},
		{"timestamp":"` + future + `","value":1},
		{"timestamp":"2026-02-30T00:00:00Z","value":1},
		{"timestamp":"2026-03-01T00:00:00Z","value":1e400},
		{"sourceId":"` + foreign.ID + `","value":1},
		{"sourceId":"` + uuid.NewString() + `","value":1},
		{"sourceId":"x","value":1},
		{"timestamp":"2026-03-01T00:00:01Z","value":"` + strings.Repeat("x", 1025) + `"}]}`
	got := decode[accepted](t, l.post(t, ingestPath, body), http.StatusCreated)
	require.Equal(t, 1, got.Accepted)
	require.Equal(t, 8, got.Rejected)
	fields, count := []string{}, 0
	for _, e := range got.Errors {
		fields = append(fields, e.Field)
		count += e.Count
	}
	require.Equal(t, 8, count)
	require.Subset(t, fields, []string{
		"points[1].timestamp", "points[2].timestamp", "points[3].timestamp", "points[4].value", "points[5].sourceId",
		"points[8].value",
	})
	require.Len(t, readPointsLog(t, l.broker), 1, "what is rejected is not there")

	strict := l.post(t, ingestPath+"?strict=true", body)
	strict.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{
		"accepted": 0.0, "field": "points[1].timestamp",
	})
	require.NotEmpty(t, strict.Error.Details["errors"])
	all := l.post(t, ingestPath, `{"points":[{"sourceId":"`+foreign.ID+`","metric":"m","value":1}]}`)
	all.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{
		"accepted": 0.0, "rejected": 1.0, "field": "points[0].sourceId",
	})
	require.Len(t, readPointsLog(t, l.broker), 1)

	columns := decode[accepted](
		t,
		l.post(
			t, ingestPath,
			`{"series":[{"sourceId":"`+
				made.ID+`","metric":"c","timestamps":[1772323200000,-5,1772323202000],"values":[1,2,3]}]}`,
		),
		http.StatusCreated,
	)
	require.Equal(t, 2, columns.Accepted)
	require.Equal(t, 0, columns.Errors[0].Index)
	require.Equal(t, 1, *columns.Errors[0].Position)
	require.Equal(t, "series[0].timestamps[1]", columns.Errors[0].Field)
}

// badIngest returns bad bodies of points, some of the existing source made. If the field is
// empty, it depends on the parser.
func badIngest(made source) []refusal {
	point := func(fields string) string { return `{"points":[{"sourceId":"` + made.ID + `",` + fields + `}]}` }
	return []refusal{
		{`{"points":[]}`, 422, "points"}, {`{"series":[]}`, 422, "series"}, {`{}`, 400, ""}, {`[]`, 400, "body"},
		{`null`, 400, "body"}, {` `, 400, "body"}, {"\ufeff{}", 400, ""},
		{point(`"metric":"m","value":1`) + "x", 400, "body"},
		{point(`"metric":"m","value":1,"value":2`), 400, "points[0].value"},
		{point(`"metric":"m","Value":1`), 400, "points[0].Value"},
		{point(`"metric":"m"`), 400, "points[0].value"}, {point(`"value":1`), 400, "points[0].metric"},
		{`{"points":[{"metric":"m","value":1}]}`, 400, ""}, {point(`"metric":1,"value":1`), 400, "points[0].metric"},
		{point(`"metric":"m","value":null`), 400, "points[0].value"},
		{point(`"metric":"m","value":[1]`), 400, "points[0].value"}, {point(`"metric":"m","value":NaN`), 400, ""},
		{point(`"metric":"m","value":01`), 400, ""},
		{point(`"metric":"m","value":1,"tags":[]`), 400, "points[0].tags"},
		{point(`"metric":"m","value":1,"tags":{"a":1}`), 400, "points[0].tags.a"},
		{point(`"metric":"m","value":1,"tags":{"a":"1","a":"2"}`), 400, ""},
		{point(`"metric":"m","value":1,"timestamp":true`), 400, "points[0].timestamp"},
		{point(`"metric":"m` + "\xff" + `","value":1`), 400, ""}, {point(`"metric":"\ud800","value":1`), 400, ""},
		{point(`"metric":"m","source":"boiler","value":1`), 400, ""}, {`{"points":[],"series":[]}`, 400, ""},
		{`{"precision":"h","points":[]}`, 422, "precision"}, {`{"precision":1,"points":[]}`, 400, "precision"},
		{`{"series":[{"sourceId":"` + made.ID + `","metric":"m","timestamps":[1,2],"values":[1]}]}`, 422, "series[0].values"},
		{strings.Repeat("[", 10_000), 400, ""}, {`{"points":` + strings.Repeat(`[`, 100_000), 400, ""},
		{point(`"metric":"m","value":1,}`), 400, ""}, {point(`"metric":"m","value":/**/1`), 400, ""},
		{`{"workspace":"x","points":[]}`, 400, "workspace"},
		{point(`"metric":"","value":1`), 422, "points[0].metric"},
		{point(`"metric":"\u0000","value":1`), 422, "points[0].metric"},
		{point(`"metric":"` + strings.Repeat("m", 257) + `","value":1`), 422, "points[0].metric"},
		{point(`"metric":"m","timestamp":9223372036854775807,"value":1`), 422, "points[0].timestamp"},
		{point(`"metric":"m","timestamp":1.5,"value":1`), 422, "points[0].timestamp"},
	}
}

func TestIngestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	point := func(fields string) string { return `{"points":[{"sourceId":"` + made.ID + `",` + fields + `}]}` }
	for _, c := range badIngest(made) {
		a := l.post(t, ingestPath, c.body)
		require.Equal(t, c.status, a.Status, "%.120s: %s", c.body, a.Body)
		require.Equal(t, validation, a.Error.Code)
		if c.field != "" {
			require.Equal(t, c.field, a.Error.Details["field"], "%.120s: %s", c.body, a.Body)
		}
	}
	good := point(`"metric":"m","value":1`)
	for query, field := range map[string]string{
		"strict=1": "strict", "strict=": "strict", "strict=true&strict=true": "strict", "precision=s": "precision",
	} {
		l.post(t, ingestPath+"?"+query, good).RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
	require.Empty(t, readPointsLog(t, l.broker), "nothing of it is there")
	for _, text := range hostile {
		body, err := json.Marshal(map[string]any{"points": []any{map[string]any{
			"sourceId": made.ID, "metric": text, "value": text, "tags": map[string]string{text: text},
		}}})
		require.NoError(t, err)
		require.Equal(t, 1, decode[accepted](t, l.post(t, ingestPath, string(body)), http.StatusCreated).Accepted)
	}
	require.Len(t, readPointsLog(t, l.broker), len(hostile))
}

func TestIngestTakesEncodedBodiesAndBoundsThem(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	good := []byte(`{"points":[{"sourceId":"` + made.ID + `","metric":"m","value":1}]}`)
	send := func(body []byte, header map[string]string) *contract.Answer {
		return l.Do(t, contract.Request{Method: "POST", Path: ingestPath, Body: string(body), Header: header})
	}
	encoded := map[string]func([]byte) []byte{
		"gzip": func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			_, _ = w.Write(b)
			_ = w.Close()
			return out.Bytes()
		},
		"zstd":   func(b []byte) []byte { w, _ := zstd.NewWriter(nil); return w.EncodeAll(b, nil) },
		"snappy": func(b []byte) []byte { return snappy.Encode(nil, b) },
	}
	huge := bytes.Repeat([]byte(" "), 33<<20)
	for name, encode := range encoded {
		header := map[string]string{"Content-Encoding": name}
		require.Equal(t, http.StatusCreated, send(encode(good), header).Status, name)
		send(encode(good)[:20], header).RequireFailure(t, 400, validation, "", map[string]any{"field": "body"})
		send(encode(huge), header).RequireFailure(t, 413, validation, "", map[string]any{"limit": float64(32 << 20)})
	}
	send(huge, nil).RequireFailure(t, 413, validation, "", map[string]any{"field": "body", "limit": float64(32 << 20)})
	send(good, map[string]string{"Content-Encoding": "br"}).RequireFailure(t, 415, validation, "", map[string]any{
		"field": "Content-Encoding",
	})
	for _, contentType := range []string{"text/html", "application/xml", "", "application/json; charset=latin1"} {
		send(good, map[string]string{"Content-Type": contentType}).RequireFailure(t, 415, validation, "", map[string]any{
			"field":   "Content-Type",
			"allowed": []any{"application/json", "application/x-ndjson", "text/plain", "application/x-protobuf"},
		})
	}
	require.Equal(
		t, http.StatusCreated, send(good, map[string]string{"Content-Type": "application/json; charset=UTF-8"}).Status,
	)
}

func TestWithTheLogStoppedIngestIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	broker := kafkatest.NewKFake(t)
	group := &contract.LiveData{Log: contract.OpenLog(t, broker)}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	good := `{"points":[{"sourceId":"` + made.ID + `","metric":"m","timestamp":"2026-03-01T00:00:00Z","value":1}]}`
	require.Equal(t, http.StatusCreated, l.post(t, ingestPath, good).Status)
	broker.Stop(t)
	require.Eventually(t, func() bool { return !l.Log.Healthy() }, time.Minute, 20*time.Millisecond)
	began := time.Now()
	a := l.post(t, ingestPath, good)
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Equal(t, "INTERNAL_ERROR", a.Error.Code)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.Less(t, time.Since(began), time.Second)
	broker.Start(t)
	require.Eventually(t, func() bool {
		return l.post(t, ingestPath, good).Status == http.StatusCreated
	}, time.Minute, 50*time.Millisecond)
}

func TestAChangeOfSourcesAppliesToTheNextIngest(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	send := func(source string) int {
		return l.post(t, ingestPath, `{"points":[{"source":"`+source+`","metric":"m","value":1}]}`).Status
	}
	require.Equal(t, http.StatusUnprocessableEntity, send("boiler"))
	made := l.createSource(t, `{"name":"boiler"}`)
	require.Equal(t, http.StatusCreated, send("boiler"))
	l.Do(t, contract.Request{Method: "PATCH", Path: "/api/live-data/sources/" + made.ID, Body: `{"name":"kettle"}`})
	require.Equal(t, http.StatusUnprocessableEntity, send("boiler"))
	require.Equal(t, http.StatusCreated, send("kettle"))
	l.Do(t, contract.Request{Method: "DELETE", Path: "/api/live-data/sources/" + made.ID})
	require.Equal(t, http.StatusUnprocessableEntity, send("kettle"))
	lines := readPointsLog(t, l.broker)
	require.Len(t, lines, 3)
	require.Equal(t, "deleted "+made.ID+" true", lines[2])
}

func TestTheWorkspacesLimitOfSeriesRejectsPoints(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	_, err := l.DB.UpdateWorkspace(t.Context(), l.Workspace, limitOfSeries(3))
	require.NoError(t, err)
	var points []string
	for i := range 5 {
		points = append(points, fmt.Sprintf(`{"metric":"m%d","value":1}`, i))
	}
	got := decode[accepted](
		t, l.post(t, ingestPath, `{"sourceId":"`+made.ID+`","points":[`+strings.Join(points, ",")+`]}`), http.StatusCreated,
	)
	require.Equal(t, 3, got.Accepted)
	require.Equal(t, 2, got.Rejected)
	require.Len(t, readPointsLog(t, l.broker), 3)
}
