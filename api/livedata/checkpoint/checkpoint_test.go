package checkpoint

import (
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestACheckpointComesBackAsItWasMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &token.Sealer{Key: [32]byte{1}}
		c := Checkpoint{Workspace: uuid.New(), Topic: [16]byte(uuid.New())}
		offsets := rapid.MapOf(rapid.Int32Range(0, math.MaxInt32), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "offsets")
		for partition, offset := range offsets {
			c.Positions = append(
				c.Positions, pointblock.Position{Partition: partition, Offset: offset / 2},
				pointblock.Position{Partition: partition, Offset: offset},
			)
		}
		text := Encode(s, c)
		got, err := Decode(s, text, c.Workspace)
		require.NoError(t, err)
		require.Equal(t, c.Topic, got.Topic)
		require.Equal(
			t, sortedPositions(c.Positions), slices.Concat(got.Positions, []pointblock.Position{}), "every record once",
		)
		_, err = Decode(s, text, uuid.New())
		require.Equal(t, fault.Malformed, fault.KindOf(err))
		_, err = Decode(&token.Sealer{Key: [32]byte{2}}, text, c.Workspace)
		require.Equal(t, fault.Malformed, fault.KindOf(err))
	})
}

// TestACheckpointOfTheFirstVersionIsStillRead decodes a token of version 1, which contains
// only the highest offset of each partition.
func TestACheckpointOfTheFirstVersionIsStillRead(t *testing.T) {
	s := &token.Sealer{Key: [32]byte{1}}
	workspace, topic := uuid.New(), uuid.New()
	payload := slices.Concat([]byte{version1}, workspace[:], topic[:], []byte{3, 200, 1, 5, 7})
	got, err := Decode(s, s.Seal(token.ForCheckpoint, payload), workspace)
	require.NoError(t, err)
	require.Equal(t, []pointblock.Position{{Partition: 3, Offset: 200}, {Partition: 5, Offset: 7}}, got.Positions)
	_, err = Decode(s, s.Seal(token.ForCheckpoint, payload[:len(payload)-1]), workspace)
	require.Equal(t, fault.Malformed, fault.KindOf(err))
}

// FuzzTokens: any text that is not a valid token is refused.
func FuzzTokens(f *testing.F) {
	s := &token.Sealer{Key: [32]byte{1}}
	workspace := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	f.Add(Encode(s, Checkpoint{
		Workspace: workspace, Positions: []pointblock.Position{{Partition: 1, Offset: 2}},
	}))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Decode(s, text, workspace); err == nil {
			require.Equal(t, text, Encode(s, c))
		}
		var position map[string]any
		if err := s.ReadCursor(text, token.Scope{}, &position); err == nil {
			t.Fatal("nobody made a cursor")
		}
	})
}
