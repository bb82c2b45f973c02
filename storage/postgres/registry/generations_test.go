package registry_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

// log returns an observer of a topic; parts are the start and end of each partition.
func log(id byte, parts ...[2]int64) func(context.Context) (postgres.LogState, error) {
	state := postgres.LogState{TopicID: [16]byte{id}}
	for _, p := range parts {
		state.Partitions = append(state.Partitions, postgres.LogPartition{Start: p[0], End: p[1], ReplacedFrom: -1})
	}
	return func(context.Context) (postgres.LogState, error) { return state, nil }
}

func resolve(
	t *testing.T, db *pgtest.DB, observe func(context.Context) (postgres.LogState, error),
) (registry.Generations, int) {
	t.Helper()
	all, added, err := db.ResolveGenerations(t.Context(), "points", observe)
	require.NoError(t, err)
	return all, len(added)
}

func requireGeneration(t *testing.T, all registry.Generations, partition int32, offset int64, want uint16) {
	t.Helper()
	got, ok := all.At(all[len(all)-1].TopicID, partition, offset, pointblock.AnyRoute)
	require.True(t, ok)
	require.Equal(t, want, got, "partition %d offset %d", partition, offset)
}

func TestGenerationsRiseOnlyWhenOffsetsLoseTheirMeaning(t *testing.T) {
	db := pgtest.Open(t)
	all, added := resolve(t, db, log(1, [2]int64{0, 0}, [2]int64{0, 0}))
	require.Equal(t, 2, added, "first sight")
	requireGeneration(t, all, 1, 0, 1)

	_, added = resolve(t, db, log(1, [2]int64{50, 100}, [2]int64{0, 10}))
	require.Zero(t, added, "a log that grows or is trimmed starts no generation")

	require.NoError(t, db.AdvanceWatermarks(t.Context(), [16]byte{1}, map[int32]int64{0: 100, 1: 10}))
	_, added = resolve(t, db, log(1, [2]int64{50, 100}, [2]int64{0, 10}))
	require.Zero(t, added, "all records are stored")

	all, added = resolve(t, db, log(1, [2]int64{50, 100}, [2]int64{0, 10}, [2]int64{0, 3}))
	require.Equal(t, 3, added, "another partition: series may have moved between any two")
	requireGeneration(t, all, 0, 99, 1)
	requireGeneration(t, all, 0, 100, 2)
	requireGeneration(t, all, 1, 9, 1)
	requireGeneration(t, all, 1, 10, 2)
	requireGeneration(t, all, 2, 0, 2)

	all, added = resolve(t, db, log(1, [2]int64{0, 40}, [2]int64{0, 10}, [2]int64{0, 3}))
	require.Equal(t, 1, added, "offsets of partition 0 went backwards")
	requireGeneration(t, all, 0, 0, 3)
	requireGeneration(t, all, 0, 200, 3)
	requireGeneration(t, all, 1, 10, 2)
	marks, err := db.Watermarks(t.Context(), [16]byte{1})
	require.NoError(t, err)
	require.Equal(t, map[int32]int64{0: 0, 1: 10}, marks, "the watermark restarts with the offsets")

	all, added = resolve(t, db, log(2, [2]int64{0, 7}, [2]int64{0, 0}))
	require.Equal(t, 2, added, "topic created again")
	requireGeneration(t, all, 0, 0, 4)
	requireGeneration(t, all, 1, 1000, 4)
	all, added = resolve(t, db, log(2, [2]int64{0, 9}, [2]int64{0, 1}))
	require.Zero(t, added)
	require.Len(t, all, 2+3+1+2)
	old, ok := all.At([16]byte{1}, 0, 1000, pointblock.AnyRoute)
	require.True(t, ok)
	require.EqualValues(t, 3, old, "records of the old topic keep their generation")
}

func TestRecordsThatWereReplacedGetANewGeneration(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 100}))
	require.NoError(t, db.AdvanceWatermarks(t.Context(), [16]byte{1}, map[int32]int64{0: 100}))
	all, added := resolve(t, db, func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{
			TopicID: [16]byte{1}, Partitions: []postgres.LogPartition{{Start: 0, End: 120, ReplacedFrom: 90}},
		}, nil
	})
	require.Equal(t, 1, added)
	requireGeneration(t, all, 0, 89, 1)
	requireGeneration(t, all, 0, 90, 2)
	marks, err := db.Watermarks(t.Context(), [16]byte{1})
	require.NoError(t, err)
	require.EqualValues(t, 90, marks[0])
}

// TestAStateThatSetsOffsetsBackMustBeConfirmed observes an end below the watermark, as a broker that was
// separated from the others reports it.
func TestAStateThatSetsOffsetsBackMustBeConfirmed(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 100}))
	require.NoError(t, db.AdvanceWatermarks(t.Context(), [16]byte{1}, map[int32]int64{0: 100}))
	observe := func(end int64, confirm func(context.Context) (postgres.LogState, error)) func(context.Context) (
		postgres.LogState, error,
	) {
		return func(ctx context.Context) (postgres.LogState, error) {
			state, err := log(1, [2]int64{0, end})(ctx)
			state.Confirm = confirm
			return state, err
		}
	}
	missing := func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{}, errors.New("a broker does not respond")
	}
	watermark := func() int64 {
		marks, err := db.Watermarks(t.Context(), [16]byte{1})
		require.NoError(t, err)
		return marks[0]
	}
	_, added := resolve(t, db, observe(100, missing))
	require.Zero(t, added, "nothing is set back")
	_, _, err := db.ResolveGenerations(t.Context(), "points", observe(12, missing))
	require.ErrorContains(t, err, "a broker does not respond")
	_, added = resolve(t, db, observe(12, log(1, [2]int64{0, 120})))
	require.Zero(t, added, "the leader has the records")
	require.EqualValues(t, 100, watermark())
	_, added = resolve(t, db, observe(12, log(1, [2]int64{0, 50})))
	require.Equal(t, 1, added)
	require.Zero(t, watermark(), "the log has lost its end")
}

func TestProcessesThatSeeAChangeTogetherRecordItOnce(t *testing.T) {
	db := pgtest.Open(t)
	var addedTogether atomic.Int32
	var group errgroup.Group
	for range 3 {
		group.Go(func() error {
			_, added, err := db.ResolveGenerations(t.Context(), "points", log(1, [2]int64{0, 5}))
			addedTogether.Add(int32(len(added)))
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, addedTogether.Load())
}

func TestALogThatCannotBeObservedChangesNothing(t *testing.T) {
	db := pgtest.Open(t)
	_, _, err := db.ResolveGenerations(t.Context(), "points", func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{}, errors.New("broker is unavailable")
	})
	require.ErrorContains(t, err, "broker is unavailable")
	all, err := db.Generations(t.Context(), "points")
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestWatermarksNeverGoDownByAdvancing(t *testing.T) {
	db := pgtest.Open(t)
	id := [16]byte{9}
	require.NoError(t, db.AdvanceWatermarks(t.Context(), id, map[int32]int64{0: 5, 3: 7}))
	require.NoError(t, db.AdvanceWatermarks(t.Context(), id, map[int32]int64{0: 4, 3: 8}))
	marks, err := db.Watermarks(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[int32]int64{0: 5, 3: 8}, marks)
	marks, err = db.Watermarks(t.Context(), [16]byte{8})
	require.NoError(t, err)
	require.Empty(t, marks)
}

func TestTombstonesAreWrittenOnceAndReadIncrementally(t *testing.T) {
	db := pgtest.Open(t)
	metric, from := "temperature", int64(1000)
	first := registry.Tombstone{
		Partition: 1, RecordVersion: 1<<48 | 5, Ordinal: 0, Workspace: uuid.New(), Source: uuid.New(),
		Metric: &metric, FromUS: &from, Ceiling: 1<<48 | 5,
	}
	wholeSource := registry.Tombstone{
		Partition: 1, RecordVersion: 1<<48 | 5, Ordinal: 1, Workspace: uuid.New(), Source: uuid.New(),
		Ceiling: registry.CeilingUnlimited,
	}
	for range 2 {
		require.NoError(t, db.AddTombstones(t.Context(), []registry.Tombstone{first, wholeSource}))
	}
	begin, err := db.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	require.Empty(t, begin.ChangedSources, "a consumer has nothing cached at its start")
	state, err := db.ConsumerState(t.Context(), "points", 1)
	require.NoError(t, err)
	require.Equal(t, begin.AsOf, state.AsOf)
	require.Equal(
		t,
		[]registry.SourceID{
			{Workspace: first.Workspace, Source: first.Source}, {Workspace: wholeSource.Workspace, Source: wholeSource.Source},
		},
		state.ChangedSources,
	)
	later, err := db.ConsumerState(t.Context(), "points", state.AsOf)
	require.NoError(t, err)
	require.Empty(t, later.ChangedSources)
	require.Equal(t, state.AsOf, later.AsOf)

	tombstonesFrom := func(floor uint64) []registry.Tombstone {
		found, gone, err := db.SourceTombstones(t.Context(), []registry.SourceMinVersion{
			{SourceID: state.ChangedSources[0], MinVersion: floor}, {SourceID: state.ChangedSources[1], MinVersion: floor},
			{SourceID: registry.SourceID{Source: uuid.New()}},
		})
		require.NoError(t, err)
		require.Empty(t, gone)
		return found
	}
	require.ElementsMatch(t, []registry.Tombstone{first, wholeSource}, tombstonesFrom(1<<48|5))
	require.Equal(t, []registry.Tombstone{wholeSource}, tombstonesFrom(1<<48|6), "its ceiling is too low")
}
