package graph

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// The scopes of graph writes; admin includes all.
const (
	scopeAdmin = "admin"
	scopeNodes = "write:nodes"
	scopeEdges = "write:edges"
)

// Outcome is the result of a command or a batch.
type Outcome struct {
	// Change is the entry to append to the journal. It is nil if nothing changed; the
	// sequence is then still unused.
	Change *Change
	// Results has for each action the resource after it, which may be deleted. UNDO and
	// REDO have none: their resources are in the steps of the change.
	Results []Result
}

// Result is the resource after an action: a node or an edge.
type Result struct {
	Node   *Node
	Edge   *Edge
	Effect Effect // of an upsert; otherwise empty
}

// decision evaluates one command or batch.
type decision struct {
	state     State
	commandID uuid.UUID
	sequence  Sequence // of the resulting change
	at        time.Time
	steps     []Step
}

// Apply evaluates a command and applies its effect to the state. sequence is the next
// sequence of the workspace, and at is the time of the change. An error that is a
// *fault.Error is the answer to the command; any other error is one of the state. In both
// cases nothing changed.
func Apply(state State, c Command, sequence Sequence, at time.Time) (Outcome, error) {
	if err := c.Validate(); err != nil {
		return Outcome{}, err
	}
	d := newDecision(state, c.ID, sequence, at)
	change := d.change(c.Origin, c.Payload.Type())
	var err error
	var results []Result
	switch p := c.Payload.(type) {
	case Undo:
		change.Target, err = d.undo(c.Origin, p.Pick)
	case Redo:
		change.Target, err = d.redo(c.Origin, p.Pick)
	default:
		results = make([]Result, 1)
		results[0], err = d.act(c.Scopes, c.Action)
	}
	if err != nil {
		return Outcome{}, err
	}
	if isUpsert(c.Payload) && len(d.steps) > 0 {
		change.Type = d.steps[0].Type
	}
	return d.outcome(change, results), nil
}

// ApplyBatch is like [Apply], for an atomic batch. A fault is that of the first action
// that fails, with the index of the action in "index" and in the prefix of "field".
func ApplyBatch(state State, b Batch, sequence Sequence, at time.Time) (Outcome, error) {
	if err := b.Validate(); err != nil {
		return Outcome{}, err
	}
	d := newDecision(state, b.ID, sequence, at)
	results := make([]Result, len(b.Actions))
	err := state.Atomically(func() error {
		for i, action := range b.Actions {
			result, err := d.act(b.Scopes, action)
			if err != nil {
				return atIndex(err, i)
			}
			results[i] = result
		}
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return d.outcome(d.change(b.Origin, TypeBatch), results), nil
}

func newDecision(state State, id uuid.UUID, sequence Sequence, at time.Time) *decision {
	return &decision{state: state, commandID: id, sequence: sequence, at: at.UTC().Truncate(time.Microsecond)}
}

func (d *decision) change(o Origin, t Type) *Change {
	return &Change{Sequence: d.sequence, CommandID: d.commandID, Actor: o.Actor, Type: t, At: d.at, RequestID: o.RequestID}
}

func (d *decision) outcome(change *Change, results []Result) Outcome {
	if len(d.steps) == 0 {
		return Outcome{Results: results}
	}
	change.Steps = d.steps
	return Outcome{Change: change, Results: results}
}

// act applies one action that is neither UNDO nor REDO.
func (d *decision) act(scopes []string, a Action) (Result, error) {
	if err := authorize(scopes, a.Payload.Type()); err != nil {
		return Result{}, err
	}
	switch p := a.Payload.(type) {
	case UpsertNode, UpsertEdge:
		return d.upsert(p)
	case CreateNode:
		return nodeResult(d.createNode(p))
	case UpdateNode:
		return nodeResult(d.updateNode(p, a.ExpectedVersion))
	case DeleteNode:
		return nodeResult(d.deleteNode(p, a.ExpectedVersion))
	case CreateEdge:
		return edgeResult(d.createEdge(p))
	case UpdateEdge:
		return edgeResult(d.updateEdge(p, a.ExpectedVersion))
	case DeleteEdge:
		return edgeResult(d.deleteEdge(p, a.ExpectedVersion))
	}
	return Result{}, fmt.Errorf("graph: no rule for a %T", a.Payload)
}

func (d *decision) upsert(p Payload) (result Result, err error) {
	steps := len(d.steps)
	switch p := p.(type) {
	case UpsertNode:
		result.Node, err = d.upsertNode(p)
	case UpsertEdge:
		result.Edge, err = d.upsertEdge(p)
	}
	if err == nil {
		result.Effect = d.effectOf(steps)
	}
	return result, err
}

func nodeResult(n *Node, err error) (Result, error) { return Result{Node: n}, err }
func edgeResult(e *Edge, err error) (Result, error) { return Result{Edge: e}, err }

// do applies a step and adds it to the steps of the change.
func (d *decision) do(step Step) error {
	if err := d.state.Do(&step, d.sequence, d.at); err != nil {
		return err
	}
	d.steps = append(d.steps, step)
	return nil
}

// newLifecycle returns the lifecycle of a resource that this change creates.
func (d *decision) newLifecycle() Lifecycle {
	life := Lifecycle{CreatedAt: d.at, CreatedBy: d.sequence}
	life.Touch(d.sequence, d.at)
	return life
}

// authorize returns a Forbidden fault if none of the scopes permits a type of command.
func authorize(scopes []string, t Type) error {
	required := scopeEdges
	switch t {
	case TypeCreateNode, TypeUpdateNode, TypeDeleteNode, TypeUpsertNode:
		required = scopeNodes
	}
	if slices.Contains(scopes, required) || slices.Contains(scopes, scopeAdmin) {
		return nil
	}
	return fault.New(fault.Forbidden, "Forbidden").With("required", []string{required})
}

// write is a value for one field of an update.
type write struct {
	field string
	value []byte // nil: removes the field
}

// applyWrites applies the writes that change a value, with the sequence of this change as
// stamp, and returns the fields as they were before; nil if nothing changed.
func (d *decision) applyWrites(r resource, writes []write) map[string]Field {
	var overwritten map[string]Field
	for _, w := range writes {
		old := get(r, w.field)
		if (old == nil) == (w.value == nil) && string(old) == string(w.value) {
			continue
		}
		if overwritten == nil {
			overwritten = map[string]Field{}
		}
		overwritten[w.field] = Field{Value: old, Stamp: stamp(r, w.field)}
		put(r, w.field, Field{Value: w.value, Stamp: d.sequence})
	}
	if overwritten != nil {
		pruneStamps(r)
		r.life().Touch(d.sequence, d.at)
	}
	return overwritten
}

// propertyWrites returns the result of a merge patch as writes. They may include writes
// that change nothing.
func propertyWrites(r resource, patch []byte) ([]write, error) {
	if patch == nil {
		return nil, nil
	}
	old := *r.properties()
	merged, err := old.Merge(patch)
	if err != nil {
		return nil, propertiesFault(err)
	}
	var writes []write
	for name := range old {
		if _, ok := merged[name]; !ok {
			writes = append(writes, write{field: propertyPrefix + name})
		}
	}
	for name, value := range merged {
		writes = append(writes, write{field: propertyPrefix + name, value: value})
	}
	return writes, nil
}
