package embeddings

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// FuzzDecode tests that decodeEvent returns a valid event or an error for any input.
func FuzzDecode(f *testing.F) {
	id := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	for _, e := range []*eventsv1.GraphEvent{
		{}, {WorkspaceId: id[:], Change: &eventsv1.Change{Sequence: 1}},
		{WorkspaceId: id[:], Part: 1<<32 - 1, Parts: 3, Change: &eventsv1.Change{Sequence: 1 << 62, Steps: []*eventsv1.Step{
			{After: &eventsv1.Step_Node{Node: &eventsv1.Node{Id: id[:]}}}, {After: &eventsv1.Step_Edge{Edge: &eventsv1.Edge{}}},
			{},
		}}},
	} {
		encoded, err := proto.Marshal(e)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if e, err := decodeEvent(value); err == nil {
			require.Positive(t, e.sequence)
			for _, e.complete = range []bool{false, e.last()} {
				to, gap := advanceProgress(e.sequence-1, []event{e})
				require.Equal(t, e.complete, to == e.sequence)
				require.Equal(t, e.last() && !e.complete, gap, "a last part alone leaves something missing")
			}
		}
	})
}
