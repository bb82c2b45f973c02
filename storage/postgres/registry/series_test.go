package registry_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

var fingerprintKey = [16]byte{1, 2, 3}

func identities(ws, source uuid.UUID, from, to int) ([]pointblock.Identity, []pointblock.Fingerprint) {
	var (
		idents []pointblock.Identity
		prints []pointblock.Fingerprint
	)
	for i := from; i < to; i++ {
		ident := pointblock.Identity{
			Workspace: ws, Source: source, Metric: fmt.Sprintf("m%06d", i), Kind: pointblock.KindNumber,
			Tags: []pointblock.Tag{{Key: "n", Value: fmt.Sprint(i % 3)}, {Key: "z", Value: `"'\`}},
		}
		idents = append(idents, ident)
		prints = append(prints, ident.Fingerprint(&fingerprintKey))
	}
	return idents, prints
}

func TestSeriesAreRegisteredOnce(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 100_000)
	src := source(t, db, ws, "pump")
	idents, prints := identities(ws, src.ID, 0, 12_345)
	idents, prints = append(idents, idents[7]), append(prints, prints[7])
	ids, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
	require.NoError(t, err)
	require.NotContains(t, ok, false)
	for i := range ids {
		require.Equal(t, ids[0]>>40, ids[i]>>40, "ids of a source's series have the same upper bits")
		require.Equal(t, prints[i].SeriesID()<<24, ids[i]<<24)
	}
	other, otherPrints := identities(ws, source(t, db, ws, "fan").ID, 0, 1)
	otherIDs, _, err := db.RegisterSeries(t.Context(), ws, other, otherPrints)
	require.NoError(t, err)
	require.NotEqual(t, ids[0]>>40, otherIDs[0]>>40)
	again, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
	require.NoError(t, err)
	require.NotContains(t, ok, false)
	require.Equal(t, ids, again)
	require.EqualValues(t, 12_346, seriesCount(t, db, ws))
}

func TestATakenIDIsNotAssignedAgain(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 100)
	idents, prints := identities(ws, source(t, db, ws, "pump").ID, 0, 3)
	for i := range prints {
		prints[i] = pointblock.Fingerprint{15: byte(i)} // they differ only in bytes that are not part of the id
	}
	ids, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
	require.NoError(t, err)
	require.NotContains(t, ok, false)
	slices.Sort(ids)
	require.Equal(t, []uint64{ids[0], ids[0] + 1, ids[0] + 2}, ids)
}

func seriesCount(t *testing.T, db *pgtest.DB, ws uuid.UUID) int64 {
	t.Helper()
	list, err := db.WorkspacesByID(t.Context(), []uuid.UUID{ws})
	require.NoError(t, err)
	return list[0].Series
}

func TestTheLimitOfSeriesIsExactUnderConcurrency(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 1000)
	src := source(t, db, ws, "pump")
	var (
		group errgroup.Group
		mu    sync.Mutex
		known = map[uint64]bool{}
	)
	for worker := range 8 {
		group.Go(func() error {
			for from := range 10 {
				at := (from*37 + worker*53) % 1500 // overlaps with the ranges of other workers
				idents, prints := identities(ws, src.ID, at, at+200)
				ids, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
				if err != nil {
					return err
				}
				mu.Lock()
				for i := range ids {
					if ok[i] {
						known[ids[i]] = true
					}
				}
				mu.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.LessOrEqual(t, len(known), 1000)
	idents, prints := identities(ws, src.ID, 0, 2000)
	_, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
	require.NoError(t, err)
	require.EqualValues(t, 1000, seriesCount(t, db, ws))
	require.Len(t, slices.DeleteFunc(ok, func(ok bool) bool { return !ok }), 1000)
	all, err := db.AllSeries(t.Context(), ws, registry.SeriesFilter{}, 5000)
	require.NoError(t, err)
	require.Len(t, all, 1000)
}

func TestTwoIdentitiesNeverShareAnId(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 10, 100), pgtest.LimitedWorkspace(t, db, 10, 100)
	src := source(t, db, ws, "pump")
	foreign, err := db.CreateSource(t.Context(), other, registry.Source{ID: src.ID, Name: "pump"})
	require.NoError(t, err)
	idents, prints := identities(ws, src.ID, 0, 4)
	const sourceMask uint64 = 0xffffff << 40
	for i := range prints { // all prefer the same id, at the end of the source's range
		binary.LittleEndian.PutUint64(prints[i][:8], ^uint64(0)-1)
	}
	ids, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
	require.NoError(t, err)
	require.NotContains(t, ok, false)
	slices.Sort(ids)
	first := ids[0]
	require.Equal(t, ^sourceMask-1, first&^sourceMask)
	require.Equal(t, []uint64{first, first + 1, first + 2, first + 3}, ids)

	// The preferred id of a series of another workspace can be taken, too.
	idents, prints = identities(other, foreign.ID, 9, 10)
	wanted, _, err := db.RegisterSeries(t.Context(), other, idents, prints)
	require.NoError(t, err)
	require.NotEqual(t, first&sourceMask, wanted[0]&sourceMask)
	require.NoError(t, db.Exec(t.Context(), `DELETE FROM series WHERE id = $1`, int64(wanted[0])))
	require.NoError(t, db.Exec(t.Context(), `UPDATE series SET id = $1 WHERE id = $2`, int64(wanted[0]), int64(first)))
	ids, _, err = db.RegisterSeries(t.Context(), other, idents, prints)
	require.NoError(t, err)
	require.Equal(t, []uint64{wanted[0] + 1}, ids)
}

func TestADeletedSourceRegistersNothingAndItsSeriesAreRemoved(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 100)
	pump, fan := source(t, db, ws, "pump"), source(t, db, ws, "fan")
	idents, prints := identities(ws, pump.ID, 0, 60)
	fans, fanPrints := identities(ws, fan.ID, 0, 10)
	_, ok, err := db.RegisterSeries(
		t.Context(), ws, append(slices.Clone(idents), fans...), append(slices.Clone(prints), fanPrints...),
	)
	require.NoError(t, err)
	require.NotContains(t, ok, false)

	left, err := db.DeleteSource(t.Context(), ws, pump.ID, "req_1")
	require.NoError(t, err)
	more, _ := identities(ws, pump.ID, 100, 101)
	_, ok, err = db.RegisterSeries(t.Context(), ws, append(idents[:1:1], more...), append(
		prints[:1:1], more[0].Fingerprint(&fingerprintKey),
	))
	require.NoError(t, err)
	require.Equal(t, []bool{false, false}, ok, "neither existing nor new ones")
	list, total, _, err := db.Series(t.Context(), ws, registry.SeriesFilter{}, registry.SeriesPage{Limit: 100})
	require.NoError(t, err)
	require.EqualValues(t, 10, total)
	require.Len(t, list, 10)

	again, err := db.RemoveSeries(t.Context(), left)
	require.NoError(t, err)
	require.False(t, again)
	require.EqualValues(t, 10, seriesCount(t, db, ws))
}

func TestSeriesAreSelectedAndPaged(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 1000)
	node := uuid.New()
	pump, err := db.CreateSource(
		t.Context(), ws,
		registry.Source{ID: uuid.New(), Name: "pump", NodeID: &node, Unit: pgtest.Ptr("bar"),
			Metrics: []registry.SourceMetric{{Name: "m000001", Unit: pgtest.Ptr("°C")}, {Name: "m000002"}}},
	)
	require.NoError(t, err)
	fan := source(t, db, ws, "fan")
	for _, src := range []uuid.UUID{pump.ID, fan.ID} {
		idents, prints := identities(ws, src, 0, 20)
		_, _, err := db.RegisterSeries(t.Context(), ws, idents, prints)
		require.NoError(t, err)
	}
	count := func(filter registry.SeriesFilter) int64 {
		_, total, _, err := db.Series(t.Context(), ws, filter, registry.SeriesPage{Limit: 1})
		require.NoError(t, err)
		return total
	}
	require.EqualValues(t, 40, count(registry.SeriesFilter{}))
	require.EqualValues(t, 20, count(registry.SeriesFilter{Sources: []uuid.UUID{pump.ID, uuid.New()}}))
	require.EqualValues(t, 0, count(registry.SeriesFilter{Sources: []uuid.UUID{}}), "no source is not every source")
	require.EqualValues(t, 20, count(registry.SeriesFilter{SourceName: pgtest.Ptr("fan")}))
	require.EqualValues(t, 20, count(registry.SeriesFilter{NodeID: &node}))
	require.EqualValues(t, 0, count(registry.SeriesFilter{NodeID: &node, SourceName: pgtest.Ptr("fan")}))
	require.EqualValues(t, 4, count(registry.SeriesFilter{Metrics: []string{"m000001", "m000002", "m"}}))
	require.EqualValues(t, 14, count(registry.SeriesFilter{Tags: map[string][]string{"n": {"0"}}}))
	require.EqualValues(t, 28, count(registry.SeriesFilter{Tags: map[string][]string{"n": {"0", "1"}, "z": {`"'\`}}}))
	require.EqualValues(t, 0, count(registry.SeriesFilter{Tags: map[string][]string{"x' OR '1'='1": {"0"}}}))
	_, total, _, err := db.Series(t.Context(), uuid.New(), registry.SeriesFilter{}, registry.SeriesPage{Limit: 1})
	require.NoError(t, err)
	require.Zero(t, total, "another workspace")

	list, _, _, err := db.Series(
		t.Context(), ws, registry.SeriesFilter{Sources: []uuid.UUID{pump.ID}}, registry.SeriesPage{Limit: 3},
	)
	require.NoError(t, err)
	require.Equal(t, []*string{pgtest.Ptr("bar"), pgtest.Ptr("°C"), pgtest.Ptr("bar")},
		[]*string{list[0].Unit, list[1].Unit, list[2].Unit})
	require.Equal(t, map[string]string{"n": "1", "z": `"'\`}, list[1].Tags)
	require.Equal(t, pointblock.KindNumber, list[1].Kind)
	require.Equal(t, "pump", list[1].SourceName)

	seen := map[uint64]bool{}
	page := registry.SeriesPage{Limit: 7}
	for {
		list, _, more, err := db.Series(t.Context(), ws, registry.SeriesFilter{}, page)
		require.NoError(t, err)
		for _, s := range list {
			require.False(t, seen[s.ID])
			seen[s.ID] = true
		}
		if !more {
			break
		}
		page.After = pgtest.Ptr(list[len(list)-1].Position())
	}
	require.Len(t, seen, 40)
	some, err := db.AllSeries(t.Context(), ws, registry.SeriesFilter{}, 12)
	require.NoError(t, err)
	require.Len(t, some, 13, "one more than the limit reports that there are more")

	_, err = db.DeleteSource(t.Context(), ws, pump.ID, "req_1")
	require.NoError(t, err)
	require.EqualValues(
		t, 20, count(registry.SeriesFilter{}), "the series of a deleted source are not counted before they are removed",
	)
}
