package graph

import "fmt"

// redo applies the effect of a cancelled command again: its steps in order, each only if
// it overwrites the same state as originally.
func (d *decision) redo(o Origin, p Pick) (*Target, error) {
	target, err := d.target(o, p, false)
	if err != nil {
		return nil, err
	}
	err = d.applySteps(target, func() error {
		for i := range target.Steps {
			obstacles, err := d.redoStep(target, &target.Steps[i])
			if err != nil {
				return err
			}
			if len(obstacles) > 0 {
				return d.blocked("redone", obstacles)
			}
		}
		return d.checkEnds(target)
	})
	return target.asTarget(), err
}

// checkEnds checks that the ends of the edges that a target created exist, after all of its steps. A batch may create
// an edge and delete it again: its ends were not necessary for the UNDO, so they are not for the REDO.
func (d *decision) checkEnds(target *Change) error {
	for i := range target.Steps {
		if target.Steps[i].Type != TypeCreateEdge {
			continue
		}
		edge, err := d.state.Edge(target.Steps[i].Edge.ID)
		if err != nil {
			return err
		}
		if edge.Deleted {
			continue
		}
		missing, err := d.missingEnds(edge)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return d.blocked("redone", missing)
		}
	}
	return nil
}

// redoStep redoes one step of a target. If it is blocked, redoStep returns the obstacles
// and changes nothing.
func (d *decision) redoStep(target *Change, step *Step) ([]obstacle, error) {
	if step.Node != nil {
		node, err := d.state.Node(step.Node.ID)
		if err != nil {
			return nil, err
		}
		return d.redoNode(target.Sequence, step, node)
	}
	edge, err := d.state.Edge(step.Edge.ID)
	if err != nil {
		return nil, err
	}
	return d.redoEdge(target, step, edge)
}

func (d *decision) redoNode(s Sequence, step *Step, old *Node) ([]obstacle, error) {
	node := old.clone()
	applied := Step{Type: step.Type, Node: node}
	switch step.Type {
	case TypeCreateNode:
		if obstacles := d.redoCreate(node); len(obstacles) > 0 {
			return obstacles, nil
		}
	case TypeUpdateNode:
		overwritten, obstacles := d.redoFields(s, step, node, step.Node)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		applied.Before.Fields = overwritten
	case TypeDeleteNode:
		obstacles, err := d.edgesChangedSince(s, step, old)
		if err != nil {
			return nil, err
		}
		if obstacles = append(differences(step, old), obstacles...); len(obstacles) > 0 {
			return obstacles, nil
		}
		_, err = d.removeNode(old, s)
		return nil, err
	default:
		return nil, fmt.Errorf("graph: no redo of %s on a node", step.Type)
	}
	return nil, d.do(applied)
}

func (d *decision) redoEdge(target *Change, step *Step, old *Edge) ([]obstacle, error) {
	edge := old.clone()
	applied := Step{Type: step.Type, Edge: edge}
	switch step.Type {
	case TypeCreateEdge:
		if len(target.Steps) == 1 { // a single step is not rolled back; see checkEnds for several
			missing, err := d.missingEnds(old)
			if err != nil || len(missing) > 0 {
				return missing, err
			}
		}
		if obstacles := d.redoCreate(edge); len(obstacles) > 0 {
			return obstacles, nil
		}
	case TypeUpdateEdge:
		overwritten, obstacles := d.redoFields(target.Sequence, step, edge, step.Edge)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		applied.Before.Fields = overwritten
	case TypeDeleteEdge:
		if obstacles := differences(step, old); len(obstacles) > 0 {
			return obstacles, nil
		}
		_, err := d.removeEdge(old, target.Sequence)
		return nil, err
	default:
		return nil, fmt.Errorf("graph: no redo of %s on an edge", step.Type)
	}
	return nil, d.do(applied)
}

// redoCreate reverts undoCreate. A deleted resource is frozen, so its fields are unchanged.
func (d *decision) redoCreate(r resource) []obstacle {
	life := r.life()
	if !life.Deleted || life.DeletedBy != 0 {
		return []obstacle{obstacleAt(r, "", life.ChangedBy)}
	}
	life.Deleted = false
	life.Touch(d.sequence, d.at)
	return nil
}

// redoFields applies the writes of a step again, unless the stamp of a field differs from
// the one that the step overwrote. after is the resource as it was after the step.
func (d *decision) redoFields(s Sequence, step *Step, r, after resource) (map[string]Field, []obstacle) {
	if life := r.life(); life.Deleted {
		return nil, []obstacle{obstacleAt(r, "", life.removedBy())}
	}
	var obstacles []obstacle
	fields := make(map[string]Field, len(step.Before.Fields))
	for _, field := range sortedKeys(step.Before.Fields) {
		expected, current := step.Before.Fields[field].Stamp, stamp(r, field)
		if expected != current {
			// The later of the two: the field was written since, or the write before was undone.
			obstacles = append(obstacles, obstacleAt(r, field, max(expected, current)))
		}
		fields[field] = Field{Value: get(after, field), Stamp: s}
	}
	if len(obstacles) > 0 {
		return nil, obstacles
	}
	return d.writeFields(r, fields), nil
}

// differences returns where a resource differs from its state before the step that
// deleted it.
func differences(step *Step, r resource) []obstacle {
	life := r.life()
	if life.Deleted {
		return []obstacle{obstacleAt(r, "", life.removedBy())}
	}
	fields := map[string]bool{}
	for field := range step.Before.Stamps {
		fields[field] = true
	}
	for field := range life.Stamps {
		fields[field] = true
	}
	var obstacles []obstacle
	for _, field := range sortedKeys(fields) {
		expected, current := step.Before.Stamps[field], life.Stamps[field]
		if expected != current {
			obstacles = append(obstacles, obstacleAt(r, field, max(expected, current)))
		}
	}
	if len(obstacles) == 0 && life.Floor != step.Before.Floor {
		obstacles = append(obstacles, obstacleAt(r, "", life.ChangedBy))
	}
	return obstacles
}

// edgesChangedSince returns the edges by which a node differs from its state before the
// step of the command with sequence s: those that were added or changed, else those that
// are missing.
func (d *decision) edgesChangedSince(s Sequence, step *Step, node *Node) ([]obstacle, error) {
	taken := Cascade{Mark: Mark{Sequence: s, Node: node.ID}}
	if step.Cascade != nil {
		taken = *step.Cascade
	}
	ids, err := d.state.EdgesChangedSince(taken, MaxConflicts)
	if err != nil {
		return nil, err
	}
	obstacles := make([]obstacle, 0, len(ids))
	for _, id := range ids {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, err
		}
		if !edge.IsLink() { // a link follows from the texts, and may have changed with them
			obstacles = append(obstacles, obstacleAt(edge, "", edge.ChangedBy))
		}
	}
	if len(obstacles) > 0 || step.Cascade == nil || len(ids) > 0 {
		return obstacles, nil
	}
	return d.missingEdges(step.Cascade, node)
}

// missingEdges returns the edges that a cascade deleted and that are not live now. All
// live edges of the node are edges of the cascade, so comparing their numbers is
// sufficient. If no edge that the cascade lists is missing, the obstacle is the node.
func (d *decision) missingEdges(c *Cascade, node *Node) ([]obstacle, error) {
	live, err := d.state.LiveEdges(node.ID, 1)
	if err != nil || live.Count == c.Count {
		return nil, err
	}
	var missing []obstacle
	links := int64(0) // that are missing
	for _, id := range c.Edges {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, err
		}
		switch {
		case edge.Deleted && edge.IsLink():
			links++
		case edge.Deleted:
			missing = append(missing, obstacleAt(edge, "", edge.removedBy()))
		}
	}
	if len(missing) == 0 && live.Count+links != c.Count {
		missing = append(missing, obstacleAt(node, "", node.ChangedBy))
	}
	return missing, nil
}
