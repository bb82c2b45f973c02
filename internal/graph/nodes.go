package graph

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func (d *decision) createNode(p CreateNode) (*Node, error) {
	old, err := d.state.Node(p.ID)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, alreadyExists("node")
	}
	node := &Node{
		ID: p.ID, Name: p.Name, EntityType: p.EntityType, Description: p.Description, Lifecycle: d.newLifecycle(),
	}
	if p.Properties != nil {
		if node.Properties, err = ParseProperties(p.Properties); err != nil {
			return nil, propertiesFault(err)
		}
	}
	return node, d.do(Step{Type: TypeCreateNode, Node: node})
}

func (d *decision) updateNode(p UpdateNode, expected *int64) (*Node, error) {
	old, err := d.liveNode(p.ID, "payload.id", "Node")
	if err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(expected, old.Version); err != nil {
		return nil, err
	}
	node := old.clone()
	writes, err := propertyWrites(node, p.Properties)
	if err != nil {
		return nil, err
	}
	if p.Name != nil {
		writes = append(writes, write{fieldName, quote(*p.Name)})
	}
	if p.EntityType != nil {
		writes = append(writes, write{fieldEntityType, quote(string(*p.EntityType))})
	}
	if p.Description != nil {
		writes = append(writes, write{fieldDescription, quote(*p.Description)})
	} else if p.ClearDescription {
		writes = append(writes, write{field: fieldDescription})
	}
	overwritten := d.applyWrites(node, writes)
	if overwritten == nil {
		return old, nil
	}
	return node, d.do(Step{Type: TypeUpdateNode, Before: Before{Fields: overwritten}, Node: node})
}

func (d *decision) deleteNode(p DeleteNode, expected *int64) (*Node, error) {
	old, err := d.liveNode(p.ID, "payload.id", "Node")
	if err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(expected, old.Version); err != nil {
		return nil, err
	}
	return d.removeNode(old, d.sequence)
}

// removeNode deletes a node and its edges as the effect of the command with a sequence.
// For a redo, this is not the sequence of the current change.
func (d *decision) removeNode(old *Node, by Sequence) (*Node, error) {
	node := old.clone()
	node.Deleted, node.DeletedBy = true, by
	node.Touch(d.sequence, d.at)
	edges, err := d.state.LiveEdges(node.ID, MaxListed)
	if err != nil {
		return nil, err
	}
	step := Step{Type: TypeDeleteNode, Before: beforeDeletion(old), Node: node}
	step.Cascade = cascade(Mark{Sequence: by, Node: node.ID}, edges, false)
	return node, d.do(step)
}

// restoreNode undoes removeNode.
func (d *decision) restoreNode(old *Node) error {
	mark := Mark{Sequence: old.DeletedBy, Node: old.ID}
	edges, err := d.state.TakenEdges(mark, MaxListed)
	if err != nil {
		return err
	}
	node := old.clone()
	node.Deleted, node.DeletedBy = false, 0
	node.Touch(d.sequence, d.at)
	return d.do(Step{Type: TypeDeleteNode, Node: node, Cascade: cascade(mark, edges, true)})
}

func cascade(mark Mark, edges EdgeSet, restored bool) *Cascade {
	if edges.Count == 0 {
		return nil
	}
	return &Cascade{Mark: mark, Restored: restored, Count: edges.Count, Edges: edges.First}
}

// liveNode returns a node that is not deleted. Otherwise it returns a NotFound fault
// with the field that has the id.
func (d *decision) liveNode(id uuid.UUID, field, what string) (*Node, error) {
	node, err := d.state.Node(id)
	if err != nil {
		return nil, err
	}
	if node == nil || node.Deleted {
		return nil, notFound(what, field)
	}
	return node, nil
}
