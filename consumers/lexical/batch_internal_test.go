package lexical

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

func TestTheLastPartAloneMakesNoChangeKnown(t *testing.T) {
	workspace := uuid.New()
	addPart := func(c *Consumer, b *batch, part uint32) []int64 {
		if b == nil {
			b = newBatch(c)
		}
		value, err := proto.Marshal(&eventsv1.GraphEvent{
			WorkspaceId: workspace[:], Part: part, Parts: 3, Change: &eventsv1.Change{Sequence: 7},
		})
		require.NoError(t, err)
		require.NoError(t, b.Add(&kgo.Record{Value: value}))
		return b.workspaces[workspace].sequences
	}
	c := &Consumer{}
	require.Empty(t, addPart(c, nil, 2), "the log has lost the parts before it")
	require.Empty(t, addPart(c, nil, 0))
	require.Empty(t, addPart(c, nil, 1))
	require.Equal(t, []int64{7}, addPart(c, nil, 2), "the parts may be in different batches")
}
