package demo

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fakeGraph is the graph of a fakeServer, as the batches of commands have changed it.
type fakeGraph struct {
	nodes   map[string]fakeNode
	edges   map[string]fakeEdge
	batches int
}

type fakeNode struct {
	ID         string                    `json:"id"`
	Name       string                    `json:"name"`
	EntityType string                    `json:"entityType"`
	Properties map[string]jsontext.Value `json:"properties"`
}

func (n fakeNode) property(name string) string {
	var text string
	_ = json.Unmarshal(n.Properties[name], &text)
	return text
}

type fakeEdge struct {
	ID         string                    `json:"id"`
	Source     string                    `json:"sourceId"`
	Target     string                    `json:"targetId"`
	Relation   string                    `json:"relationType"`
	Properties map[string]jsontext.Value `json:"properties"`
}

func (g *fakeGraph) serve(p *fakeServer, w http.ResponseWriter, r *http.Request, body io.Reader) bool {
	switch route := r.Method + " " + r.URL.Path; {
	case route == "POST /api/commands/batch":
		g.batch(p, w, body)
	case route == "GET /api/queries/nodes":
		owner, kind := r.URL.Query().Get("property.managedBy"), r.URL.Query().Get("property.kind")
		list := []fakeNode{}
		for _, id := range slices.Sorted(maps.Keys(g.nodes)) {
			n := g.nodes[id]
			if (owner == "" || n.property("managedBy") == owner) && (kind == "" || n.property("kind") == kind) {
				list = append(list, n)
			}
		}
		p.answer(w, 200, list)
	case route == "GET /api/queries/edges":
		p.answer(w, 200, slices.Collect(maps.Values(g.edges)))
	case strings.HasSuffix(route, "/neighbors"):
		p.answer(w, 200, []map[string]any{{"depth": 1, "node": map[string]string{"id": "id-neighbor"}}})
	case route == "POST /api/rag/hybrid-search":
		var q struct {
			Query string `json:"query"`
		}
		if err := json.UnmarshalRead(body, &q); err != nil || q.Query == "" {
			p.fail(w, 400, "VALIDATION_ERROR", "no query")
			return true
		}
		p.answer(w, 200, []map[string]any{{"score": 1, "node": map[string]string{"id": "id-found"}}})
	default:
		return false
	}
	return true
}

func (g *fakeGraph) batch(p *fakeServer, w http.ResponseWriter, body io.Reader) {
	var content struct {
		Commands []struct {
			Type    string         `json:"type"`
			Payload jsontext.Value `json:"payload"`
		} `json:"commands"`
	}
	if err := json.UnmarshalRead(body, &content); err != nil {
		p.fail(w, 400, "VALIDATION_ERROR", err.Error())
		return
	}
	g.batches++
	results := make([]map[string]any, len(content.Commands))
	for i, c := range content.Commands {
		var node fakeNode
		var edge fakeEdge
		if json.Unmarshal(c.Payload, &node) != nil || json.Unmarshal(c.Payload, &edge) != nil {
			p.fail(w, 400, "VALIDATION_ERROR", "not a payload")
			return
		}
		switch c.Type {
		case "CREATE_NODE":
			g.nodes[node.ID] = node
		case "CREATE_EDGE":
			g.edges[edge.ID] = edge
		case "DELETE_NODE":
			delete(g.nodes, node.ID)
			maps.DeleteFunc(g.edges, func(_ string, e fakeEdge) bool { return e.Source == node.ID || e.Target == node.ID })
		case "DELETE_EDGE":
			delete(g.edges, edge.ID)
		}
		results[i] = map[string]any{"index": i, "status": "applied", "data": map[string]any{"type": c.Type}}
	}
	p.answer(w, 200, map[string]any{"results": results})
}
