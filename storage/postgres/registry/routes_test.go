package registry_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/pgtest"
)

const leaseDuration = time.Minute // longer than the test

func lease(t *testing.T, db *pgtest.DB, holder uuid.UUID, current int64) (pointblock.Route, bool) {
	t.Helper()
	route, leased, err := db.LeaseRoute(t.Context(), "points", holder, current, leaseDuration)
	require.NoError(t, err)
	return route, leased
}

func TestANewRouteIsLeasedWhenNoHolderUsesAnEarlierOne(t *testing.T) {
	db := pgtest.Open(t)
	a, b := uuid.New(), uuid.New()
	_, _, err := db.LeaseRoute(t.Context(), "points", a, 0, leaseDuration)
	require.True(t, fault.Is(err, fault.NotFound), "no route yet: %v", err)

	resolve(t, db, log(1, [2]int64{0, 0}))
	first := pointblock.Route{Number: 1, TopicID: [16]byte{1}, Partitions: 1}
	for _, holder := range []uuid.UUID{a, b, a} {
		route, leased := lease(t, db, holder, 0)
		require.Equal(t, first, route)
		require.True(t, leased, "any number of processes use one route")
	}
	resolve(t, db, log(1, [2]int64{0, 9}, [2]int64{0, 0}))
	second := pointblock.Route{Number: 2, TopicID: [16]byte{1}, Partitions: 2}
	for range 2 {
		route, leased := lease(t, db, a, 1)
		require.Equal(t, second, route)
		require.False(t, leased, "the holder itself uses the earlier one")
	}
	_, leased := lease(t, db, a, 0)
	require.False(t, leased, "the other holder uses the earlier one")
	_, leased = lease(t, db, b, 1)
	require.False(t, leased)
	_, leased = lease(t, db, b, 0)
	require.True(t, leased, "no holder uses the earlier one")
	_, leased = lease(t, db, a, 0)
	require.True(t, leased)
	_, leased = lease(t, db, b, 2)
	require.True(t, leased, "renewed")

	// A broker that lags behind reports the earlier partition count.
	resolve(t, db, log(1, [2]int64{0, 9}))
	route, leased := lease(t, db, a, 2)
	require.Equal(t, second, route)
	require.True(t, leased)
	require.NoError(t, db.ReleaseRoute(t.Context(), "points", b))
	resolve(t, db, log(2, [2]int64{0, 0}))
	route, leased = lease(t, db, a, 0)
	require.Equal(t, pointblock.Route{Number: 3, TopicID: [16]byte{2}, Partitions: 1}, route, "created again")
	require.True(t, leased)
}

func TestALeaseOfARouteExpires(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 0}))
	_, leased, err := db.LeaseRoute(t.Context(), "points", uuid.New(), 0, 200*time.Millisecond) // and it is never released
	require.NoError(t, err)
	require.True(t, leased)
	resolve(t, db, log(1, [2]int64{0, 9}, [2]int64{0, 0}))
	other := uuid.New()
	_, leased = lease(t, db, other, 0)
	require.False(t, leased)
	require.Eventually(t, func() bool {
		_, leased := lease(t, db, other, 0)
		return leased
	}, time.Minute, 10*time.Millisecond)
}

// TestTwoRoutesAreNeverLeasedAtOnce switches many processes from route to route, each when
// it learns of the new one.
func TestTwoRoutesAreNeverLeasedAtOnce(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 0}))
	var group errgroup.Group
	for range 6 {
		group.Go(func() error {
			holder, current := uuid.New(), int64(0)
			for range 100 {
				route, leased, err := db.LeaseRoute(t.Context(), "points", holder, current, leaseDuration)
				if err != nil {
					return err
				}
				if current = 0; leased {
					current = route.Number
				}
			}
			return db.ReleaseRoute(t.Context(), "points", holder)
		})
	}
	parts := [][2]int64{{0, 0}}
	for range 20 {
		parts = append(parts, [2]int64{0, 0})
		resolve(t, db, log(1, parts...))
		routes, err := db.Strings(t.Context(), `SELECT DISTINCT route::text FROM route_leases WHERE topic = 'points'`)
		require.NoError(t, err)
		require.LessOrEqual(t, len(routes), 1, "routes with leases: %v", routes)
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, group.Wait())
}

// TestARecordHasTheGenerationOfItsRoute checks that a record that was sent by an earlier
// route has a lower version than records of a later one, wherever it is in the log.
func TestARecordHasTheGenerationOfItsRoute(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 0}))
	all, _ := resolve(t, db, log(1, [2]int64{0, 100}, [2]int64{0, 0}))
	version := func(partition int32, offset, route int64) uint64 {
		generation, ok := all.At([16]byte{1}, partition, offset, route)
		require.True(t, ok)
		return pointblock.Version(generation, offset)
	}
	require.Less(t, version(0, 99, 1), version(0, 150, 1))
	require.Less(t, version(0, 150, 1), version(1, 0, 2), "late, by the earlier route")
	require.Less(t, version(0, 150, 1), version(0, 101, 2))
	require.Less(t, version(0, 99, pointblock.AnyRoute), version(1, 0, pointblock.AnyRoute), "the same as without routes")
	require.Equal(t, version(0, 150, 2), version(0, 150, pointblock.AnyRoute))

	all, _ = resolve(t, db, log(2, [2]int64{0, 0}))
	old, ok := all.At([16]byte{2}, 0, 3, 1)
	require.True(t, ok, "sent to the previous topic")
	require.EqualValues(t, 3, old)
}
