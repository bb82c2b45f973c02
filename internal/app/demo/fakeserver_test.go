package demo

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/app/client"
)

// fakeServer implements the part of the API that the demo uses, with maps as storage. It
// can refuse requests on demand, which a real server cannot. test/e2e tests the demo with a
// real server.
type fakeServer struct {
	*httptest.Server

	mu       sync.Mutex
	keys     map[string]bool              // accepted keys
	sources  map[string]string            // id by name
	links    map[string]string            // node by source's id
	points   map[string]map[int64]float64 // by series, then ms
	words    map[string]int               // count by series
	refuse   func(r *http.Request) int    // a status to refuse with, 0 to serve
	ingests  int
	made     int
	lastBody int
	graph    fakeGraph
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	p := &fakeServer{
		keys: map[string]bool{}, sources: map[string]string{},
		points: map[string]map[int64]float64{}, words: map[string]int{}, links: map[string]string{},
		graph: fakeGraph{nodes: map[string]fakeNode{}, edges: map[string]fakeEdge{}},
	}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(r.Body)
		if err != nil {
			p.fail(w, 400, "VALIDATION_ERROR", "bad gzip")
			return
		}
		body = zipped
	}
	if p.refuse != nil {
		if status := p.refuse(r); status != 0 {
			p.fail(w, status, "REFUSED", "refused by the test")
			return
		}
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch route := r.Method + " " + r.URL.Path; {
	case !p.keys[key]:
		p.fail(w, 401, "AUTHENTICATION_ERROR", "Unauthorized")
	case route == "POST /api/live-data/sources":
		p.createSource(w, body)
	case route == "GET /api/live-data/sources":
		p.listSources(w, r.URL.Query().Get("name"))
	case route == "POST /api/live-data/ingest":
		p.ingest(w, body)
	case route == "GET /api/live-data/query":
		p.query(w, r)
	case strings.HasPrefix(route, "PATCH /api/live-data/sources/"):
		p.linkSource(w, r.URL.Path[len("/api/live-data/sources/"):], body)
	default:
		if !p.graph.serve(p, w, r, body) {
			p.fail(w, 404, "NOT_FOUND", "no such route")
		}
	}
}

func (p *fakeServer) linkSource(w http.ResponseWriter, id string, body io.Reader) {
	var patch struct {
		NodeID string `json:"nodeId"`
	}
	if err := json.UnmarshalRead(body, &patch); err != nil {
		p.fail(w, 400, "VALIDATION_ERROR", err.Error())
		return
	}
	p.links[id] = patch.NodeID
	p.answer(w, 200, client.Source{ID: id, NodeID: patch.NodeID})
}

func (*fakeServer) fail(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"success":false,"error":{"code":%q,"message":%q},"requestId":"req_x"}`, code, message)
}

func (*fakeServer) answer(w http.ResponseWriter, status int, data any) {
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, map[string]any{"success": true, "data": data, "requestId": "req_x"})
}

func (p *fakeServer) createSource(w http.ResponseWriter, body io.Reader) {
	var s client.Source
	if err := json.UnmarshalRead(body, &s); err != nil || s.Name == "" {
		p.fail(w, 400, "VALIDATION_ERROR", "not a source")
		return
	}
	if _, taken := p.sources[s.Name]; taken {
		p.fail(w, 409, "CONFLICT", "the name is taken")
		return
	}
	p.made++
	s.ID = fmt.Sprintf("id-%d", p.made)
	p.sources[s.Name], p.links[s.ID] = s.ID, s.NodeID
	p.answer(w, 201, s)
}

func (p *fakeServer) listSources(w http.ResponseWriter, name string) {
	list := []client.Source{}
	for _, known := range slices.Sorted(maps.Keys(p.sources)) {
		if strings.Contains(strings.ToLower(known), strings.ToLower(name)) {
			list = append(list, client.Source{ID: p.sources[known], Name: known, NodeID: p.links[p.sources[known]]})
		}
	}
	p.answer(w, 200, list)
}

func (p *fakeServer) ingest(w http.ResponseWriter, body io.Reader) {
	var content struct {
		Points []client.Point `json:"points"`
		Series []struct {
			SourceID   string            `json:"sourceId"`
			Metric     string            `json:"metric"`
			Tags       map[string]string `json:"tags"`
			Timestamps []int64           `json:"timestamps"`
			Values     []any             `json:"values"`
		} `json:"series"`
	}
	if err := json.UnmarshalRead(body, &content); err != nil {
		p.fail(w, 400, "VALIDATION_ERROR", err.Error())
		return
	}
	p.ingests++
	known := map[string]bool{}
	for _, id := range p.sources {
		known[id] = true
	}
	var receipt client.Receipt
	put := func(source, metric string, tags map[string]string, at int64, value any) {
		if !known[source] {
			receipt.Rejected++
			return
		}
		receipt.Accepted++
		series := source + " " + metric
		for k, v := range tags {
			series += " " + k + "=" + v
		}
		number, isNumber := value.(float64)
		if !isNumber {
			p.words[series]++
		}
		if p.points[series] == nil {
			p.points[series] = map[int64]float64{}
		}
		p.points[series][at] = number
	}
	for _, point := range content.Points {
		put(p.sources[point.Source], point.Metric, point.Tags, point.Timestamp, point.Value)
	}
	for _, s := range content.Series {
		for i, at := range s.Timestamps {
			put(s.SourceID, s.Metric, s.Tags, at, s.Values[i])
		}
	}
	p.lastBody = receipt.Accepted
	if receipt.Accepted == 0 {
		p.fail(w, 422, "VALIDATION_ERROR", "points[0].sourceId: unknown source")
		return
	}
	if receipt.Rejected > 0 {
		receipt.Errors = []client.Rejection{{Field: "points[0].sourceId", Reason: "unknown source", Count: receipt.Rejected}}
	}
	receipt.Checkpoint = "checkpoint"
	p.answer(w, 201, receipt)
}

func (p *fakeServer) query(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	names := map[string]string{}
	for name, id := range p.sources {
		names[id] = name
	}
	results := []client.Result{}
	for _, series := range slices.Sorted(maps.Keys(p.points)) {
		parts := strings.SplitN(series, " ", 3)
		if (q.Has("sourceId") && !slices.Contains(q["sourceId"], parts[0])) ||
			(q.Has("metric") && !slices.Contains(q["metric"], parts[1])) {
			continue
		}
		result := client.Result{
			SourceID: parts[0], SourceName: names[parts[0]], Metric: parts[1],
			Tags: map[string]string{}, Columns: []string{"timestamp", "value"},
		}
		if len(parts) == 3 {
			tag, value, _ := strings.Cut(parts[2], "=")
			result.Tags[tag] = value
		}
		times := slices.Sorted(maps.Keys(p.points[series]))
		switch {
		case q.Get("aggregation") == "count":
			result.Columns[1] = "count"
			result.Points = [][]any{{times[0], len(times)}}
		case q.Get("latest") == "true":
			last := times[len(times)-1]
			result.Points = [][]any{{last, p.points[series][last]}}
		default:
			for _, at := range times {
				result.Points = append(result.Points, []any{at, p.points[series][at]})
			}
		}
		results = append(results, result)
	}
	p.answer(w, 200, results)
}

// locked runs work while no request is served.
func (p *fakeServer) locked(work func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	work()
}
