package lexical

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// FuzzAdd tests that Add accepts any input or returns an error and leaves the batch unchanged.
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
			require.Equal(t, before, b.Rows(), "a repeated event adds nothing")
		}
	})
}
