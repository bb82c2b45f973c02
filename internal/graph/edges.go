package graph

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func (d *decision) createEdge(p CreateEdge) (*Edge, error) {
	old, err := d.state.Edge(p.ID)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, alreadyExists("edge")
	}
	if _, err := d.liveNode(p.SourceID, "payload.sourceId", "Source node"); err != nil {
		return nil, err
	}
	if _, err := d.liveNode(p.TargetID, "payload.targetId", "Target node"); err != nil {
		return nil, err
	}
	edge := &Edge{
		ID: p.ID, SourceID: p.SourceID, TargetID: p.TargetID, RelationType: p.RelationType, Lifecycle: d.newLifecycle(),
	}
	if p.Properties != nil {
		if edge.Properties, err = ParseProperties(p.Properties); err != nil {
			return nil, propertiesFault(err)
		}
	}
	return edge, d.do(Step{Type: TypeCreateEdge, Edge: edge})
}

func (d *decision) updateEdge(p UpdateEdge, expected *int64) (*Edge, error) {
	old, err := d.liveEdge(p.ID)
	if err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(expected, old.Version); err != nil {
		return nil, err
	}
	edge := old.clone()
	writes, err := propertyWrites(edge, p.Properties)
	if err != nil {
		return nil, err
	}
	if p.RelationType != nil {
		writes = append(writes, write{fieldRelationType, quote(*p.RelationType)})
	}
	overwritten := d.applyWrites(edge, writes)
	if overwritten == nil {
		return old, nil
	}
	return edge, d.do(Step{Type: TypeUpdateEdge, Before: Before{Fields: overwritten}, Edge: edge})
}

func (d *decision) deleteEdge(p DeleteEdge, expected *int64) (*Edge, error) {
	old, err := d.liveEdge(p.ID)
	if err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(expected, old.Version); err != nil {
		return nil, err
	}
	return d.removeEdge(old, d.sequence)
}

// removeEdge deletes an edge as the effect of the command with a sequence. For a redo,
// this is not the sequence of the current change.
func (d *decision) removeEdge(old *Edge, by Sequence) (*Edge, error) {
	edge := old.clone()
	edge.Deleted, edge.DeletedBy = true, by
	edge.Touch(d.sequence, d.at)
	return edge, d.do(Step{Type: TypeDeleteEdge, Before: beforeDeletion(old), Edge: edge})
}

// liveEdge returns an edge that is not deleted. Otherwise it returns a NotFound fault
// for the id of the payload.
func (d *decision) liveEdge(id uuid.UUID) (*Edge, error) {
	edge, err := d.state.Edge(id)
	if err != nil {
		return nil, err
	}
	if edge == nil || edge.Deleted {
		return nil, notFound("Edge", "payload.id")
	}
	return edge, nil
}

// missingEnds returns the ends of an edge that are deleted.
func (d *decision) missingEnds(edge *Edge) ([]obstacle, error) {
	var missing []obstacle
	for _, id := range ends(edge) {
		node, err := d.state.Node(id)
		if err != nil {
			return nil, err
		}
		if node.Deleted {
			missing = append(missing, obstacleAt(node, "", node.removedBy()))
		}
	}
	return missing, nil
}

// ends returns the one or two nodes of an edge.
func ends(edge *Edge) []uuid.UUID {
	if edge.SourceID == edge.TargetID {
		return []uuid.UUID{edge.SourceID}
	}
	return []uuid.UUID{edge.SourceID, edge.TargetID}
}
