package retrieval

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// memory is a reference implementation of Graph for one workspace.
type memory struct {
	nodes   map[uuid.UUID]graph.Node
	edges   map[uuid.UUID]graph.Edge
	edgesOf map[uuid.UUID][]uuid.UUID // node -> its edges
	steps   []Step
	err     error // of the walk

	markReads int // calls of ReadMarks
}

func newMemory() *memory {
	return &memory{
		nodes: map[uuid.UUID]graph.Node{}, edges: map[uuid.UUID]graph.Edge{}, edgesOf: map[uuid.UUID][]uuid.UUID{},
	}
}

func (m *memory) node(n graph.Node) { m.nodes[n.ID] = n }

func (m *memory) edge(e graph.Edge) {
	m.edges[e.ID] = e
	m.edgesOf[e.SourceID] = append(m.edgesOf[e.SourceID], e.ID)
	if e.TargetID != e.SourceID {
		m.edgesOf[e.TargetID] = append(m.edgesOf[e.TargetID], e.ID)
	}
}

func passes(n graph.Node, f Filter) bool {
	if n.Deleted || len(f.EntityTypes) > 0 && !slices.Contains(f.EntityTypes, string(n.EntityType)) {
		return false
	}
	for name, values := range f.Properties {
		if !slices.ContainsFunc(values, func(v jsontext.Value) bool { return string(v) == string(n.Properties[name]) }) {
			return false
		}
	}
	return true
}

func (m *memory) ReadNodes(
	_ context.Context, _ uuid.UUID, ids []uuid.UUID, f Filter,
) (map[uuid.UUID]graph.Node, error) {
	found := map[uuid.UUID]graph.Node{}
	for _, id := range ids {
		if n, ok := m.nodes[id]; ok && passes(n, f) {
			found[id] = n
		}
	}
	return found, nil
}

func (m *memory) FilterNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f Filter,
) (list []uuid.UUID, err error) {
	found, err := m.ReadNodes(ctx, workspace, ids, f)
	for id := range found {
		list = append(list, id)
	}
	return list, err
}

func (m *memory) MatchingNodes(
	_ context.Context, _ uuid.UUID, f Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	for id, n := range m.nodes {
		if passes(n, f) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, uuids.Compare)
	return ids[:min(len(ids), limit)], len(ids) > limit, nil
}

func (m *memory) DocumentParts(
	_ context.Context, _ uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]DocumentPart, error) {
	parts := map[uuid.UUID]DocumentPart{}
	for _, id := range ids {
		if n, ok := m.nodes[id]; ok {
			if mark := document.MarkOf(&n); mark != nil {
				parts[id] = DocumentPart{Document: mark.ID, Passage: mark.Passage != nil}
			}
		}
	}
	return parts, nil
}

func (m *memory) ReadMarks(_ context.Context, _ uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Node, error) {
	m.markReads++
	found := map[uuid.UUID]graph.Node{}
	for _, id := range ids {
		if n, ok := m.nodes[id]; ok && !n.Deleted {
			mark := graph.Node{ID: id, EntityType: n.EntityType}
			if value, ok := n.Properties[document.Key]; ok {
				mark.Properties = graph.Properties{document.Key: value}
			}
			found[id] = mark
		}
	}
	return found, nil
}

func (m *memory) ReadEdges(_ context.Context, _ uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Edge, error) {
	found := map[uuid.UUID]graph.Edge{}
	for _, id := range ids {
		if e, ok := m.edges[id]; ok && !e.Deleted {
			found[id] = e
		}
	}
	return found, nil
}

func (m *memory) WalkEdges(_ context.Context, _ uuid.UUID, step Step) (w WalkResult, err error) {
	m.steps = append(m.steps, step)
	if m.err != nil {
		return w, m.err
	}
	seen := map[uuid.UUID]bool{}
	for _, id := range step.Frontier {
		type kind struct {
			out      bool
			relation string
		}
		kinds, counts := map[kind]int{}, map[kind]int{}
		kindOf := func(e graph.Edge) kind {
			k := kind{out: e.SourceID == id}
			if step.ByRelation {
				k.relation = e.RelationType
			}
			return k
		}
		for _, at := range m.edgesOf[id] {
			kinds[kindOf(m.edges[at])]++
		}
		for _, at := range m.edgesOf[id] {
			e := m.edges[at]
			if e.Deleted || len(step.RelationTypes) > 0 && !slices.Contains(step.RelationTypes, e.RelationType) {
				continue
			}
			other := e.TargetID
			if e.SourceID != id {
				other = e.SourceID
			}
			if step.Direction == Outgoing && e.SourceID != id || step.Direction == Incoming && e.TargetID != id {
				continue
			}
			limit := step.MaxPerNode
			if step.ByRelation {
				limit = max(1, step.MaxPerNode/len(kinds))
			}
			if counts[kindOf(e)]++; counts[kindOf(e)] > limit || len(w.Edges) == step.Limit {
				w.Truncated = true
				if len(w.TruncatedNodes) == 0 || w.TruncatedNodes[len(w.TruncatedNodes)-1] != id {
					w.TruncatedNodes = append(w.TruncatedNodes, id)
				}
				continue
			}
			if !seen[at] && passes(m.nodes[other], step.Filter) {
				seen[at] = true
				w.Edges = append(w.Edges, Link{at, e.SourceID, e.TargetID})
			}
		}
	}
	slices.SortFunc(w.Edges, func(a, b Link) int { return uuids.Compare(a.Edge, b.Edge) })
	return w, nil
}

// fakeLanes are lanes and an embedder with preset results.
type fakeLanes struct {
	text           []TextHit
	names          []NamedNode
	vectors        []VectorHit
	model          embed.Model
	errText        error
	errVector      error
	errEmbed       error
	errTexts       error
	texts          [][]string // batches of embedded texts
	otherModel     string     // another model that it embeds
	embeddedModels []string   // models of the embedded queries
	textCalls      int        // number of text searches
	limits         []int      // limits of the vector searches
	filters        []VectorFilter
}

func (s *fakeLanes) SearchText(
	_ context.Context, _ uuid.UUID, _ string, _ Filter, limit, named int,
) (TextFindings, error) {
	s.textCalls++
	if s.errText != nil {
		return TextFindings{}, s.errText
	}
	return TextFindings{Hits: s.text[:min(limit, len(s.text))], Named: s.names[:min(named, len(s.names))]}, nil
}

func (s *fakeLanes) LiveIndex(context.Context) (Index, error) { return Index{"live", s.model}, nil }

func (s *fakeLanes) Nearest(
	_ context.Context, _ Index, _ uuid.UUID, _ embed.Vector, near VectorFilter, limit int,
) ([]VectorHit, error) {
	s.limits, s.filters = append(s.limits, limit), append(s.filters, near)
	var hits []VectorHit
	for _, h := range s.vectors {
		if (near.Nodes == nil || slices.Contains(near.Nodes, h.Node)) && len(hits) < limit {
			hits = append(hits, h)
		}
	}
	return hits, s.errVector
}

func (s *fakeLanes) Model() embed.Model { return embed.Model{Name: "new", Dimensions: 2} }

func (s *fakeLanes) EmbedQuery(_ context.Context, model embed.Model, _ string) (embed.Vector, error) {
	if model != s.Model() && model.Name != s.otherModel {
		return nil, embed.ErrOtherModel
	}
	s.embeddedModels = append(s.embeddedModels, model.Name)
	return embed.Vector{1, 0}, s.errEmbed
}

func (s *fakeLanes) EmbedTexts(ctx context.Context, texts []string) ([]embed.Vector, error) {
	s.texts = append(s.texts, texts)
	if s.errTexts != nil {
		return nil, s.errTexts
	}
	return embed.NewStatic().Embed(ctx, texts)
}

func newFakeLanes() *fakeLanes { return &fakeLanes{model: embed.Model{Name: "new", Dimensions: 2}} }

func (s *fakeLanes) engine(m *memory) *Engine {
	return New(Deps{Text: s, Vectors: s, Graph: m, Embedder: s})
}

var errUnavailable = fault.New(fault.Unavailable, "unavailable")
