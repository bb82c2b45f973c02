package registry_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestSourcesAreCreatedByNameOnce(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 10, 10), pgtest.LimitedWorkspace(t, db, 10, 10)
	pump := source(t, db, ws, "pump")
	created, err := db.CreateSources(t.Context(), ws, []string{"fan", "pump", "fan", "Fan"}, nil)
	require.NoError(t, err)
	require.Len(t, created, 3)
	require.Equal(t, pump.ID, created["pump"])
	again, err := db.CreateSources(t.Context(), ws, []string{"pump", "fan", "Fan"}, nil)
	require.NoError(t, err)
	require.Equal(t, created, again)
	elsewhere, err := db.CreateSources(t.Context(), other, []string{"pump"}, nil)
	require.NoError(t, err)
	require.NotEqual(t, pump.ID, elsewhere["pump"])

	fan, err := db.Source(t.Context(), ws, created["fan"])
	require.NoError(t, err)
	require.Equal(t, "fan", fan.Name)
	require.Equal(t, map[string]string{}, fan.Tags)
	require.EqualValues(t, 1, fan.Version)

	_, err = db.DeleteSource(t.Context(), ws, fan.ID, "req_1")
	require.NoError(t, err)
	again, err = db.CreateSources(t.Context(), ws, []string{"fan"}, nil)
	require.NoError(t, err)
	require.NotEqual(t, fan.ID, again["fan"], "a deleted id is not used again")
}

func TestSourcesByNameObeyTheLimitExactly(t *testing.T) {
	const limit, workers, each = 20, 8, 12
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, limit, 10)
	var mu sync.Mutex
	ids := map[string]uuid.UUID{}
	var group errgroup.Group
	for w := range workers {
		group.Go(func() error {
			var names []string
			for i := range each { // each worker shares half of its names with the next
				names = append(names, fmt.Sprint("source ", w*each/2+i))
			}
			created, err := db.CreateSources(t.Context(), ws, names, nil)
			mu.Lock()
			defer mu.Unlock()
			for name, id := range created {
				if known, ok := ids[name]; ok && known != id {
					err = fmt.Errorf("%s is %s and %s", name, known, id)
				}
				ids[name] = id
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, ids, limit)
	_, total, _, err := db.Sources(t.Context(), ws, registry.SourceFilter{}, registry.SourcePage{Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, limit, total)
	left, err := db.WorkspacesByID(t.Context(), []uuid.UUID{ws})
	require.NoError(t, err)
	require.EqualValues(t, limit, left[0].Sources, "the counter is the number of sources")

	created, err := db.CreateSources(t.Context(), ws, []string{"one more", "source 0"}, nil)
	require.NoError(t, err)
	require.NotContains(t, created, "one more")
	first, known := ids["source 0"]
	require.Equal(t, known, created["source 0"] == first && first != uuid.Nil)
}

func TestInAMissingWorkspaceNoSourceIsCreated(t *testing.T) {
	db := pgtest.Open(t)
	created, err := db.CreateSources(t.Context(), uuid.New(), []string{"pump"}, nil)
	require.NoError(t, err)
	require.Empty(t, created)
}

func TestANameThatARenameTakesMeanwhileIsTheRenamedSource(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 100, 10)
	var group errgroup.Group
	for i := range 20 {
		s := source(t, db, ws, fmt.Sprint("old ", i))
		name := fmt.Sprint("new ", i)
		group.Go(func() error {
			_, err := db.UpdateSource(t.Context(), ws, s.ID, nil, func(s *registry.Source) error { s.Name = name; return nil })
			if fault.Is(err, fault.Conflict) {
				err = nil
			}
			return err
		})
		group.Go(func() error {
			created, err := db.CreateSources(t.Context(), ws, []string{name}, nil)
			if err == nil && created[name] == uuid.Nil {
				err = fmt.Errorf("%s has no source", name)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	_, total, _, err := db.Sources(t.Context(), ws, registry.SourceFilter{}, registry.SourcePage{Limit: 1})
	require.NoError(t, err)
	left, err := db.WorkspacesByID(t.Context(), []uuid.UUID{ws})
	require.NoError(t, err)
	require.Equal(t, total, left[0].Sources)
}
