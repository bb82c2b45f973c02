package lexical

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// FuzzAdd: whatever is in the log of events, it touches nodes or is an error that
// leaves the batch as it was.
func FuzzAdd(f *testing.F) {
	id := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	node := &eventsv1.Step{After: &eventsv1.Step_Node{Node: &eventsv1.Node{Id: id[:]}}}
	for _, e := range []*eventsv1.GraphEvent{
		{}, {WorkspaceId: id[:], Change: &eventsv1.Change{Sequence: 1, Steps: []*eventsv1.Step{node, node, {}}}},
		{WorkspaceId: id[:], Parts: 2, Change: &eventsv1.Change{Sequence: -1}},
		{WorkspaceId: id[:], Change: &eventsv1.Change{Sequence: 1, Steps: []*eventsv1.Step{
			node, {After: &eventsv1.Step_Node{}},
		}}},
	} {
		encoded, err := proto.Marshal(e)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		b := newBatch(&Consumer{})
		err := b.Add(&kgo.Record{Value: value})
		require.Equal(t, err != nil, b.Rows() == 0)
		if err == nil {
			before := b.Rows()
			require.NoError(t, b.Add(&kgo.Record{Value: value}))
			require.Equal(t, before, b.Rows(), "what is told twice is one")
		}
	})
}
