package queries

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// graphStore is where the graph is.
type graphStore interface {
	Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error)
	Edge(ctx context.Context, workspace, id uuid.UUID) (graph.Edge, error)
	Nodes(
		ctx context.Context, workspace uuid.UUID, filter postgres.NodeFilter, page postgres.GraphPage,
	) (postgres.GraphList[graph.Node], error)
	Edges(
		ctx context.Context, workspace uuid.UUID, filter postgres.EdgeFilter, page postgres.GraphPage,
	) (postgres.GraphList[graph.Edge], error)
	Neighbors(ctx context.Context, workspace uuid.UUID, q postgres.NeighborQuery) (postgres.NeighborList, error)
}

func (a *api) listNodes(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	name, _ := p.String("name")
	filter := postgres.NodeFilter{GraphFilter: graphFilter(p), EntityTypes: entityTypes(p), Name: name}
	page, cursor := graphPage(p, postgres.NodeSortFields())
	if err := p.Err(); err != nil {
		return err
	}
	return answerList(a, w, r, list[graph.Node, graphjson.Node]{
		name: "nodes", parameters: []any{filter, page.Order}, page: page, cursor: cursor, show: graphjson.OfNodes,
		read: func(
			ctx context.Context, workspace uuid.UUID, page postgres.GraphPage,
		) (postgres.GraphList[graph.Node], error) {
			return a.Graph.Nodes(ctx, workspace, filter, page)
		},
	})
}

func (a *api) listEdges(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	filter := postgres.EdgeFilter{
		GraphFilter: graphFilter(p), RelationTypes: p.Strings("relationType"),
		SourceIDs: p.UUIDs("sourceId"), TargetIDs: p.UUIDs("targetId"), NodeIDs: p.UUIDs("nodeId"),
	}
	page, cursor := graphPage(p, postgres.EdgeSortFields())
	if err := p.Err(); err != nil {
		return err
	}
	return answerList(a, w, r, list[graph.Edge, graphjson.Edge]{
		name: "edges", parameters: []any{filter, page.Order}, page: page, cursor: cursor, show: graphjson.OfEdges,
		read: func(
			ctx context.Context, workspace uuid.UUID, page postgres.GraphPage,
		) (postgres.GraphList[graph.Edge], error) {
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

// graphFilter reads what nodes and edges can be filtered by.
func graphFilter(p *request.Params) postgres.GraphFilter {
	return postgres.GraphFilter{
		IDs:          p.UUIDs("ids"),
		CreatedAfter: p.Time("createdAfter"), CreatedBefore: p.Time("createdBefore"),
		UpdatedAfter: p.Time("updatedAfter"), UpdatedBefore: p.Time("updatedBefore"),
		Properties: p.Family("property."),
	}
}

func graphPage(p *request.Params, fields []string) (page postgres.GraphPage, cursor string) {
	for _, field := range p.Sort(fields...) {
		page.Order = append(page.Order, postgres.GraphOrder{Field: field.Name, Descending: field.Descending})
	}
	page.Limit, page.Offset, cursor = p.Paging()
	return page, cursor
}

// list is a list that was asked for: items T, shown as S.
type list[T, S any] struct {
	name       string
	parameters any // what a cursor is made for
	page       postgres.GraphPage
	cursor     string
	read       func(ctx context.Context, workspace uuid.UUID, page postgres.GraphPage) (postgres.GraphList[T], error)
	show       func([]T) []S
}

func answerList[T, S any](a *api, w http.ResponseWriter, r *http.Request, l list[T, S]) error {
	workspace := request.PrincipalOf(r.Context()).Workspace
	of := token.ScopeOf(l.name, workspace, l.parameters)
	if l.cursor != "" {
		l.page.After = &postgres.GraphPosition{}
		if err := a.sealer.ReadCursor(l.cursor, of, l.page.After); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, err := l.read(ctx, workspace, l.page)
	if err != nil {
		return err
	}
	meta := reply.Meta{Total: found.Total, Limit: l.page.Limit, Offset: l.page.Offset, HasMore: found.Next != nil}
	if found.Next != nil {
		next, err := a.sealer.Cursor(of, found.Next)
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	reply.List(w, r, l.show(found.Items), meta)
	return nil
}

func (a *api) getNode(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := resourceOf(r, "node")
	if err != nil {
		return err
	}
	n, err := a.Graph.Node(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, graphjson.OfNode(&n))
	return nil
}

func (a *api) getEdge(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := resourceOf(r, "edge")
	if err != nil {
		return err
	}
	e, err := a.Graph.Edge(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, graphjson.OfEdge(&e))
	return nil
}

// resourceOf reads what the routes of one resource without parameters have in
// common. An id that is no UUID is not found, like one that nothing has.
func resourceOf(r *http.Request, what string) (workspace, id uuid.UUID, err error) {
	if err := request.Query(r).Err(); err != nil {
		return workspace, id, err
	}
	id, err = request.PathID(r, "id", what)
	return request.PrincipalOf(r.Context()).Workspace, id, err
}
