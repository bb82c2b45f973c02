package registry_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
)

func source(t *testing.T, db *pgtest.DB, workspace uuid.UUID, name string) registry.Source {
	t.Helper()
	s, err := db.CreateSource(t.Context(), workspace, registry.Source{ID: uuid.New(), Name: name})
	require.NoError(t, err)
	return s
}

func requireConflict(t *testing.T, err error, field string) {
	t.Helper()
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, fault.Conflict, fe.Kind)
	require.Equal(t, map[string]any{"reason": "already_exists", "field": field}, fe.Details)
}

func TestASourceIsStoredAsGiven(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 10)
	want := registry.Source{
		ID: uuid.New(), Name: `'; DROP TABLE sources; -- "%_\ 🚀`,
		Description: "line one\nline two", NodeID: pgtest.Ptr(uuid.New()),
		Unit: pgtest.Ptr("°C"),
		Metrics: []registry.SourceMetric{
			{Name: "temp", Unit: pgtest.Ptr("°C"), Description: pgtest.Ptr("of the oil")}, {Name: "rpm"},
		},
		Tags: map[string]string{"room": "A", "": "", "__proto__": "x"}, RetentionDays: pgtest.Ptr(int32(7)),
		IntervalSeconds: pgtest.Ptr(0.5),
	}
	created, err := db.CreateSource(t.Context(), ws, want)
	require.NoError(t, err)
	want.CreatedAt, want.UpdatedAt, want.Version = created.CreatedAt, created.CreatedAt, 1
	require.Equal(t, want, created)
	read, err := db.Source(t.Context(), ws, want.ID)
	require.NoError(t, err)
	require.Equal(t, want, read)
	_, err = db.Source(t.Context(), pgtest.LimitedWorkspace(t, db, 10, 10), want.ID)
	require.Equal(t, fault.NotFound, fault.KindOf(err), "another workspace does not see it")
}

func TestIdsAndNamesAreTakenOnce(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 10, 10), pgtest.LimitedWorkspace(t, db, 10, 10)
	first := source(t, db, ws, "pump")
	create := func(ws, id uuid.UUID, name string) error {
		_, err := db.CreateSource(t.Context(), ws, registry.Source{ID: id, Name: name})
		return err
	}
	requireConflict(t, create(ws, first.ID, "fan"), "id")
	requireConflict(t, create(ws, uuid.New(), "pump"), "name")
	require.NoError(t, create(other, first.ID, "pump"), "both are unique per workspace")

	_, err := db.DeleteSource(t.Context(), ws, first.ID, "req_1")
	require.NoError(t, err)
	requireConflict(t, create(ws, first.ID, "fan"), "id")
	require.NoError(t, create(ws, uuid.New(), "pump"), "the name is free again")
	_, err = db.DeleteSource(t.Context(), ws, first.ID, "req_2")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestTheLimitOfSourcesIsExact(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 5, 10)
	var created, refused atomic.Int64
	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			_, err := db.CreateSource(t.Context(), ws, registry.Source{ID: uuid.New(), Name: fmt.Sprint(i)})
			switch {
			case err == nil:
				created.Add(1)
			case fault.Is(err, fault.Invalid):
				refused.Add(1)
			default:
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 5, created.Load())
	require.EqualValues(t, 15, refused.Load())

	list, _, _, err := db.Sources(t.Context(), ws, registry.SourceFilter{}, registry.SourcePage{Limit: 1})
	require.NoError(t, err)
	_, err = db.DeleteSource(t.Context(), ws, list[0].ID, "req_1")
	require.NoError(t, err)
	source(t, db, ws, "fits again")
}

func TestAChangeRaisesTheVersionAndAChangeOfNothingDoesNot(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 10)
	s := source(t, db, ws, "pump")
	source(t, db, ws, "fan")
	rename := func(name string) func(*registry.Source) error {
		return func(s *registry.Source) error { s.Name = name; return nil }
	}
	same, err := db.UpdateSource(t.Context(), ws, s.ID, nil, func(s *registry.Source) error {
		s.Tags, s.Metrics = nil, nil
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, s, same)

	changed, err := db.UpdateSource(t.Context(), ws, s.ID, pgtest.Ptr(int64(1)), rename("pump 2"))
	require.NoError(t, err)
	require.EqualValues(t, 2, changed.Version)
	require.Equal(t, "pump 2", changed.Name)
	require.Equal(t, s.CreatedAt, changed.CreatedAt)
	require.True(t, changed.UpdatedAt.After(s.UpdatedAt))

	_, err = db.UpdateSource(t.Context(), ws, s.ID, pgtest.Ptr(int64(1)), rename("pump 3"))
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, fault.Conflict, fe.Kind)
	require.Equal(t, "Version mismatch", fe.Message)
	require.Equal(t, map[string]any{"expectedVersion": int64(1), "actualVersion": int64(2)}, fe.Details)

	_, err = db.UpdateSource(t.Context(), ws, s.ID, nil, rename("fan"))
	requireConflict(t, err, "name")
	_, err = db.UpdateSource(t.Context(), ws, s.ID, nil, func(*registry.Source) error {
		return fault.New(fault.Invalid, "no")
	})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = db.UpdateSource(t.Context(), ws, uuid.New(), nil, rename("x"))
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestSourcesAreFilteredLiterally(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 100, 10)
	node := uuid.New()
	for name, s := range map[string]registry.Source{
		"100% load": {Tags: map[string]string{"room": "A", "a.b": "1"}}, "1000 load": {Tags: map[string]string{"room": "B"}},
		"under_score": {NodeID: &node}, "underscore": {NodeID: &node, Tags: map[string]string{"room": "A"}},
		`back\slash`: {}, "ÉTAGE Ä": {}, "emoji 🚀": {},
	} {
		s.ID, s.Name = uuid.New(), name
		_, err := db.CreateSource(t.Context(), ws, s)
		require.NoError(t, err)
	}
	names := func(filter registry.SourceFilter) []string {
		list, total, _, err := db.Sources(t.Context(), ws, filter, registry.SourcePage{
			Limit: 100, Order: []postgres.Order{{Field: "name"}},
		})
		require.NoError(t, err)
		require.EqualValues(t, len(list), total)
		got := []string{}
		for _, s := range list {
			got = append(got, s.Name)
		}
		return got
	}
	require.Equal(t, []string{"100% load"}, names(registry.SourceFilter{Name: "0% L"}))
	require.Equal(t, []string{"under_score"}, names(registry.SourceFilter{Name: "R_S"}))
	require.Equal(t, []string{`back\slash`}, names(registry.SourceFilter{Name: `\`}))
	require.Equal(t, []string{"ÉTAGE Ä"}, names(registry.SourceFilter{Name: "étage ä"}))
	require.Equal(t, []string{"emoji 🚀"}, names(registry.SourceFilter{Name: "🚀"}))
	require.Empty(t, names(registry.SourceFilter{Name: "' OR 1=1 --"}))
	require.Equal(t, []string{"under_score", "underscore"}, names(registry.SourceFilter{NodeID: &node}))
	require.Equal(t, []string{"100% load", "1000 load", "underscore"}, names(registry.SourceFilter{
		Tags: map[string][]string{"room": {"A", "B"}},
	}))
	require.Equal(t, []string{"100% load"}, names(registry.SourceFilter{Tags: map[string][]string{
		"room": {"A"}, "a.b": {"1"},
	}}))
	require.Equal(t, []string{"underscore"}, names(registry.SourceFilter{
		Name: "score", NodeID: &node, Tags: map[string][]string{"room": {"A"}},
	}))
	require.Empty(t, names(registry.SourceFilter{Tags: map[string][]string{"') OR ('1'='1": {"A"}}}))
}

func TestPagesNeverOverlapWhateverTheOrder(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 100, 10)
	want := map[uuid.UUID]bool{}
	for i := range 23 {
		s := source(t, db, ws, fmt.Sprintf("%c%d", 'a'+rune(i%3), i))
		want[s.ID] = true
		for range i % 4 {
			_, err := db.UpdateSource(t.Context(), ws, s.ID, nil, func(s *registry.Source) error {
				s.Description += "."
				return nil
			})
			require.NoError(t, err)
		}
	}
	for _, order := range [][]postgres.Order{
		nil, {{Field: "version", Descending: true}}, {{Field: "version"}, {Field: "name", Descending: true}},
		{{Field: "name"}}, {{Field: "updatedAt", Descending: true}}, {{Field: "createdAt", Descending: true}},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var byOffset, byCursor []string
			for offset := 0; ; offset += 5 {
				list, total, more, err := db.Sources(
					t.Context(), ws, registry.SourceFilter{}, registry.SourcePage{Order: order, Limit: 5, Offset: offset},
				)
				require.NoError(t, err)
				require.EqualValues(t, 23, total)
				require.Equal(t, offset+5 < 23, more)
				for _, s := range list {
					byOffset = append(byOffset, s.Name)
				}
				if !more {
					break
				}
			}
			var after *registry.SourcePosition
			for {
				list, total, more, err := db.Sources(
					t.Context(), ws, registry.SourceFilter{}, registry.SourcePage{Order: order, Limit: 5, After: after},
				)
				require.NoError(t, err)
				require.EqualValues(t, 23, total)
				for _, s := range list {
					byCursor = append(byCursor, s.Name)
				}
				if !more {
					break
				}
				after = pgtest.Ptr(list[len(list)-1].Position())
			}
			require.Equal(t, byOffset, byCursor)
			require.Len(t, byCursor, 23)
		})
	}
}

func TestADeletionIsPendingUntilItIsFinished(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 10)
	s := source(t, db, ws, "pump")
	left, err := db.DeleteSource(t.Context(), ws, s.ID, "req_1")
	require.NoError(t, err)
	require.Equal(t, ws, left.Workspace)
	require.Equal(t, s.ID, left.Source)

	young, err := db.PendingDeletions(t.Context(), 1e12, 10)
	require.NoError(t, err)
	require.Empty(t, young, "younger than the age")
	pending, err := db.PendingDeletions(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, []registry.PendingDeletion{left}, pending)

	require.NoError(t, db.FinishDeletion(t.Context(), left.ID))
	require.NoError(t, db.FinishDeletion(t.Context(), left.ID), "finishing is idempotent")
	pending, err = db.PendingDeletions(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, pending)
}

// A source is changed together with the response for the key: not at all if another request holds the key.
func TestASourceIsChangedByTheHolderOfItsKey(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 10, 10)
	made := source(t, db, ws, "pump")
	want := access.IdempotencyClaim{
		IdempotencyKey: access.IdempotencyKey{Workspace: ws, Actor: uuid.New(), Route: "r", Key: "k"},
		ReservedID:     uuid.New(), ReceivedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
	change := func(key access.IdempotencyClaim) (registry.Source, error) {
		return db.UpdateSourceOnce(t.Context(), ws, made.ID, nil, func(s *registry.Source) error {
			s.Description = "changed"
			return nil
		}, key, func(s registry.Source) ([]byte, error) { return fmt.Appendf(nil, "version %d", s.Version), nil })
	}
	first, err := db.ClaimIdempotencyKey(t.Context(), want, 0)
	require.NoError(t, err)
	second, err := db.ClaimIdempotencyKey(t.Context(), want, time.Minute)
	require.NoError(t, err)
	require.True(t, first.Held && second.Held)
	_, err = change(first)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	read, err := db.Source(t.Context(), ws, made.ID)
	require.NoError(t, err)
	require.Equal(t, made, read)

	changed, err := change(second)
	require.NoError(t, err)
	require.EqualValues(t, 2, changed.Version)
	found, err := db.ClaimIdempotencyKey(t.Context(), want, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "version 2", string(found.Answer))
}
