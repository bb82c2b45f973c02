package graph

import "fmt"

// restore makes a cancelled command's effect again: its steps in order, each only
// if what it writes over is what it wrote over at first.
func (d *decision) restore(o Origin, p Pick) (*Target, error) {
	target, err := d.target(o, p, false)
	if err != nil {
		return nil, err
	}
	err = d.together(target, func() error {
		for i := range target.Steps {
			obstacles, err := d.redoStep(target.Sequence, &target.Steps[i])
			if err != nil {
				return err
			}
			if len(obstacles) > 0 {
				return d.blocked("redone", obstacles)
			}
		}
		return nil
	})
	return target.asTarget(), err
}

// redoStep creates one step of the command with sequence s again, or says what is in
// the way and changes nothing.
func (d *decision) redoStep(s Sequence, step *Step) ([]obstacle, error) {
	if step.Node != nil {
		node, err := d.state.Node(step.Node.ID)
		if err != nil {
			return nil, err
		}
		return d.redoNode(s, step, node)
	}
	edge, err := d.state.Edge(step.Edge.ID)
	if err != nil {
		return nil, err
	}
	return d.redoEdge(s, step, edge)
}

func (d *decision) redoNode(s Sequence, step *Step, old *Node) ([]obstacle, error) {
	node := old.clone()
	done := Step{Type: step.Type, Node: node}
	switch step.Type {
	case TypeCreateNode:
		if obstacles := d.recreate(node); len(obstacles) > 0 {
			return obstacles, nil
		}
	case TypeUpdateNode:
		over, obstacles := d.putAgain(s, step, node, step.Node)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		done.Before.Fields = over
	case TypeDeleteNode:
		obstacles, err := d.strays(s, step, old)
		if err != nil {
			return nil, err
		}
		if obstacles = append(differs(step, old), obstacles...); len(obstacles) > 0 {
			return obstacles, nil
		}
		_, err = d.removeNode(old, s)
		return nil, err
	default:
		return nil, fmt.Errorf("graph: no redo of %s on a node", step.Type)
	}
	return nil, d.do(done)
}

func (d *decision) redoEdge(s Sequence, step *Step, old *Edge) ([]obstacle, error) {
	edge := old.clone()
	done := Step{Type: step.Type, Edge: edge}
	switch step.Type {
	case TypeCreateEdge:
		missing, err := d.missingEnds(old)
		if err != nil || len(missing) > 0 {
			return missing, err
		}
		if obstacles := d.recreate(edge); len(obstacles) > 0 {
			return obstacles, nil
		}
	case TypeUpdateEdge:
		over, obstacles := d.putAgain(s, step, edge, step.Edge)
		if len(obstacles) > 0 {
			return obstacles, nil
		}
		done.Before.Fields = over
	case TypeDeleteEdge:
		if obstacles := differs(step, old); len(obstacles) > 0 {
			return obstacles, nil
		}
		_, err := d.removeEdge(old, s)
		return nil, err
	default:
		return nil, fmt.Errorf("graph: no redo of %s on an edge", step.Type)
	}
	return nil, d.do(done)
}

// recreate undoes uncreate. What is gone is frozen, so the fields are as they were.
func (d *decision) recreate(r resource) []obstacle {
	life := r.life()
	if !life.Deleted || life.DeletedBy != 0 {
		return []obstacle{obstacleAt(r, "", life.ChangedBy)}
	}
	life.Deleted = false
	life.Touch(d.sequence, d.at)
	return nil
}

// putAgain makes the writes of a step again, unless a field does not carry the
// stamp of before. made is the resource as the step left it.
func (d *decision) putAgain(s Sequence, step *Step, r, made resource) (map[string]Field, []obstacle) {
	if life := r.life(); life.Deleted {
		return nil, []obstacle{obstacleAt(r, "", life.goneBy())}
	}
	var obstacles []obstacle
	fields := make(map[string]Field, len(step.Before.Fields))
	for _, field := range sortedKeys(step.Before.Fields) {
		was, is := step.Before.Fields[field].Stamp, stamp(r, field)
		if was != is {
			// The later of the two: somebody wrote after, or undid what was there.
			obstacles = append(obstacles, obstacleAt(r, field, max(was, is)))
		}
		fields[field] = Field{Value: get(made, field), Stamp: s}
	}
	if len(obstacles) > 0 {
		return nil, obstacles
	}
	return d.rewrite(r, fields), nil
}

// differs reports where a resource is not as the step found it that deleted it.
func differs(step *Step, r resource) []obstacle {
	life := r.life()
	if life.Deleted {
		return []obstacle{obstacleAt(r, "", life.goneBy())}
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
		was, is := step.Before.Stamps[field], life.Stamps[field]
		if was != is {
			obstacles = append(obstacles, obstacleAt(r, field, max(was, is)))
		}
	}
	if len(obstacles) == 0 && life.Floor != step.Before.Floor {
		obstacles = append(obstacles, obstacleAt(r, "", life.ChangedBy))
	}
	return obstacles
}

// strays are the edges because of which a node is not as the step of the command
// with sequence s found it: those that were not there, and those that are no more.
func (d *decision) strays(s Sequence, step *Step, node *Node) ([]obstacle, error) {
	taken := Cascade{Mark: Mark{Sequence: s, Node: node.ID}}
	if step.Cascade != nil {
		taken = *step.Cascade
	}
	ids, err := d.state.Strays(taken, MaxConflicts)
	if err != nil {
		return nil, err
	}
	obstacles := make([]obstacle, 0, len(ids))
	for _, id := range ids {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, err
		}
		obstacles = append(obstacles, obstacleAt(edge, "", edge.ChangedBy))
	}
	if len(obstacles) > 0 || step.Cascade == nil {
		return obstacles, nil
	}
	return d.missingEdges(step.Cascade, node)
}

// missingEdges are the edges that a cascade took and that do not stand now. All
// that stand at the node are of those, so that their number tells. Of an edge that
// the cascade does not list the node stands for it.
func (d *decision) missingEdges(c *Cascade, node *Node) ([]obstacle, error) {
	live, err := d.state.LiveEdges(node.ID, 1)
	if err != nil || live.Count == c.Count {
		return nil, err
	}
	var missing []obstacle
	for _, id := range c.Edges {
		edge, err := d.state.Edge(id)
		if err != nil {
			return nil, err
		}
		if edge.Deleted {
			missing = append(missing, obstacleAt(edge, "", edge.goneBy()))
		}
	}
	if len(missing) == 0 {
		missing = append(missing, obstacleAt(node, "", node.ChangedBy))
	}
	return missing, nil
}
