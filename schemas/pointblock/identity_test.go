package pointblock_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestTheFingerprintNeverChanges(t *testing.T) {
	// Series are registered under these: a change would make every series new.
	id := pointblock.Identity{
		Workspace: workspaceA, Source: sourceA, Metric: "temperature", Kind: pointblock.KindNumber,
		Tags: []pointblock.Tag{{Key: "hall", Value: "3"}, {Key: "line", Value: "β"}},
	}
	key := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	f := id.Fingerprint(&key)
	require.Equal(t, "7d1217f97bc191e5fabd0cdedeaffea2", f.String())
	require.EqualValues(t, uint64(0xe591c17bf917127d), f.SeriesID())
}

func TestSipHashIsTheReferenceOne(t *testing.T) {
	// The first vectors of the reference implementation's vectors_sip128.
	key := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	require.Equal(t, "a3817f04ba25a8e66df67214c7550293", pointblock.FingerprintOf(&key, nil).String())
	require.Equal(t, "da87c1d86b99af44347659119b22fc45", pointblock.FingerprintOf(&key, []byte{0}).String())
}

func TestDifferentIdentitiesHaveDifferentCanonicalBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few characters and sources, so that near misses are frequent.
		draw := func(label string) pointblock.Identity {
			short := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00\x01\x02")), 0, 3, -1)
			id := pointblock.Identity{
				Source: rapid.SampledFrom([]uuid.UUID{sourceA, sourceB}).Draw(t, label),
				Metric: short.Draw(t, label),
				Kind:   rapid.SampledFrom([]pointblock.Kind{1, 2}).Draw(t, label),
			}
			for key, value := range rapid.MapOfN(short, short, 0, 2).Draw(t, label) {
				id.Tags = append(id.Tags, pointblock.Tag{Key: key, Value: value})
			}
			slices.SortFunc(id.Tags, func(a, b pointblock.Tag) int {
				if a.Key < b.Key {
					return -1
				}
				return 1
			})
			return id
		}
		a, b := draw("a"), draw("b")
		same := a.Source == b.Source && a.Metric == b.Metric && a.Kind == b.Kind && slices.Equal(a.Tags, b.Tags)
		require.Equal(t, same, string(a.AppendCanonical(nil)) == string(b.AppendCanonical(nil)))
	})
}

func TestThePartitionIsThatOfKafkasDefaultPartitioner(t *testing.T) {
	kafka := kgo.StickyKeyPartitioner(nil).ForTopic("points")
	rapid.Check(t, func(t *rapid.T) {
		source := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "source"))
		n := rapid.Int32Range(1, 1000).Draw(t, "partitions")
		require.EqualValues(t, kafka.Partition(&kgo.Record{Key: source[:]}, int(n)), pointblock.Partition(source, n))
	})
}

func TestAHigherGenerationIsAHigherVersion(t *testing.T) {
	require.EqualValues(t, 5, pointblock.Version(0, 5))
	require.EqualValues(t, uint64(3)<<48|7, pointblock.Version(3, 7))
	require.Greater(t, pointblock.Version(1, 0), pointblock.Version(0, 1<<48-1))
}
