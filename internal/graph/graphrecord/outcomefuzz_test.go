package graphrecord_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// FuzzDecodeOutcome verifies that any reply to a command decodes to an outcome or an error,
// and that every failure of an outcome converts to a fault.
func FuzzDecodeOutcome(f *testing.F) {
	refusal := graphrecord.FromFault(
		fault.Field(fault.Conflict, "payload.id", "already_exists").With("expectedVersion", int64(1)<<62),
	)
	for _, o := range []*eventsv1.Outcome{
		{}, {Failure: refusal},
		{Id: make([]byte, 16), Sequence: 1, UndoDepth: 2, Results: []*eventsv1.Result{{Failure: refusal}, {Sequence: 7}}},
		{Failure: &eventsv1.Failure{Kind: "nonsense", Details: []byte("{")}},
	} {
		encoded, err := graphrecord.EncodeOutcome(o)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		o, err := graphrecord.DecodeOutcome(encoded)
		require.False(t, err != nil && graphrecord.FailedInternally(encoded))
		if err != nil {
			return
		}
		for _, failure := range append([]*eventsv1.Failure{o.GetFailure()}, failuresOf(o)...) {
			if failure != nil {
				require.NotNil(t, graphrecord.FromFault(graphrecord.ToFault(failure)))
			}
		}
		_, err = graphrecord.EncodeOutcome(o)
		require.NoError(t, err)
	})
}

func failuresOf(o *eventsv1.Outcome) (all []*eventsv1.Failure) {
	for _, r := range o.GetResults() {
		all = append(all, r.GetFailure())
	}
	return all
}
