package graphrecord

import (
	"bytes"

	"github.com/google/uuid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// PurgedName replaces the name of a node whose data was removed, because every node has a name.
const PurgedName = "purged"

// RedactChange removes the data of a node and of its edges from a change: names,
// descriptions and properties, before and after. Ids, types, times and versions are kept.
// It returns the ids of the edges of the node.
func RedactChange(c *eventsv1.Change, node uuid.UUID) (edges []uuid.UUID) {
	for _, step := range c.GetSteps() {
		switch {
		case redactNode(step.GetNode(), node):
		case redactEdge(step.GetEdge(), node):
			edges = append(edges, uuid.UUID(step.GetEdge().GetId()))
		default:
			continue
		}
		if b := step.GetBefore(); b != nil {
			b.Fields, b.Stamps = nil, nil
		}
	}
	return edges
}

// RedactOutcome is like [RedactChange], for the outcome of a command.
func RedactOutcome(o *eventsv1.Outcome, node uuid.UUID) {
	for _, result := range o.GetResults() {
		_ = redactNode(result.GetNode(), node) || redactEdge(result.GetEdge(), node)
	}
}

func redactNode(n *eventsv1.Node, node uuid.UUID) bool {
	if n == nil || !bytes.Equal(n.GetId(), node[:]) {
		return false
	}
	n.Name, n.Description, n.Properties = PurgedName, nil, nil
	redactLife(n.GetLife())
	return true
}

func redactEdge(e *eventsv1.Edge, node uuid.UUID) bool {
	if e == nil || !bytes.Equal(e.GetSourceId(), node[:]) && !bytes.Equal(e.GetTargetId(), node[:]) {
		return false
	}
	e.Properties = nil
	redactLife(e.GetLife())
	return true
}

// redactLife removes the stamps, because their keys have the names of properties.
func redactLife(l *eventsv1.Lifecycle) {
	if l != nil {
		l.Stamps = nil
	}
}
