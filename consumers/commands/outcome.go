package commands

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// outcome decides a request and returns its outcome.
func (g *group) outcome(r *record, state *graphstore.State) (*eventsv1.Outcome, error) {
	request := r.request
	id := request.ID
	o := &eventsv1.Outcome{Id: id[:]}
	switch {
	case r.poison != "":
		o.Failure = graphrecord.FromFault(nil)
		g.counts.add(failed, fault.Internal.String(), len(request.Actions))
		return o, nil
	case state == nil:
		o.Failure = graphrecord.FromFault(fault.New(fault.Forbidden, "Workspace access denied"))
		g.counts.add(failed, fault.Forbidden.String(), len(request.Actions))
		return o, nil
	case request.Mode == graphrecord.Atomic:
		return o, g.atomic(o, request, state)
	}
	for _, command := range request.Commands() {
		result, err := g.single(command, state)
		if err != nil {
			return nil, err
		}
		o.Results = append(o.Results, result)
	}
	if request.Mode == graphrecord.Single {
		return graphrecord.OutcomeOf(o.Results[0]), nil
	}
	return o, nil
}

// single decides one command.
func (g *group) single(command graph.Command, state *graphstore.State) (*eventsv1.Result, error) {
	id := command.ID
	result := &eventsv1.Result{CommandId: id[:], Type: typeOf(command.Action)}
	done, err := graph.Apply(state, command, state.Next(), time.Now())
	if refused := asFault(err); refused != nil {
		result.Failure = graphrecord.FromFault(refused)
		g.counts.add(failed, refused.Kind.String(), 1)
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	g.counts.add(applied, result.Type, 1)
	var steps []graph.Step
	if done.Change != nil {
		if err := state.Record(done.Change); err != nil {
			return nil, err
		}
		steps = done.Change.Steps
		result.Sequence, result.Target = int64(done.Change.Sequence), graphrecord.FromTarget(done.Change.Target)
	}
	result.Affected = graphrecord.FromAffected(graph.AffectedBy(steps))
	switch {
	case len(done.Results) == 1:
		setResult(result, done.Results[0])
	case len(steps) == 1: // UNDO or REDO with one step
		setResult(result, graph.Result{Node: steps[0].Node, Edge: steps[0].Edge})
	}
	result.UndoDepth, result.RedoDepth, err = depths(state, command.Actor)
	return result, err
}

// atomic decides a batch that is recorded as one change.
func (g *group) atomic(o *eventsv1.Outcome, request *graphrecord.Request, state *graphstore.State) error {
	done, err := graph.ApplyBatch(state, request.Batch(), state.Next(), time.Now())
	if refused := asFault(err); refused != nil {
		o.Failure = graphrecord.FromFault(refused)
		g.counts.add(failed, refused.Kind.String(), len(request.Actions))
		return nil
	}
	if err != nil {
		return err
	}
	var steps []graph.Step
	if done.Change != nil {
		if err := state.Record(done.Change); err != nil {
			return err
		}
		steps, o.Sequence = done.Change.Steps, int64(done.Change.Sequence)
	}
	o.Results = make([]*eventsv1.Result, len(request.Actions))
	for i, action := range request.Actions {
		result := &eventsv1.Result{Type: typeOf(action)}
		g.counts.add(applied, result.Type, 1)
		setResult(result, done.Results[i])
		stepCount := 0 // an action that changed nothing has no step
		if len(steps) > 0 && stepMatches(&steps[0], done.Results[i]) {
			stepCount = 1
		}
		result.Affected = graphrecord.FromAffected(graph.AffectedBy(steps[:stepCount]))
		steps = steps[stepCount:]
		o.Results[i] = result
	}
	o.UndoDepth, o.RedoDepth, err = depths(state, request.Actor)
	return err
}

// stepMatches reports whether the step contains the same resource, by pointer, as the result.
func stepMatches(step *graph.Step, result graph.Result) bool {
	return step.Node == result.Node && step.Edge == result.Edge
}

func setResult(to *eventsv1.Result, r graph.Result) {
	to.Effect = string(r.Effect)
	switch {
	case r.Node != nil:
		to.Resource = &eventsv1.Result_Node{Node: graphrecord.FromNode(r.Node)}
	case r.Edge != nil:
		to.Resource = &eventsv1.Result_Edge{Edge: graphrecord.FromEdge(r.Edge)}
	}
}

func depths(state *graphstore.State, actor uuid.UUID) (undo, redo int32, err error) {
	u, r, err := state.Depths(actor)
	return int32(u), int32(r), err
}

func typeOf(a graph.Action) string {
	if a.Payload == nil {
		return ""
	}
	return string(a.Payload.Type())
}

// asFault returns the fault.Error in err, which is the outcome of a refused command, or nil.
func asFault(err error) *fault.Error {
	var public *fault.Error
	if errors.As(err, &public) {
		return public
	}
	return nil
}
