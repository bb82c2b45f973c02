package hostgraph

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// fakeServer implements the part of the API that a syncer uses. test/e2e tests a syncer
// with a real server.
type fakeServer struct {
	nodes       map[uuid.UUID]client.Node
	edges       map[uuid.UUID]client.Edge
	used        map[uuid.UUID]bool // ids that cannot be used again
	order       []uuid.UUID        // ids in the order of creation
	batches     int
	reads       int
	fail        error  // error of the next batch
	refusedName string // name of a node that is refused
}

func newFakeServer() *fakeServer {
	return &fakeServer{nodes: map[uuid.UUID]client.Node{}, edges: map[uuid.UUID]client.Edge{}, used: map[uuid.UUID]bool{}}
}

func (p *fakeServer) EachNode(_ context.Context, f client.Filter, visit func(client.Node) error) error {
	p.reads++
	for _, id := range p.order {
		if n, ok := p.nodes[id]; ok && textOf(n.Properties[managedBy]) == f.Properties[managedBy] {
			if err := visit(n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *fakeServer) EachEdge(_ context.Context, f client.Filter, visit func(client.Edge) error) error {
	for _, id := range p.order {
		if e, ok := p.edges[id]; ok && textOf(e.Properties[managedBy]) == f.Properties[managedBy] {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *fakeServer) Batch(_ context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error) {
	p.batches++
	if p.fail != nil {
		err := p.fail
		p.fail = nil
		return client.BatchAnswer{}, err
	}
	before := fakeServer{
		nodes: maps.Clone(p.nodes), edges: maps.Clone(p.edges), used: maps.Clone(p.used), order: slices.Clone(p.order),
	}
	answer := client.BatchAnswer{Results: make([]client.BatchResult, len(commands))}
	for i, c := range commands {
		err := p.do(c)
		if err != nil && atomic {
			p.nodes, p.edges, p.used, p.order = before.nodes, before.edges, before.used, before.order
			return client.BatchAnswer{}, err
		}
		answer.Results[i].Err = err
	}
	return answer, nil
}

func (p *fakeServer) do(c client.Command) error {
	// Through JSON, as a server would see it.
	raw, err := json.Marshal(c.Payload)
	if err != nil {
		return err
	}
	switch c.Type {
	case client.CreateNode:
		var n client.NewNode
		return p.decode(raw, &n, func() error { return p.createNode(n) })
	case client.UpdateNode:
		var patch client.NodePatch
		return p.decode(raw, &patch, func() error { return p.updateNode(patch) })
	case client.CreateEdge:
		var e client.NewEdge
		return p.decode(raw, &e, func() error { return p.createEdge(e) })
	case client.DeleteNode:
		var r client.Resource
		return p.decode(raw, &r, func() error { return p.deleteNode(r.ID) })
	default:
		var r client.Resource
		return p.decode(raw, &r, func() error {
			if _, ok := p.edges[r.ID]; !ok {
				return fault.New(fault.NotFound, "Edge not found")
			}
			delete(p.edges, r.ID)
			return nil
		})
	}
}

func (*fakeServer) decode(raw []byte, into any, then func() error) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.Malformed, err.Error())
	}
	return then()
}

func (p *fakeServer) reserveID(id uuid.UUID) error {
	if p.used[id] {
		return fault.New(fault.Conflict, "it exists").With("reason", "already_exists")
	}
	p.used[id] = true
	p.order = append(p.order, id)
	return nil
}

func (p *fakeServer) createNode(n client.NewNode) error {
	if n.Name == p.refusedName && n.Name != "" {
		return fault.New(fault.Invalid, "never")
	}
	if err := p.reserveID(n.ID); err != nil {
		return err
	}
	p.nodes[n.ID] = client.Node{
		ID: n.ID, Name: n.Name, EntityType: n.EntityType, Description: n.Description, Properties: n.Properties, Version: 1,
	}
	return nil
}

func (p *fakeServer) updateNode(patch client.NodePatch) error {
	n, ok := p.nodes[patch.ID]
	if !ok {
		return fault.New(fault.NotFound, "Node not found")
	}
	if patch.Name != nil {
		n.Name = *patch.Name
	}
	if patch.EntityType != nil {
		n.EntityType = *patch.EntityType
	}
	if patch.Description != nil {
		n.Description = patch.Description
	}
	n.Properties = maps.Clone(n.Properties)
	for name, value := range patch.Properties {
		if string(value) == "null" {
			delete(n.Properties, name)
		} else {
			n.Properties[name] = value
		}
	}
	n.Version++
	p.nodes[patch.ID] = n
	return nil
}

func (p *fakeServer) createEdge(e client.NewEdge) error {
	for _, end := range []uuid.UUID{e.SourceID, e.TargetID} {
		if _, ok := p.nodes[end]; !ok {
			return fault.New(fault.NotFound, "Node not found").With("field", "payload.sourceId")
		}
	}
	if err := p.reserveID(e.ID); err != nil {
		return err
	}
	p.edges[e.ID] = client.Edge{
		ID: e.ID, SourceID: e.SourceID, TargetID: e.TargetID, RelationType: e.RelationType, Properties: e.Properties,
		Version: 1,
	}
	return nil
}

func (p *fakeServer) deleteNode(id uuid.UUID) error {
	if _, ok := p.nodes[id]; !ok {
		return fault.New(fault.NotFound, "Node not found")
	}
	delete(p.nodes, id)
	maps.DeleteFunc(p.edges, func(_ uuid.UUID, e client.Edge) bool { return e.SourceID == id || e.TargetID == id })
	return nil
}
