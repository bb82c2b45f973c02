package graph

import "fmt"

// cancel takes a command's effect back: its steps in reverse, each only if what it
// wrote still stands there. The steps of a batch go together or not at all; the
// conflicts are those of the first step that has any.
func (d *decision) cancel(o Origin, p Pick) (*Target, error) {
	target, err := d.target(o, p, true)
	if err != nil {
		return nil, err
	}
	err = d.together(target, func() error {
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

// target finds the change that an UNDO or a REDO is about, and holds its steps
// against the scopes of anyone who asks.
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

// together runs f, which makes the steps of a target. One step is made after all
// its checks, so only several need the state to be able to go back.
func (d *decision) together(target *Change, f func() error) error {
	if len(target.Steps) == 1 {
		return f()
	}
	if err := d.state.Foresee(target); err != nil {
		return err
	}
	return d.state.Atomically(f)
}

func (c *Change) asTarget() *Target {
	return &Target{Sequence: c.Sequence, CommandID: c.CommandID, Type: c.Type}
}

// undoStep takes one step of the command with sequence s back, or says what is in
// the way and changes nothing.
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
		over, obstacles := d.putBack(s, step, node)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		return nil, d.do(Step{Type: step.Type, Before: Before{Fields: over}, Node: node})
	case TypeDeleteNode:
		return d.undoDeleteNode(s, old)
	case TypeCreateNode:
		obstacles := changedSince(s, old)
		edges, err := d.state.LiveEdges(old.ID, MaxConflicts)
		if err != nil {
			return nil, err
		}
		for _, id := range edges.First {
			edge, err := d.state.Edge(id)
			if err != nil {
				return nil, err
			}
			obstacles = append(obstacles, obstacleAt(edge, "", edge.CreatedBy))
		}
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		d.uncreate(node)
		return nil, d.do(Step{Type: step.Type, Before: before(old), Node: node})
	}
	return nil, fmt.Errorf("graph: no undo of %s on a node", step.Type)
}

// undoDeleteNode brings a node back with the edges that went with it, unless one
// of them has lost its other end.
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
	return nil, d.returnNode(old)
}

func (d *decision) undoEdge(s Sequence, step *Step, old *Edge) ([]obstacle, error) {
	edge := old.clone()
	done := Step{Type: step.Type, Edge: edge}
	switch step.Type {
	case TypeUpdateEdge:
		over, obstacles := d.putBack(s, step, edge)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		done.Before.Fields = over
	case TypeDeleteEdge:
		if !old.Deleted || old.DeletedBy != s {
			return []obstacle{obstacleAt(old, "", old.ChangedBy)}, nil
		}
		if old.CreatedBy != s { // else the same undo unmakes it
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
		done.Before = before(old)
		d.uncreate(edge)
	default:
		return nil, fmt.Errorf("graph: no undo of %s on an edge", step.Type)
	}
	return nil, d.do(done)
}

// uncreate takes the creation of a resource back.
func (d *decision) uncreate(r resource) {
	life := r.life()
	life.Deleted, life.DeletedBy = true, 0
	life.Touch(d.sequence, d.at)
}

// putBack undoes the writes of a step, unless a field does not carry the stamp s
// any more.
func (d *decision) putBack(s Sequence, step *Step, r resource) (map[string]Field, []obstacle) {
	if life := r.life(); life.Deleted {
		return nil, []obstacle{obstacleAt(r, "", life.goneBy())}
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
	return d.rewrite(r, step.Before.Fields), nil
}

// rewrite sets fields with the stamps that they are to carry, and gives what they
// were.
func (d *decision) rewrite(r resource, fields map[string]Field) map[string]Field {
	over := make(map[string]Field, len(fields))
	for field, f := range fields {
		over[field] = Field{Value: get(r, field), Stamp: stamp(r, field)}
		put(r, field, f)
	}
	bound(r)
	r.life().Touch(d.sequence, d.at)
	return over
}

// changedSince is what others have done to a resource that the command with
// sequence s made.
func changedSince(s Sequence, r resource) []obstacle {
	life := r.life()
	if life.Deleted {
		return []obstacle{obstacleAt(r, "", life.goneBy())}
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
