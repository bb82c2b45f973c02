package queries

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// graphStore reads the graph.
type graphStore interface {
	Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error)
	Edge(ctx context.Context, workspace, id uuid.UUID) (graph.Edge, error)
	NodeAsOf(ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment) (graphread.Past[graph.Node], error)
	EdgeAsOf(ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment) (graphread.Past[graph.Edge], error)
	Nodes(
		ctx context.Context, workspace uuid.UUID, filter graphread.NodeFilter, page graphread.Page,
	) (graphread.List[graph.Node], error)
	Edges(
		ctx context.Context, workspace uuid.UUID, filter graphread.EdgeFilter, page graphread.Page,
	) (graphread.List[graph.Edge], error)
	Neighbors(ctx context.Context, workspace uuid.UUID, q graphread.NeighborQuery) (graphread.NeighborList, error)
	Paths(ctx context.Context, workspace uuid.UUID, q graphread.PathQuery) (graphread.PathList, error)
	Subgraph(ctx context.Context, workspace uuid.UUID, q graphread.SubgraphQuery) (graphread.Subgraph, error)
	Counts(ctx context.Context, workspace uuid.UUID, limit int) (graphread.Counts, error)
	Match(ctx context.Context, workspace uuid.UUID, q graphread.PatternQuery) (graphread.PatternMatches, error)
}

func (a *api) listNodes(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	name, _ := p.String("name")
	filter := graphread.NodeFilter{Filter: graphFilter(p), EntityTypes: entityTypes(p), Name: name}
	page, cursor, format := graphPage(p, r, graphread.NodeSortFields())
	if err := p.Err(); err != nil {
		return err
	}
	return answerList(a, w, r, listRequest[graph.Node, graphjson.Node]{
		name: "nodes", parameters: []any{filter, page.Order}, page: page, cursor: cursor, show: graphjson.OfNodes,
		format: format, columns: nodeColumns, maxBytes: maxNodeBytes,
		read: func(
			ctx context.Context, workspace uuid.UUID, page graphread.Page,
		) (graphread.List[graph.Node], error) {
			return a.Graph.Nodes(ctx, workspace, filter, page)
		},
	})
}

func (a *api) listEdges(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	filter := graphread.EdgeFilter{
		Filter: graphFilter(p), RelationTypes: p.Strings("relationType"),
		SourceIDs: p.UUIDs("sourceId"), TargetIDs: p.UUIDs("targetId"), NodeIDs: p.UUIDs("nodeId"),
	}
	page, cursor, format := graphPage(p, r, graphread.EdgeSortFields())
	if err := p.Err(); err != nil {
		return err
	}
	return answerList(a, w, r, listRequest[graph.Edge, graphjson.Edge]{
		name: "edges", parameters: []any{filter, page.Order}, page: page, cursor: cursor, show: graphjson.OfEdges,
		format: format, columns: edgeColumns, maxBytes: maxEdgeBytes,
		read: func(
			ctx context.Context, workspace uuid.UUID, page graphread.Page,
		) (graphread.List[graph.Edge], error) {
			return a.Graph.Edges(ctx, workspace, filter, page)
		},
	})
}

func entityTypes(p *request.Params) []string {
	list := p.List("entityType")
	if slices.ContainsFunc(list, func(t string) bool { return !slices.Contains(graph.EntityTypes(), t) }) {
		p.Fail("entityType", "is not an entity type", graph.EntityTypes()...)
	}
	return list
}

// maxPropertyValues is the maximum number of values in all filters of properties of a request.
const maxPropertyValues = 200

// graphFilter parses the filters that nodes and edges share.
func graphFilter(p *request.Params) graphread.Filter {
	properties, prefixes := p.Family("property."), p.Family("propertyPrefix.")
	f := graphread.Filter{
		IDs:          p.UUIDs("ids"),
		CreatedAfter: p.Time("createdAfter"), CreatedBefore: p.Time("createdBefore"),
		UpdatedAfter: p.Time("updatedAfter"), UpdatedBefore: p.Time("updatedBefore"),
		Properties: make(map[string][]jsontext.Value, len(properties)),
		Bounds: graph.PropertyBounds{
			Min: bounds(p.FamilyOnce("propertyMin.")), Max: bounds(p.FamilyOnce("propertyMax.")), Prefixes: prefixes,
		},
	}
	values := len(f.Bounds.Min) + len(f.Bounds.Max)
	for name, texts := range properties {
		values += len(texts)
		for _, text := range texts {
			f.Properties[name] = append(f.Properties[name], graphread.TextValues(text)...)
		}
	}
	for _, texts := range prefixes {
		values += len(texts)
	}
	if values > maxPropertyValues {
		p.Fail("property.", fmt.Sprintf("the filters of properties have more than %d values", maxPropertyValues))
	}
	return f
}

func bounds(texts map[string]string) map[string]jsontext.Value {
	parsed := make(map[string]jsontext.Value, len(texts))
	for name, text := range texts {
		parsed[name] = graphread.TextBound(text)
	}
	return parsed
}

func graphPage(
	p *request.Params, r *http.Request, fields []string,
) (page graphread.Page, cursor string, format columns.Format) {
	for _, field := range p.Sort(fields...) {
		page.Order = append(page.Order, graphread.Order{Field: field.Name, Descending: field.Descending})
	}
	format = columns.ReadFormat(p, r.Header, columns.JSON, columns.Arrow, columns.Parquet)
	page.Limit, page.Offset, cursor = p.PagingUpTo(format.MaxLimit())
	return page, cursor, format
}

// listRequest is a request for a list of items T, which are converted to S.
type listRequest[T, S any] struct {
	name       string
	parameters any // a cursor is only valid with the same parameters
	page       graphread.Page
	cursor     string
	read       func(ctx context.Context, workspace uuid.UUID, page graphread.Page) (graphread.List[T], error)
	show       func([]T) []S
	format     columns.Format
	columns    columns.List[S]
	maxBytes   int64 // of an item
}

func answerList[T, S any](a *api, w http.ResponseWriter, r *http.Request, l listRequest[T, S]) error {
	l.format.Vary(w.Header())
	workspace := request.PrincipalOf(r.Context()).Workspace
	scope := token.ScopeOf(l.name, workspace, l.parameters)
	if l.cursor != "" {
		l.page.After = &graphread.Position{}
		if err := a.sealer.ReadCursor(l.cursor, scope, l.page.After); err != nil {
			return err
		}
	}
	var memory *budget.Share
	if l.format.IsColumns() {
		var err error
		if memory, err = a.reserve(&l.page, l.maxBytes); err != nil {
			return err
		}
		defer memory.Release()
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, err := l.read(ctx, workspace, l.page)
	if err != nil {
		return err
	}
	meta := reply.Meta{Total: found.Total, Limit: l.page.Limit, Offset: l.page.Offset, HasMore: found.Next != nil}
	if found.Next != nil {
		next, err := a.sealer.Cursor(scope, found.Next)
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	if l.format.IsColumns() {
		memory.Shrink(int64(found.Bytes) * bytesPerByte)
		l.columns.Write(w, l.format, l.show(found.Items), reply.NextPage(r.URL, meta.NextCursor))
		return nil
	}
	reply.List(w, r, l.show(found.Items), meta)
	return nil
}

func (a *api) getNode(w http.ResponseWriter, r *http.Request) error {
	workspace, id, m, err := resourceOf(r, "node")
	if err != nil {
		return err
	}
	if m.IsSet() {
		return readPast(a, w, r, id, m, a.Graph.NodeAsOf, showPastNode)
	}
	n, err := a.Graph.Node(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, graphjson.OfNode(&n))
	return nil
}

func (a *api) getEdge(w http.ResponseWriter, r *http.Request) error {
	workspace, id, m, err := resourceOf(r, "edge")
	if err != nil {
		return err
	}
	if m.IsSet() {
		return readPast(a, w, r, id, m, a.Graph.EdgeAsOf, showPastEdge)
	}
	e, err := a.Graph.Edge(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, graphjson.OfEdge(&e))
	return nil
}

// resourceOf returns the workspace, the id and the moment of a request for one resource. An id that
// is not a UUID is a NotFound error, like an id that does not exist.
func resourceOf(r *http.Request, what string) (workspace, id uuid.UUID, m graphpast.Moment, err error) {
	p := request.Query(r)
	m = moment(p)
	if err := p.Err(); err != nil {
		return workspace, id, m, err
	}
	id, err = request.PathID(r, "id", what)
	return request.PrincipalOf(r.Context()).Workspace, id, m, err
}
