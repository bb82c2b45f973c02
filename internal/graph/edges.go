package graph

import "github.com/google/uuid"

func (d *decision) createEdge(p CreateEdge) (*Edge, error) {
	old, err := d.state.Edge(p.ID)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, alreadyExists("edge")
	}
	if _, err := d.standingNode(p.SourceID, "payload.sourceId", "Source node"); err != nil {
		return nil, err
	}
	if _, err := d.standingNode(p.TargetID, "payload.targetId", "Target node"); err != nil {
		return nil, err
	}
	edge := &Edge{
		ID: p.ID, SourceID: p.SourceID, TargetID: p.TargetID, RelationType: p.RelationType, Lifecycle: d.begin(),
	}
	if p.Properties != nil {
		if edge.Properties, err = ParseProperties(p.Properties); err != nil {
			return nil, propertiesFault(err)
		}
	}
	return edge, d.do(Step{Type: TypeCreateEdge, Edge: edge})
}

func (d *decision) updateEdge(p UpdateEdge, expected *int64) (*Edge, error) {
	old, err := d.standingEdge(p.ID)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(expected, old.Version); err != nil {
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
	over := d.overwrite(edge, writes)
	if over == nil {
		return old, nil
	}
	return edge, d.do(Step{Type: TypeUpdateEdge, Before: Before{Fields: over}, Edge: edge})
}

func (d *decision) deleteEdge(p DeleteEdge, expected *int64) (*Edge, error) {
	old, err := d.standingEdge(p.ID)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(expected, old.Version); err != nil {
		return nil, err
	}
	return d.removeEdge(old, d.sequence)
}

// removeEdge deletes an edge as the effect of the command with a sequence.
func (d *decision) removeEdge(old *Edge, by Sequence) (*Edge, error) {
	edge := old.clone()
	edge.Deleted, edge.DeletedBy = true, by
	edge.Touch(d.sequence, d.at)
	return edge, d.do(Step{Type: TypeDeleteEdge, Before: before(old), Edge: edge})
}

// standingEdge returns an edge that is not deleted, else the fault for the command's
// own target.
func (d *decision) standingEdge(id uuid.UUID) (*Edge, error) {
	edge, err := d.state.Edge(id)
	if err != nil {
		return nil, err
	}
	if edge == nil || edge.Deleted {
		return nil, notFound("Edge", "payload.id")
	}
	return edge, nil
}

// missingEnds are the ends of an edge that do not stand.
func (d *decision) missingEnds(edge *Edge) ([]obstacle, error) {
	var missing []obstacle
	for _, id := range ends(edge) {
		node, err := d.state.Node(id)
		if err != nil {
			return nil, err
		}
		if node.Deleted {
			missing = append(missing, obstacleAt(node, "", node.goneBy()))
		}
	}
	return missing, nil
}

// ends are the one or two nodes of an edge.
func ends(edge *Edge) []uuid.UUID {
	if edge.SourceID == edge.TargetID {
		return []uuid.UUID{edge.SourceID}
	}
	return []uuid.UUID{edge.SourceID, edge.TargetID}
}
