package traffic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// request is what is asked.
type request struct {
	method, path, body string
	lines              bool // the body is line protocol, not JSON
	session            bool // asked by an operator's session, not by a key
	stream             bool
	done               func(ok bool) // called when it is answered, or not
}

// kind is a kind of request.
type kind struct {
	name   string
	weight int // how often it is made, beside the others
	make   func(n int64) request
}

// Parts of the points: each of so many hosts has so many metrics.
const (
	hosts   = 20
	metrics = 10
	steps   = 20 // of time, in a request
	// Recent is the range of time that queries are about.
	Recent = 2 * time.Minute
)

// mix are the kinds, in the order of the table.
func (f *Traffic) mix() []kind {
	return []kind{
		{"points, JSON series", 25, f.series},
		{"points, lines", 15, f.lines},
		{"commands", 15, f.command},
		{"batches of commands", 5, f.batch},
		{"queries of points", 15, f.query},
		{"queries of the graph", 12, f.graph},
		{"searches", 11, f.search},
		{"reads of operators", 2, f.operate},
	}
}

// Kinds are their names.
func (f *Traffic) Kinds() []string {
	var names []string
	for _, k := range f.kinds {
		names = append(names, k.name)
	}
	return append(names, streams)
}

// series are two hundred points of a host: ten metrics, twenty times each.
func (f *Traffic) series(n int64) request {
	var text strings.Builder
	fmt.Fprintf(&text, `{"sourceId":%q,"tags":{"host":"h%d"},"series":[`, f.source, n%hosts)
	at := time.Now().UnixMilli()
	for metric := range metrics {
		if metric > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"metric":"m%d","timestamps":[`, metric)
		for step := range int64(steps) {
			if step > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "%d", at-step)
		}
		text.WriteString(`],"values":[` + strings.Repeat(fmt.Sprintf("%.2f,", rand.Float64()*100), steps-1) + "21]}")
	}
	text.WriteString("]}")
	return request{method: http.MethodPost, path: "/api/live-data/ingest", body: text.String()}
}

// lines are as many points in line protocol.
func (f *Traffic) lines(n int64) request {
	var text strings.Builder
	at := time.Now().UnixMilli()
	for step := range int64(steps) {
		fmt.Fprintf(&text, "%s,host=h%d ", sourceName, n%hosts)
		for metric := range metrics {
			if metric > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "m%d=%.2f", metric, rand.Float64()*100)
		}
		fmt.Fprintf(&text, " %d\n", at-step)
	}
	return request{method: http.MethodPost, path: "/api/live-data/ingest?precision=ms", body: text.String(), lines: true}
}

// query asks for what was recent.
func (f *Traffic) query(n int64) request {
	path := fmt.Sprintf("/api/live-data/query?sourceId=%s&metric=m%d", f.source, n%metrics)
	switch n % 3 {
	case 0:
		path += "&latest=true"
	default:
		now := time.Now()
		path += fmt.Sprintf("&aggregation=avg,max&interval=10s&from=%d&to=%d", now.Add(-Recent).UnixMilli(), now.UnixMilli())
	}
	return request{method: http.MethodGet, path: path}
}

// graph reads nodes: a page, those of a name, or what is around one.
func (f *Traffic) graph(n int64) request {
	switch n % 3 {
	case 0:
		return request{method: http.MethodGet, path: "/api/queries/nodes?limit=20"}
	case 1:
		return request{method: http.MethodGet, path: "/api/queries/history?limit=20"}
	}
	id, back := f.nodes.borrow()
	if id == "" {
		return f.graph(0)
	}
	return request{method: http.MethodGet, path: "/api/queries/nodes/" + id + "/neighbors", done: func(bool) { back() }}
}

func (f *Traffic) search(n int64) request {
	path := []string{"/api/rag/search", "/api/rag/hybrid-search"}[n%2]
	return request{method: http.MethodPost, path: path, body: fmt.Sprintf(
		`{"query":"%s %s","limit":10}`, subject(), subject(),
	)}
}

func (f *Traffic) operate(n int64) request {
	switch n % 4 {
	case 0:
		return request{method: http.MethodGet, path: "/api/admin/audit?limit=20"}
	case 1:
		return request{method: http.MethodGet, path: "/api/admin/usage"}
	case 2:
		return request{method: http.MethodGet, path: "/api/rag/index/status"}
	default:
		return request{method: http.MethodGet, path: "/admin/api/topics", session: true}
	}
}

// command creates, changes or deletes a node, so that there are about as many after as
// before, once there are enough.
func (f *Traffic) command(n int64) request {
	full := f.nodes.full()
	switch {
	case n%2 == 0:
		if id, back := f.nodes.borrow(); id != "" {
			return f.execute("UPDATE_NODE", map[string]any{"id": id, "properties": map[string]any{"n": n}}, func(bool) {
				back()
			})
		}
	case full:
		if id, _ := f.nodes.borrow(); id != "" { // and never given back
			return f.execute("DELETE_NODE", map[string]any{"id": id}, nil)
		}
	}
	id := uuid.NewString()
	return request{method: http.MethodPost, path: "/api/commands/execute", body: encode(f.nodes.create(id)),
		done: func(ok bool) {
			if ok {
				f.nodes.put(id)
			}
		}}
}

// batch makes two nodes with an edge between them, and deletes two when there are enough.
func (f *Traffic) batch(int64) request {
	first, second := uuid.NewString(), uuid.NewString()
	commands := []any{
		f.nodes.create(first), f.nodes.create(second),
		map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"sourceId": first, "targetId": second, "relationType": "feeds",
		}},
	}
	if f.nodes.full() {
		for range 2 {
			if id, _ := f.nodes.borrow(); id != "" {
				commands = append(commands, map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": id}})
			}
		}
	}
	return request{method: http.MethodPost, path: "/api/commands/batch",
		body: encode(map[string]any{"commands": commands}),
		done: func(ok bool) {
			if ok {
				f.nodes.put(first)
				f.nodes.put(second)
			}
		}}
}

func (f *Traffic) execute(kind string, payload map[string]any, done func(bool)) request {
	return request{
		method: http.MethodPost, path: "/api/commands/execute",
		body: encode(map[string]any{"type": kind, "payload": payload}), done: done,
	}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a body of our own cannot be encoded: %v", err))
	}
	return string(raw)
}
