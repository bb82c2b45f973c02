package graph

import "fmt"

// undo reverts the effect of a command: its steps in reverse order, each only if the
// values that it wrote are still current. All steps of a batch are undone or none; the
// conflicts are those of the first step that has any.
func (d *decision) undo(o Origin, p Pick) (*Target, error) {
	target, err := d.target(o, p, true)
	if err != nil {
		return nil, err
	}
	err = d.applySteps(target, func() error {
		for i := len(target.Steps) - 1; i >= 0; i-- {
			obstacles, err := d.undoStep(target.Sequence, &target.Steps[i])
			if err != nil {
				return err
			}
			if len(obstacles) > 0 {
				return d.blocked("undone", obstacles)
			}
		}
		return nil
	})
	return target.asTarget(), err
}

// target returns the change that an UNDO or a REDO refers to, after checking that the
// scopes of the origin permit all of its steps.
func (d *decision) target(o Origin, p Pick, undo bool) (*Change, error) {
	entry, err := pick(d.state, o.Actor, p, undo)
	if err != nil {
		return nil, err
	}
	change, err := d.state.Change(entry.Sequence)
	if err != nil {
		return nil, err
	}
	for i := range change.Steps {
		if err := authorize(o.Scopes, change.Steps[i].Type); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// applySteps runs f, which applies the steps of a target. A single step is applied after
// all its checks, so only several steps require a rollback.
func (d *decision) applySteps(target *Change, f func() error) error {
	if len(target.Steps) == 1 {
		return f()
	}
	if err := d.state.Prefetch(target); err != nil {
		return err
	}
	return d.state.Atomically(f)
}

func (c *Change) asTarget() *Target {
	return &Target{Sequence: c.Sequence, CommandID: c.CommandID, Type: c.Type}
}

// undoStep undoes one step of the command with sequence s. If it is blocked, undoStep
// returns the obstacles and changes nothing.
func (d *decision) undoStep(s Sequence, step *Step) ([]obstacle, error) {
	if step.Node != nil {
		node, err := d.state.Node(step.Node.ID)
		if err != nil {
			return nil, err
		}
		return d.undoNode(s, step, node)
	}
	edge, err := d.state.Edge(step.Edge.ID)
	if err != nil {
		return nil, err
	}
	return d.undoEdge(s, step, edge)
}

func (d *decision) undoNode(s Sequence, step *Step, old *Node) ([]obstacle, error) {
	node := old.clone()
	switch step.Type {
	case TypeUpdateNode:
		overwritten, obstacles := d.undoFields(s, step, node)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		return nil, d.do(Step{Type: step.Type, Before: Before{Fields: overwritten}, Node: node})
	case TypeDeleteNode:
		return d.undoDeleteNode(s, old)
	case TypeCreateNode:
		obstacles := changedSince(s, old)
		links, others, err := d.edgesAdded(old)
		if err != nil {
			return nil, err
		}
		if obstacles = append(obstacles, others...); len(obstacles) > 0 {
			return obstacles, nil
		}
		for _, edge := range links {
			if _, err := d.removeEdge(edge, d.sequence); err != nil {
				return nil, err
			}
		}
		d.undoCreate(node)
		return nil, d.do(Step{Type: step.Type, Before: beforeDeletion(old), Node: node})
	}
	return nil, fmt.Errorf("graph: no undo of %s on a node", step.Type)
}

// edgesAdded returns the links of a node, and the other edges as obstacles.
func (d *decision) edgesAdded(node *Node) (links []*Edge, obstacles []obstacle, err error) {
	edges, err := d.state.LiveEdges(node.ID, MaxListed)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range edges.First {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, nil, err
		}
		if edge.IsLink() {
			links = append(links, edge)
		} else if obstacles = append(obstacles, obstacleAt(edge, "", edge.CreatedBy)); len(obstacles) == MaxConflicts {
			break
		}
	}
	if len(obstacles) == 0 && edges.Count > int64(len(edges.First)) { // more than are removed at once
		obstacles = append(obstacles, obstacleAt(links[0], "", links[0].CreatedBy))
	}
	return links, obstacles, nil
}

// undoDeleteNode restores a node with the edges that its deletion deleted, unless the
// other end of one of them is deleted.
func (d *decision) undoDeleteNode(s Sequence, old *Node) ([]obstacle, error) {
	if !old.Deleted || old.DeletedBy != s {
		return []obstacle{obstacleAt(old, "", old.ChangedBy)}, nil
	}
	orphans, err := d.state.Orphans(Mark{Sequence: s, Node: old.ID}, MaxConflicts)
	if err != nil {
		return nil, err
	}
	var obstacles []obstacle
	for _, id := range orphans {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, err
		}
		missing, err := d.missingEnds(edge)
		if err != nil {
			return nil, err
		}
		for _, end := range missing {
			if end.id != old.ID {
				obstacles = append(obstacles, obstacleAt(edge, "", end.by))
			}
		}
	}
	if len(obstacles) > 0 {
		return obstacles, nil
	}
	return nil, d.restoreNode(old)
}

func (d *decision) undoEdge(s Sequence, step *Step, old *Edge) ([]obstacle, error) {
	edge := old.clone()
	applied := Step{Type: step.Type, Edge: edge}
	switch step.Type {
	case TypeUpdateEdge:
		overwritten, obstacles := d.undoFields(s, step, edge)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		applied.Before.Fields = overwritten
	case TypeDeleteEdge:
		if !old.Deleted || old.DeletedBy != s {
			return []obstacle{obstacleAt(old, "", old.ChangedBy)}, nil
		}
		if old.CreatedBy != s { // else the same undo also undoes its creation
			missing, err := d.missingEnds(old)
			if err != nil || len(missing) > 0 {
				return missing, err
			}
		}
		edge.Deleted, edge.DeletedBy = false, 0
		edge.Touch(d.sequence, d.at)
	case TypeCreateEdge:
		if obstacles := changedSince(s, old); len(obstacles) > 0 {
			return obstacles, nil
		}
		applied.Before = beforeDeletion(old)
		d.undoCreate(edge)
	default:
		return nil, fmt.Errorf("graph: no undo of %s on an edge", step.Type)
	}
	return nil, d.do(applied)
}

// undoCreate marks a resource as deleted because its creation is undone.
func (d *decision) undoCreate(r resource) {
	life := r.life()
	life.Deleted, life.DeletedBy = true, 0
	life.Touch(d.sequence, d.at)
}

// undoFields undoes the writes of a step, unless a field no longer carries the stamp s.
func (d *decision) undoFields(s Sequence, step *Step, r resource) (map[string]Field, []obstacle) {
	if life := r.life(); life.Deleted {
		return nil, []obstacle{obstacleAt(r, "", life.removedBy())}
	}
	var obstacles []obstacle
	for _, field := range sortedKeys(step.Before.Fields) {
		if by := stamp(r, field); by != s {
			obstacles = append(obstacles, obstacleAt(r, field, by))
		}
	}
	if len(obstacles) > 0 {
		return nil, obstacles
	}
	return d.writeFields(r, step.Before.Fields), nil
}

// writeFields sets fields with their stamps, and returns them as they were before.
func (d *decision) writeFields(r resource, fields map[string]Field) map[string]Field {
	overwritten := make(map[string]Field, len(fields))
	for field, f := range fields {
		overwritten[field] = Field{Value: get(r, field), Stamp: stamp(r, field)}
		put(r, field, f)
	}
	pruneStamps(r)
	r.life().Touch(d.sequence, d.at)
	return overwritten
}

// changedSince returns the changes that other commands made to a resource that the
// command with sequence s created.
func changedSince(s Sequence, r resource) []obstacle {
	life := r.life()
	if life.Deleted {
		return []obstacle{obstacleAt(r, "", life.removedBy())}
	}
	var obstacles []obstacle
	for _, field := range sortedKeys(life.Stamps) {
		if by := life.Stamps[field]; by != s {
			obstacles = append(obstacles, obstacleAt(r, field, by))
		}
	}
	if len(obstacles) == 0 && life.Floor > s {
		obstacles = append(obstacles, obstacleAt(r, "", life.Floor))
	}
	return obstacles
}
