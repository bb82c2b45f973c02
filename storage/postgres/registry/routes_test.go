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

const routeHold = time.Minute // longer than the test

func hold(t *testing.T, db *pgtest.DB, holder uuid.UUID, using int64) (pointblock.Route, bool) {
	t.Helper()
	route, held, err := db.HoldRoute(t.Context(), "points", holder, using, routeHold)
	require.NoError(t, err)
	return route, held
}

func TestANewRouteIsLeasedWhenNobodyGoesByAnEarlierOne(t *testing.T) {
	db := pgtest.Open(t)
	a, b := uuid.New(), uuid.New()
	_, _, err := db.HoldRoute(t.Context(), "points", a, 0, routeHold)
	require.True(t, fault.Is(err, fault.NotFound), "no route yet: %v", err)

	resolve(t, db, log(1, [2]int64{0, 0}))
	first := pointblock.Route{Number: 1, TopicID: [16]byte{1}, Partitions: 1}
	for _, holder := range []uuid.UUID{a, b, a} {
		route, held := hold(t, db, holder, 0)
		require.Equal(t, first, route)
		require.True(t, held, "any number of processes go by one route")
	}
	resolve(t, db, log(1, [2]int64{0, 9}, [2]int64{0, 0}))
	second := pointblock.Route{Number: 2, TopicID: [16]byte{1}, Partitions: 2}
	for range 2 {
		route, held := hold(t, db, a, 1)
		require.Equal(t, second, route)
		require.False(t, held, "it goes by the earlier one itself")
	}
	_, held := hold(t, db, a, 0)
	require.False(t, held, "the other one goes by the earlier one")
	_, held = hold(t, db, b, 1)
	require.False(t, held)
	_, held = hold(t, db, b, 0)
	require.True(t, held, "nobody goes by the earlier one")
	_, held = hold(t, db, a, 0)
	require.True(t, held)
	_, held = hold(t, db, b, 2)
	require.True(t, held, "renewed")

	// A broker that lags behind shows what was before.
	resolve(t, db, log(1, [2]int64{0, 9}))
	route, held := hold(t, db, a, 2)
	require.Equal(t, second, route)
	require.True(t, held)
	require.NoError(t, db.LeaveRoute(t.Context(), "points", b))
	resolve(t, db, log(2, [2]int64{0, 0}))
	route, held = hold(t, db, a, 0)
	require.Equal(t, pointblock.Route{Number: 3, TopicID: [16]byte{2}, Partitions: 1}, route, "created again")
	require.True(t, held)
}

func TestALeaseOfARouteEndsByItself(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 0}))
	_, held, err := db.HoldRoute(t.Context(), "points", uuid.New(), 0, 200*time.Millisecond) // and it is lost
	require.NoError(t, err)
	require.True(t, held)
	resolve(t, db, log(1, [2]int64{0, 9}, [2]int64{0, 0}))
	other := uuid.New()
	_, held = hold(t, db, other, 0)
	require.False(t, held)
	require.Eventually(t, func() bool {
		_, held := hold(t, db, other, 0)
		return held
	}, 10*time.Second, 10*time.Millisecond)
}

// TestTwoRoutesAreNeverLeasedAtOnce: many processes go over from route to route, each
// when it gets to know of it.
func TestTwoRoutesAreNeverLeasedAtOnce(t *testing.T) {
	db := pgtest.Open(t)
	resolve(t, db, log(1, [2]int64{0, 0}))
	var group errgroup.Group
	for range 6 {
		group.Go(func() error {
			holder, using := uuid.New(), int64(0)
			for range 100 {
				route, held, err := db.HoldRoute(t.Context(), "points", holder, using, routeHold)
				if err != nil {
					return err
				}
				if using = 0; held {
					using = route.Number
				}
			}
			return db.LeaveRoute(t.Context(), "points", holder)
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

// TestARecordHasTheGenerationOfItsRoute: one that was sent by the earlier route has a
// lower version than those of the later one, wherever it comes in the log.
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
	require.Less(t, version(0, 99, pointblock.AnyRoute), version(1, 0, pointblock.AnyRoute), "as it was without routes")
	require.Equal(t, version(0, 150, 2), version(0, 150, pointblock.AnyRoute))

	all, _ = resolve(t, db, log(2, [2]int64{0, 0}))
	old, ok := all.At([16]byte{2}, 0, 3, 1)
	require.True(t, ok, "sent to the topic of before")
	require.EqualValues(t, 3, old)
}
