package milvus_test

import (
	"context"

	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

// visibleTimeout is the maximum time until a search finds an entry: Milvus standalone returns stale
// results.
const visibleTimeout = time.Minute

func open(t testing.TB, address string, options ...milvus.Option) *milvus.DB {
	t.Helper()
	db, err := milvus.Open(t.Context(), milvus.Options{Address: address}, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// newName returns a unique collection name and drops that collection at the end of the test.
func newName(t testing.TB, db *milvus.DB) string {
	t.Helper()
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, db.DropCollection(ctx, name))
	})
	return name
}

// newCollection creates a collection for the test and returns its name.
func newCollection(t testing.TB, db *milvus.DB, dimensions int) string {
	t.Helper()
	name := newName(t, db)
	require.NoError(t, db.CreateCollection(t.Context(), name, dimensions))
	return name
}

// entry returns an entry of a new node.
func entry(workspace uuid.UUID, vector ...float32) milvus.Entry {
	return milvus.Entry{Workspace: workspace, Node: uuid.New(), EntityType: "object", Vector: vector}
}

// awaitHits searches until it finds n hits.
func awaitHits(
	t testing.TB, db *milvus.DB, name string, workspace uuid.UUID, vector []float32, filter milvus.Filter, n int,
) []retrieval.VectorHit {
	t.Helper()
	var hits []retrieval.VectorHit
	require.Eventually(t, func() bool {
		var err error
		hits, err = db.Search(t.Context(), name, workspace, vector, filter, 100)
		require.NoError(t, err)
		return len(hits) == n
	}, visibleTimeout, 20*time.Millisecond, "expected %d hits", n)
	return hits
}

// awaitAll waits until searches find all n flushed entries: until Milvus standalone has built the
// index, it searches one eighth of the unindexed entries.
func awaitAll(t testing.TB, db *milvus.DB, name string, workspace uuid.UUID, vector []float32, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		hits, err := db.Search(t.Context(), name, workspace, vector, milvus.Filter{}, n)
		return err == nil && len(hits) == n
	}, visibleTimeout, 100*time.Millisecond)
}

func requireCount(t testing.TB, db *milvus.DB, name string, n int) {
	t.Helper()
	count, err := db.Count(t.Context(), name)
	require.NoError(t, err)
	require.EqualValues(t, n, count)
}

func TestConcurrentCallsCreateACollectionOnce(t *testing.T) {
	address := testenv.Milvus(t)
	name := newName(t, open(t, address))
	var group errgroup.Group
	for range 4 {
		db := open(t, address) // each like a separate process
		for range 2 {
			group.Go(func() error { return db.CreateCollection(t.Context(), name, 4) })
		}
	}
	require.NoError(t, group.Wait())
	db := open(t, address)
	require.NoError(t, db.CreateCollection(t.Context(), name, 4))
	exists, err := db.HasCollection(t.Context(), name)
	require.NoError(t, err)
	require.True(t, exists)

	workspace := uuid.New()
	e := entry(workspace, 1, 0, 0, 0)
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{e}))
	require.NoError(t, db.CreateCollection(t.Context(), name, 4))
	requireCount(t, db, name, 1)
}

func TestACollectionOfOtherDimensionsIsAConflict(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name := newCollection(t, db, 4)
	err := db.CreateCollection(t.Context(), name, 8)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	for _, dimensions := range []int{0, -1, 32_769} {
		require.True(t, fault.Is(db.CreateCollection(t.Context(), "other", dimensions), fault.Invalid))
	}
	require.Error(t, db.CreateCollection(t.Context(), "not a name", 4))
}

func TestACollectionIsDroppedOnce(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name := newCollection(t, db, 4)
	for range 2 {
		require.NoError(t, db.DropCollection(t.Context(), name))
	}
	exists, err := db.HasCollection(t.Context(), name)
	require.NoError(t, err)
	require.False(t, exists)
}

func TestAMissingCollectionIsReported(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	dropped := newCollection(t, db, 2)
	// Another client drops it, so that db still has its description cached.
	require.NoError(t, open(t, testenv.Milvus(t)).DropCollection(t.Context(), dropped))
	w, v := uuid.New(), []float32{1, 0}
	for _, name := range []string{"never_made", dropped} {
		for what, call := range map[string]func() error{
			"upsert": func() error { return db.Upsert(t.Context(), name, []milvus.Entry{entry(w, v...)}) },
			"delete": func() error { return db.Delete(t.Context(), name, []milvus.EntryID{{Workspace: w}}) },
			"delete workspace": func() error {
				return db.DeleteWorkspace(t.Context(), name, w)
			},
			"search": func() error { _, err := db.Search(t.Context(), name, w, v, milvus.Filter{}, 1); return err },
			"count":  func() error { _, err := db.Count(t.Context(), name); return err },
			"load":   func() error { return db.LoadCollection(t.Context(), name) },
			"flush":  func() error { return db.Flush(t.Context(), name) },
			"alias":  func() error { return db.SetAlias(t.Context(), "alias_of_nothing", name) },
		} {
			err := call()
			require.ErrorIs(t, err, milvus.ErrNoCollection, "%s of %s", what, name)
			require.True(t, fault.Is(err, fault.Unavailable), "%s: %v", what, err)
			var public *fault.Error
			require.ErrorAs(t, err, &public)
			require.NotContains(t, public.Message, name)
			require.Positive(t, public.RetryAfter)
		}
	}
}

func TestAnAliasRefersToTheLatestCollection(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	alias := "alias_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	t.Cleanup(func() { _ = db.DropAlias(context.Background(), alias) })
	first, second, workspace := newCollection(t, db, 2), newCollection(t, db, 3), uuid.New()
	one, two := entry(workspace, 1, 0), entry(workspace, 0, 1, 0)
	require.NoError(t, db.Upsert(t.Context(), first, []milvus.Entry{one}))
	require.NoError(t, db.Upsert(t.Context(), second, []milvus.Entry{two}))

	for range 2 {
		require.NoError(t, db.SetAlias(t.Context(), alias, first))
	}
	require.Equal(t, one.Node, awaitHits(t, db, alias, workspace, []float32{1, 0}, milvus.Filter{}, 1)[0].Node)
	require.NoError(t, db.SetAlias(t.Context(), alias, second))
	require.Equal(t, two.Node, awaitHits(t, db, alias, workspace, []float32{0, 1, 0}, milvus.Filter{}, 1)[0].Node)
	exists, err := db.HasCollection(t.Context(), alias)
	require.NoError(t, err)
	require.True(t, exists)
	require.True(t, fault.Is(db.CreateCollection(t.Context(), alias, 3), fault.Conflict))
	require.True(t, fault.Is(db.DropCollection(t.Context(), alias), fault.Conflict))

	require.NoError(t, db.DropCollection(t.Context(), second)) // this also drops its alias
	for range 2 {
		require.NoError(t, db.DropAlias(t.Context(), alias))
	}
	_, err = db.Search(t.Context(), alias, workspace, []float32{0, 1, 0}, milvus.Filter{}, 1)
	require.ErrorIs(t, err, milvus.ErrNoCollection)
}

// random returns vectors in clusters, like those of texts.
func random(seed uint64, n, dimensions int) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	centres := make([][]float32, 50)
	for i := range centres {
		centres[i] = make([]float32, dimensions)
		for j := range centres[i] {
			centres[i][j] = float32(r.NormFloat64())
		}
	}
	all := make([][]float32, n)
	for i := range all {
		centre := centres[r.IntN(len(centres))]
		all[i] = make([]float32, dimensions)
		for j := range all[i] {
			all[i][j] = centre[j] + 0.7*float32(r.NormFloat64())
		}
	}
	return all
}
