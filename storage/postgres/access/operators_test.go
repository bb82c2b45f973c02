package access_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestTheSessionsOfAnOperatorAreLimited(t *testing.T) {
	db := pgtest.Open(t)
	o, err := db.CreateOperator(t.Context(), "ops", "hash")
	require.NoError(t, err)
	session := func(n byte) [32]byte { return [32]byte{n} }
	login := func(n byte, replaces [32]byte, hash string) error {
		return db.OpenOperatorSession(t.Context(), access.NewOperatorSession{
			Hash: session(n), Operator: o.ID, Age: time.Hour, PasswordHash: hash, Replaces: replaces, UserAgent: "test",
		})
	}
	holds := func(n byte) bool {
		_, err := db.OperatorSession(t.Context(), session(n), time.Hour, false)
		if err != nil {
			require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
		}
		return err == nil
	}
	for n := byte(1); n <= 25; n++ {
		require.NoError(t, login(n, [32]byte{}, "hash"))
	}
	require.False(t, holds(5), "the oldest end")
	require.True(t, holds(6))
	require.True(t, holds(25))
	require.NoError(t, login(26, session(25), "hash"))
	require.False(t, holds(25), "the session that it replaces ends")
	require.True(
		t, fault.Is(login(27, [32]byte{}, "an older hash"), fault.Unauthenticated), "the password has changed meanwhile",
	)
	require.False(t, holds(27))

	require.NoError(t, db.EndOperatorSession(t.Context(), session(26)))
	require.NoError(t, db.EndOperatorSession(t.Context(), session(26)))
	require.False(t, holds(26))
	changed, err := db.SetOperatorPassword(t.Context(), o.ID, "next")
	require.NoError(t, err)
	require.Equal(t, "ops", changed.Name)
	require.True(t, changed.UpdatedAt.After(o.UpdatedAt))
	require.Zero(t, changed.Sessions)
	require.False(t, holds(24))
	list, err := db.Operators(t.Context())
	require.NoError(t, err)
	require.Zero(t, list[0].Sessions)
	require.NotNil(t, list[0].LastLoginAt)
	_, err = db.SetOperatorPassword(t.Context(), uuid.New(), "x")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

func TestOfTwoOperatorsThatDeleteEachOtherOneRemains(t *testing.T) {
	db := pgtest.Open(t)
	var ids []uuid.UUID
	for _, name := range []string{"one", "two"} {
		o, err := db.CreateOperator(t.Context(), name, "hash")
		require.NoError(t, err)
		ids = append(ids, o.ID)
	}
	var work sync.WaitGroup
	errs := make([]error, len(ids))
	for i, id := range ids {
		work.Go(func() { errs[i] = db.DeleteOperator(t.Context(), id) })
	}
	work.Wait()
	list, err := db.Operators(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	refused := errs[0]
	if refused == nil {
		refused = errs[1]
	}
	require.True(t, fault.Is(refused, fault.Conflict), "%v", errs)
	require.True(t, fault.Is(db.DeleteOperator(t.Context(), uuid.New()), fault.NotFound))
	_, err = db.CreateOperator(t.Context(), list[0].Name, "hash")
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	_, err = db.OperatorByName(t.Context(), "nobody")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}
