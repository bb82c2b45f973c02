package graphrecord

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// EncodeOutcome encodes the outcome of a record.
func EncodeOutcome(o *eventsv1.Outcome) ([]byte, error) {
	encoded, err := proto.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encoding an outcome: %w", err)
	}
	return encoded, nil
}

// OutcomeOf returns the outcome of a single command.
func OutcomeOf(result *eventsv1.Result) *eventsv1.Outcome {
	return &eventsv1.Outcome{
		Id: result.GetCommandId(), Results: []*eventsv1.Result{result},
		Sequence: result.GetSequence(), UndoDepth: result.GetUndoDepth(), RedoDepth: result.GetRedoDepth(),
	}
}

// DecodeOutcome decodes the outcome of a record.
func DecodeOutcome(encoded []byte) (*eventsv1.Outcome, error) {
	o := &eventsv1.Outcome{}
	if err := proto.Unmarshal(encoded, o); err != nil {
		return nil, fmt.Errorf("decoding an outcome: %w", err)
	}
	return o, nil
}

// FromFault returns the record of the error of a refused command. The record has only the
// public part of the error; an error without one becomes an internal error.
func FromFault(err error) *eventsv1.Failure {
	var public *fault.Error
	if !errors.As(err, &public) {
		return &eventsv1.Failure{Kind: fault.Internal.String(), Message: "Internal server error"}
	}
	failure := &eventsv1.Failure{Kind: public.Kind.String(), Message: public.Message}
	if len(public.Details) > 0 {
		details, err := json.Marshal(public.Details, json.Deterministic(true))
		if err != nil { // a detail that cannot be encoded is a defect; the answer then has no details
			return failure
		}
		failure.Details = details
	}
	return failure
}

// ToFault returns the error of a refused command from its record. An unknown kind, written
// by a newer version, becomes internal.
func ToFault(failure *eventsv1.Failure) *fault.Error {
	kind, _ := fault.ParseKind(failure.GetKind())
	e := fault.New(kind, failure.GetMessage())
	if len(failure.GetDetails()) == 0 {
		return e
	}
	var details map[string]jsontext.Value // undecoded: a version may exceed the integers of a float64
	if err := json.Unmarshal(failure.GetDetails(), &details); err != nil {
		return fault.Wrap(err, fault.Internal, "Internal server error")
	}
	for name, detail := range details {
		_ = e.With(name, detail)
	}
	return e
}

// FromAffected returns the record of the resources that a command touched.
func FromAffected(a graph.Affected) *eventsv1.Affected {
	return &eventsv1.Affected{
		NodeIds: BytesOfAll(a.Nodes), EdgeIds: BytesOfAll(a.Edges), Nodes: a.NodeCount, Edges: a.EdgeCount,
	}
}

// FailedInternally reports whether the whole record of an encoded outcome failed because
// of an internal error: none of its commands was applied, and it was written to the dead
// letter queue.
func FailedInternally(encoded []byte) bool {
	o, err := DecodeOutcome(encoded)
	return err == nil && o.GetFailure().GetKind() == fault.Internal.String()
}
