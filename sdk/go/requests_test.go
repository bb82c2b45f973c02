package livegraph_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

func TestARequestHasTheKeyTheWorkspaceAndACompressedBody(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		succeed(w, `{"accepted":100,"rejected":0,"errors":[],"checkpoint":"c"}`)
	})
	client := s.client(t)
	points := make([]livegraph.Point, 100)
	for i := range points {
		points[i] = livegraph.Point{Source: "s", Metric: "m", Value: i, Timestamp: i}
	}
	result, err := client.Points.Write(t.Context(), points, livegraph.WriteOptions{Precision: livegraph.PrecisionMs})
	noError(t, err)
	equal(t, "c", result.Checkpoint)
	r := s.all()[0]
	equal(t, "Bearer "+testKey, r.header.Get("Authorization"))
	equal(t, workspace, r.header.Get("X-Workspace-Id"))
	equal(t, "livegraph-go/"+livegraph.Version, r.header.Get("User-Agent"))
	equal(t, "gzip", r.header.Get("Content-Encoding"))
	equal(t, 100, len(r.json(t)["points"].([]any)))
	check(t, !strings.Contains(client.String(), testKey), "%s", client)
}

func TestFiltersAreParameters(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { page(w, "[]", false, "null") })
	client := s.client(t)
	at := time.Date(2026, 11, 21, 7, 40, 0, 0, time.UTC)
	_, err := client.Nodes.List(t.Context(), livegraph.NodeFilter{
		ResourceFilter: livegraph.ResourceFilter{
			IDs: []string{"a", "b"}, Properties: livegraph.Where("a.b", "c d", "e"), CreatedAfter: livegraph.At(at),
			PropertyMin: livegraph.Where("n", "1.5"), PropertyMax: livegraph.Where("at", "2026"),
			PropertyPrefix: livegraph.Where("serial", "A", "B"), Sort: "-name",
		},
		Name: "pump", EntityTypes: []livegraph.EntityType{livegraph.EntityTypeObject},
	}, livegraph.Paging{Limit: 7, Offset: 3})
	noError(t, err)
	_, err = client.Points.Aggregate(t.Context(), livegraph.PointQuery{
		SeriesFilter: livegraph.SeriesFilter{Source: "s", Tags: livegraph.Where("room", "cellar")},
		From:         livegraph.RelativeTime(-15 * time.Minute), Interval: "1m",
	}, livegraph.Paging{}, "avg", "max")
	noError(t, err)
	equal(
		t, "createdAfter=2026-11-21T07%3A40%3A00Z&entityType=object&ids=a&ids=b&limit=7&name=pump&offset=3&"+
			"property.a.b=c+d&property.a.b=e&propertyMax.at=2026&propertyMin.n=1.5&propertyPrefix.serial=A&"+
			"propertyPrefix.serial=B&sort=-name", s.all()[0].query.Encode(),
	)
	equal(t, "aggregation=avg%2Cmax&from=-900s&interval=1m&limit=100&source=s&tag.room=cellar", s.all()[1].query.Encode())
}

func TestIdsArePartsOfThePath(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { succeed(w, "{}") })
	client := s.client(t)
	_, err := client.Documents.Get(t.Context(), "notes/a b?.md")
	noError(t, err)
	equal(t, "/api/documents/notes%2Fa%20b%3F.md", s.all()[0].path)
	for _, id := range []string{"", ".", ".."} {
		_, err := client.Documents.Get(t.Context(), id)
		check(t, err != nil, "the id %q is accepted", id)
	}
	equal(t, 1, len(s.all()))
}

func TestInvalidAddressesAndKeysAreRefused(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "://", "http://x?a=b", "http://a:b@x"} {
		_, err := livegraph.New(address, testKey)
		check(t, err != nil, "%q is accepted", address)
	}
	for _, key := range []string{"a b", "lg_live_\n", "ü"} {
		_, err := livegraph.New("http://x", key)
		check(t, err != nil && !strings.Contains(err.Error(), key), "%v", err)
	}
	t.Setenv("LIVEGRAPH_URL", "")
	_, err := livegraph.FromEnvironment()
	check(t, err != nil, "the environment is empty")
}

func TestNoErrorContainsTheKey(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			breakOff(w)
			return
		}
		fail(w, 400, "VALIDATION_ERROR")
	})
	client := s.client(t, livegraph.WithRetry(livegraph.Retry{MaxAttempts: 1}))
	for range 2 {
		_, err := client.Account(t.Context())
		check(t, err != nil && !strings.Contains(err.Error(), testKey), "%v", err)
	}
}

func TestAResponseThatIsNotOneOfTheAPI(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON": "hello", "no envelope": `{"id":"n"}`, "another type": `{"success":true,"data":"x"}`, "empty": "",
		"null": `{"success":true,"data":null,"meta":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { _, _ = w.Write([]byte(body)) })
			_, err := s.client(t).Nodes.Get(t.Context(), "n")
			var response *livegraph.ResponseError
			check(t, errors.As(err, &response) && livegraph.OutcomeUnknown(err), "%v", err)
			_, err = s.client(t).Nodes.List(t.Context(), livegraph.NodeFilter{}, livegraph.Paging{})
			check(t, errors.As(err, &response), "%v", err)
			equal(t, 2, len(s.all()))
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := serve(t, func(_ int, w http.ResponseWriter, _ *received) { succeed(w, node) })
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, err := s.client(t).Nodes.Get(t.Context(), "n")
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.Status == http.StatusTemporaryRedirect, "%v", err)
	equal(t, 0, len(other.all()))
}

func TestAnyRouteCanBeCalled(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = w.Write([]byte("a,b\n"))
	})
	response, err := s.client(t).Do(t.Context(), &livegraph.Request{
		Method: http.MethodGet, Path: "/api/live-data/query", Header: http.Header{"Accept": {"text/csv"}},
	})
	noError(t, err)
	equal(t, "a,b\n", string(response.Body))
	equal(t, "text/csv", response.Header.Get("Content-Type"))
	equal(t, "text/csv", s.all()[0].header.Get("Accept"))
}

func TestErrorsHaveWhatTheServerSent(t *testing.T) {
	body := `{"success":false,"error":{"code":"CONFLICT","message":"blocked","details":{"actualVersion":3,"new":1,
		"conflicts":[{"kind":"node","id":"n","byCommandId":"c"}]}},"requestId":"req_7"}`
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(body))
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"status":"error","errorType":"bad_data","error":"parse error"}`))
	})
	client := s.client(t)
	_, err := client.Commands.Undo(t.Context(), livegraph.UndoTarget{})
	var api *livegraph.APIError
	check(t, errors.As(err, &api), "%v", err)
	equal(t, 3, api.Details.ActualVersion)
	equal(t, "c", api.Details.Conflicts[0].ByCommandID)
	check(t, strings.Contains(string(api.RawDetails), `"new":1`), "%s", api.RawDetails)
	equal(t, "req_7", api.RequestID)
	_, err = client.Prometheus.Query(t.Context(), "sum(", livegraph.PromOptions{})
	equal(t, "400 bad_data: parse error", err.Error())
	check(t, errors.Is(err, livegraph.ErrInvalid), "%v", err)

	failed := (&livegraph.Problem{Code: "NOT_FOUND", Message: "No such node"}).Err()
	check(t, errors.Is(failed, livegraph.ErrNotFound) && !errors.Is(failed, livegraph.ErrConflict), "%v", failed)
}

func TestFieldsOfAChangeAreAbsentNullOrSet(t *testing.T) {
	text, err := json.Marshal(livegraph.SourcePatch{
		Name: livegraph.Set("<a>"), Unit: livegraph.Null[string](), Tags: livegraph.Set(map[string]*string{"room": nil}),
	})
	noError(t, err)
	equal(t, `{"name":"\u003ca\u003e","unit":null,"tags":{"room":null}}`, string(text))
}

func TestPropertiesKeepLargeIntegers(t *testing.T) {
	var p livegraph.Properties
	noError(t, json.Unmarshal([]byte(`{"a":9007199254740993,"b":1.5,"c":[1,{"d":12345678901234567890}],"e":"x"}`), &p))
	equal(t, livegraph.Properties{
		"a": json.Number("9007199254740993"), "b": 1.5,
		"c": []any{1.0, map[string]any{"d": json.Number("12345678901234567890")}}, "e": "x",
	}, p)
	text, err := json.Marshal(p)
	noError(t, err)
	check(t, strings.Contains(string(text), "9007199254740993"), "%s", text)
}

func TestResultsOfPromQLAreRead(t *testing.T) {
	results := []string{
		`{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1767225600.5,"NaN"]}]}`,
		`{"resultType":"matrix","result":[{"metric":{},"values":[[1767225600,"1.5"],[1767225601,"+Inf"]]}]}`,
		`{"resultType":"scalar","result":[1767225600,"2"]}`, `{"resultType":"string","result":[1767225600,"hello"]}`,
		`{"resultType":"vector","result":[{"metric":{},"histogram":[1767225600,{"count":"3","sum":"NaN",
			"buckets":[[3,"-0.5","0.5","1"],[0,"1","+Inf","2"]]}]}]}`,
		`{"resultType":"matrix","result":[{"metric":{},"histograms":[[1767225600,{"count":"0","sum":"0"}]]}]}`,
		`{"resultType":"matrix","result":[{"metric":{},"histograms":[[1767225600,{"count":"x","sum":"0"}]]}]}`,
	}
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		_, _ = w.Write([]byte(`{"status":"success","data":` + results[n-1] + `,"warnings":["w"]}`))
	})
	query := func() *livegraph.PromResult {
		options := livegraph.PromOptions{Timeout: 1500 * time.Millisecond}
		result, err := s.client(t).Prometheus.Query(t.Context(), "x", options)
		noError(t, err)
		return result
	}
	vector, err := query().Vector()
	noError(t, err)
	equal(t, time.UnixMilli(1767225600500).UTC(), vector[0].Point.Time)
	check(t, vector[0].Point.Value != vector[0].Point.Value && vector[0].Labels["a"] == "b", "%v", vector)
	matrix, err := query().Matrix()
	noError(t, err)
	equal(t, 1.5, matrix[0].Points[0].Value)
	result := query()
	_, err = result.Vector()
	check(t, err != nil, "a scalar is not a vector")
	scalar, err := result.Scalar()
	noError(t, err)
	equal(t, 2.0, scalar.Value)
	text, err := query().Text()
	noError(t, err)
	equal(t, "hello", text)
	vector, err = query().Vector()
	noError(t, err)
	h := vector[0].Histogram
	equal(t, time.UnixMilli(1767225600000).UTC(), h.Time)
	check(t, h.Count == 3 && math.IsNaN(h.Sum), "%+v", h)
	equal(t, []livegraph.PromBucket{
		{Lower: -0.5, Upper: 0.5, LowerInclusive: true, UpperInclusive: true, Count: 1},
		{Lower: 1, Upper: math.Inf(1), UpperInclusive: true, Count: 2},
	}, h.Buckets)
	matrix, err = query().Matrix()
	noError(t, err)
	check(t, len(matrix[0].Histograms) == 1 && len(matrix[0].Points) == 0, "%+v", matrix)
	_, err = query().Matrix()
	check(t, err != nil, "a count that is no number")
	check(t, strings.Contains(s.all()[0].body, "timeout=1.5"), "%s", s.all()[0].body)
}
