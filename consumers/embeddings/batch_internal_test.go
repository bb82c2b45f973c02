package embeddings

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

func TestAChangeWhosePartsAreMissingIsLookedUp(t *testing.T) {
	workspace := uuid.New()
	read := func(at int64, parts ...uint32) (to int64, gap bool) {
		b := &batch{c: &Consumer{}}
		for _, part := range parts {
			value, err := proto.Marshal(&eventsv1.GraphEvent{
				WorkspaceId: workspace[:], Part: part, Parts: 3, Change: &eventsv1.Change{Sequence: 7},
			})
			require.NoError(t, err)
			require.NoError(t, b.Add(&kgo.Record{Value: value}))
		}
		return advanceProgress(at, b.events)
	}
	for name, c := range map[string]struct {
		parts []uint32
		to    int64
		gap   bool
	}{
		"all":            {[]uint32{0, 1, 2}, 7, false},
		"the last alone": {[]uint32{2}, 6, true},
		"one is missing": {[]uint32{0, 2}, 6, true},
		"so far":         {[]uint32{0, 1}, 6, false},
		"twice":          {[]uint32{0, 1, 0, 1, 2, 2}, 7, false},
	} {
		to, gap := read(6, c.parts...)
		require.Equal(t, c.to, to, name)
		require.Equal(t, c.gap, gap, name)
	}
	_, gap := read(7, 2)
	require.False(t, gap, "what is known already needs no parts")
}
