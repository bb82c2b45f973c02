package livegraph

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// ResourceFilter selects nodes or edges. All filters combine with AND, and several values of one match any of them.
type ResourceFilter struct {
	IDs []string
	// Properties are values of top-level properties: the text, or the JSON text of a number or a boolean.
	Properties Filter
	// PropertyMin and PropertyMax are inclusive bounds of top-level properties, one of each key. The text of a JSON
	// number bounds numbers, another text strings. PropertyPrefix are beginnings of strings.
	PropertyMin, PropertyMax, PropertyPrefix Filter
	// CreatedAfter and the other times are exclusive.
	CreatedAfter, CreatedBefore, UpdatedAfter, UpdatedBefore Time
	// Sort has fields separated by commas, with - for descending order. The default is createdAt.
	Sort string
}

func (f *ResourceFilter) values() url.Values {
	q := url.Values{}
	setTexts(q, "ids", f.IDs)
	setFilter(q, "property", f.Properties)
	setFilter(q, "propertyMin", f.PropertyMin)
	setFilter(q, "propertyMax", f.PropertyMax)
	setFilter(q, "propertyPrefix", f.PropertyPrefix)
	setText(q, "createdAfter", f.CreatedAfter)
	setText(q, "createdBefore", f.CreatedBefore)
	setText(q, "updatedAfter", f.UpdatedAfter)
	setText(q, "updatedBefore", f.UpdatedBefore)
	setText(q, "sort", f.Sort)
	return q
}

// NodeFilter selects nodes.
type NodeFilter struct {
	ResourceFilter
	// Name is a part of the name, in any case.
	Name        string
	EntityTypes []EntityType
}

func (f *NodeFilter) values() url.Values {
	q := f.ResourceFilter.values()
	setText(q, "name", f.Name)
	setTexts(q, "entityType", f.EntityTypes)
	return q
}

// Nodes are the nodes of the graph.
type Nodes struct {
	t        *transport
	commands *Commands
}

// Create creates a node. The error is [ErrConflict] if the id exists or was deleted.
func (n *Nodes) Create(ctx context.Context, node NewNode, options ...CallOption) (*Node, error) {
	return n.execute(ctx, CreateNode(node), options)
}

// Update changes a node and returns it.
func (n *Nodes) Update(ctx context.Context, id string, changes NodePatch, options ...CallOption) (*Node, error) {
	return n.execute(ctx, UpdateNode(id, changes), options)
}

func (n *Nodes) execute(ctx context.Context, command Command, options []CallOption) (*Node, error) {
	result, err := n.commands.Execute(ctx, command, options...)
	if err != nil {
		return nil, err
	}
	if result.Node == nil {
		return nil, &ResponseError{Message: "the result of the command has no node"}
	}
	return result.Node, nil
}

// Delete deletes a node with its edges. The result has the id of the command, with which it can be undone.
func (n *Nodes) Delete(ctx context.Context, id string, options ...CallOption) (*CommandResult, error) {
	return n.commands.Execute(ctx, DeleteNode(id), options...)
}

// AsOf selects a state of the graph: after the change with Sequence, or after the last change up to Time. Only one of
// them may be set.
type AsOf struct {
	Sequence int
	Time     Time
}

func (a *AsOf) addTo(q url.Values) {
	setNumber(q, "asOfSequence", a.Sequence)
	setText(q, "asOf", a.Time)
}

func (a *AsOf) values() url.Values {
	q := url.Values{}
	a.addTo(q)
	return q
}

// GetAsOf returns a node as of a moment. The error is [ErrNotFound] if it did not exist then, or if its content was
// purged since.
func (n *Nodes) GetAsOf(ctx context.Context, id string, moment AsOf) (*Node, error) {
	return fetch[*Node](ctx, n.t, getNode.withQuery(moment.values(), id))
}

// Get returns a node.
func (n *Nodes) Get(ctx context.Context, id string) (*Node, error) {
	return fetch[*Node](ctx, n.t, getNode.request(id))
}

// List returns a page of the nodes that match the filter.
func (n *Nodes) List(ctx context.Context, filter NodeFilter, paging Paging) (*Page[Node], error) {
	return fetchPage[Node](ctx, n.t, listNodes.withQuery(paging.values(filter.values())))
}

// All iterates over all nodes that match the filter, page by page.
func (n *Nodes) All(ctx context.Context, filter NodeFilter) iter.Seq2[Node, error] {
	return pages[Node](ctx, n.t, listNodes.withQuery(filter.values()))
}

// NeighborFilter selects the neighbors of a node.
type NeighborFilter struct {
	// Depth is the maximum number of edges to a neighbor, 1 (the default) to 3.
	Depth int
	// Direction is both by default.
	Direction Direction
	// RelationTypes restricts the edges that are followed.
	RelationTypes []string
	// EntityTypes restricts the nodes that are returned. The others are traversed.
	EntityTypes []EntityType
	// AsOf selects a state of the graph. The default is the current one.
	AsOf AsOf
}

func (f *NeighborFilter) values() url.Values {
	q := url.Values{}
	setNumber(q, "depth", f.Depth)
	setText(q, "direction", f.Direction)
	setTexts(q, "relationType", f.RelationTypes)
	setTexts(q, "entityType", f.EntityTypes)
	f.AsOf.addTo(q)
	return q
}

// Neighbors returns a page of the nodes that are reachable from a node, with the edges to them. The page is truncated
// if there are more edges than the server follows.
func (n *Nodes) Neighbors(
	ctx context.Context, id string, filter NeighborFilter, paging Paging,
) (*Page[Neighbor], error) {
	return fetchPage[Neighbor](ctx, n.t, listNeighbors.withQuery(paging.values(filter.values()), id))
}

// AllNeighbors iterates over all neighbors of a node, page by page.
func (n *Nodes) AllNeighbors(ctx context.Context, id string, filter NeighborFilter) iter.Seq2[Neighbor, error] {
	return pages[Neighbor](ctx, n.t, listNeighbors.withQuery(filter.values(), id))
}

// PathOptions selects paths between two nodes.
type PathOptions struct {
	// Limit is the number of paths, 1 (the default) to 20.
	Limit int
	// MaxDepth is the maximum number of edges of a path, 1 to 10. The default is 6.
	MaxDepth int
	// Direction is both by default.
	Direction Direction
	// RelationTypes restricts the edges that are followed.
	RelationTypes []string
	// EntityTypes restricts the nodes between the ends.
	EntityTypes []EntityType
	// Weight is the name of the property of edges that is their cost.
	Weight string
}

// Paths returns the shortest paths between two nodes, or with a weight the cheapest. The page is truncated if the
// server stopped the search at a limit: the paths exist, but others may be better or missing. The error is
// [ErrNotFound] if one of the nodes does not exist.
func (n *Nodes) Paths(ctx context.Context, from, to string, options PathOptions) (*Page[Path], error) {
	r := listPaths.request()
	r.Query = url.Values{"from": {from}, "to": {to}}
	setNumber(r.Query, "limit", options.Limit)
	setNumber(r.Query, "maxDepth", options.MaxDepth)
	setText(r.Query, "direction", options.Direction)
	setTexts(r.Query, "relationType", options.RelationTypes)
	setTexts(r.Query, "entityType", options.EntityTypes)
	setText(r.Query, "weight", options.Weight)
	return fetchPage[Path](ctx, n.t, r)
}

// SubgraphOptions selects a subgraph.
type SubgraphOptions struct {
	// Depth is the maximum number of edges to a node, 0 (only the given nodes) to 3. nil is the default, 1.
	Depth *int
	// Limit is the maximum number of nodes, up to 500. The default is 100.
	Limit int
	// Direction is both by default.
	Direction Direction
	// RelationTypes restricts the edges that are followed and returned.
	RelationTypes []string
	// EntityTypes restricts the nodes that are traversed and returned. The given nodes may be of any type.
	EntityTypes []EntityType
	// AsOf selects a state of the graph. The default is the current one.
	AsOf AsOf
}

// Subgraph returns the nodes within a number of edges of up to 20 nodes, with all edges between the returned nodes. The
// error is [ErrNotFound] if one of the nodes does not exist.
func (n *Nodes) Subgraph(ctx context.Context, ids []string, options SubgraphOptions) (*Subgraph, error) {
	q := url.Values{}
	setTexts(q, "nodeId", ids)
	if options.Depth != nil {
		q.Set("depth", strconv.Itoa(*options.Depth))
	}
	setNumber(q, "limit", options.Limit)
	setText(q, "direction", options.Direction)
	setTexts(q, "relationType", options.RelationTypes)
	setTexts(q, "entityType", options.EntityTypes)
	options.AsOf.addTo(q)
	return fetch[*Subgraph](ctx, n.t, getSubgraph.withQuery(q))
}

// Match returns the matches of a pattern: the parts of the graph that have its shape.
func (n *Nodes) Match(ctx context.Context, pattern Pattern) (*PatternMatches, error) {
	r, err := matchPattern.withBody(pattern)
	if err != nil {
		return nil, err
	}
	return fetch[*PatternMatches](ctx, n.t, r)
}

// EdgeFilter selects edges.
type EdgeFilter struct {
	ResourceFilter
	SourceIDs, TargetIDs []string
	// NodeIDs are nodes at either end.
	NodeIDs       []string
	RelationTypes []string
}

func (f *EdgeFilter) values() url.Values {
	q := f.ResourceFilter.values()
	setTexts(q, "sourceId", f.SourceIDs)
	setTexts(q, "targetId", f.TargetIDs)
	setTexts(q, "nodeId", f.NodeIDs)
	setTexts(q, "relationType", f.RelationTypes)
	return q
}

// Edges are the edges of the graph.
type Edges struct {
	t        *transport
	commands *Commands
}

// Create creates an edge. The error is [ErrNotFound] if one of the nodes does not exist.
func (e *Edges) Create(ctx context.Context, edge NewEdge, options ...CallOption) (*Edge, error) {
	return e.execute(ctx, CreateEdge(edge), options)
}

// Update changes an edge and returns it.
func (e *Edges) Update(ctx context.Context, id string, changes EdgePatch, options ...CallOption) (*Edge, error) {
	return e.execute(ctx, UpdateEdge(id, changes), options)
}

func (e *Edges) execute(ctx context.Context, command Command, options []CallOption) (*Edge, error) {
	result, err := e.commands.Execute(ctx, command, options...)
	if err != nil {
		return nil, err
	}
	if result.Edge == nil {
		return nil, &ResponseError{Message: "the result of the command has no edge"}
	}
	return result.Edge, nil
}

// Delete deletes an edge. The result has the id of the command, with which it can be undone.
func (e *Edges) Delete(ctx context.Context, id string, options ...CallOption) (*CommandResult, error) {
	return e.commands.Execute(ctx, DeleteEdge(id), options...)
}

// GetAsOf returns an edge as of a moment. The error is [ErrNotFound] if it did not exist then, or if the content of one
// of its nodes was purged since.
func (e *Edges) GetAsOf(ctx context.Context, id string, moment AsOf) (*Edge, error) {
	return fetch[*Edge](ctx, e.t, getEdge.withQuery(moment.values(), id))
}

// Get returns an edge.
func (e *Edges) Get(ctx context.Context, id string) (*Edge, error) {
	return fetch[*Edge](ctx, e.t, getEdge.request(id))
}

// List returns a page of the edges that match the filter.
func (e *Edges) List(ctx context.Context, filter EdgeFilter, paging Paging) (*Page[Edge], error) {
	return fetchPage[Edge](ctx, e.t, listEdges.withQuery(paging.values(filter.values())))
}

// All iterates over all edges that match the filter, page by page.
func (e *Edges) All(ctx context.Context, filter EdgeFilter) iter.Seq2[Edge, error] {
	return pages[Edge](ctx, e.t, listEdges.withQuery(filter.values()))
}
