package commands

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// environment is a Waiter with its stores.
type environment struct {
	waiter    *Waiter
	replies   *redis.Replies
	redis     *redis.DB
	conn      *pgx.Conn
	workspace uuid.UUID
}

func newEnvironment(t *testing.T, redisURL string) *environment {
	t.Helper()
	url := pgtest.Migrated(t)
	db, err := stores.Open(t.Context(), url, 2)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	workspace, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: "enterprise", Mode: "live"})
	require.NoError(t, err)
	w := &environment{workspace: workspace.ID}
	w.conn, err = pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.conn.Close(context.Background()) })
	w.redis, err = redis.Open(t.Context(), redis.Options{URL: redisURL})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.redis.Close() })
	log := slog.New(slog.DiscardHandler)
	w.replies = w.redis.NewReplies(log)
	w.waiter = NewWaiter(w.replies, db, log)
	for _, run := range []func(context.Context) error{w.replies.Run, w.waiter.Run} {
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx) }()
		t.Cleanup(func() {
			stop()
			require.ErrorIs(t, <-ended, context.Canceled)
		})
	}
	require.Eventually(t, w.replies.Connected, time.Minute, time.Millisecond)
	return w
}

// storeOutcome stores the outcome of a command.
func (w *environment) storeOutcome(t *testing.T, id uuid.UUID, outcome string) {
	t.Helper()
	_, err := w.conn.Exec(
		t.Context(), `INSERT INTO command_outcomes (workspace_id, command_id, actor_id, outcome) VALUES ($1, $2, $2, $3)`,
		w.workspace, id, []byte(outcome),
	)
	require.NoError(t, err)
}

func (w *environment) begin(t *testing.T) *wait {
	t.Helper()
	one, err := w.waiter.begin(graphstore.CommandRef{Workspace: w.workspace, ID: uuid.New()})
	require.NoError(t, err)
	t.Cleanup(one.end)
	return one
}

func (o *wait) require(t *testing.T, want string) {
	t.Helper()
	got, err := o.outcome(t.Context(), 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func (w *environment) reply(t *testing.T, id uuid.UUID, payload string) {
	t.Helper()
	require.NoError(t, w.redis.SendReplies(t.Context(), []redis.Reply{
		{To: w.replies.Address(), ID: id, Payload: []byte(payload)},
	}))
}

func TestAnOutcomeComesByItsReply(t *testing.T) {
	w := newEnvironment(t, testenv.Redis(t))
	one := w.begin(t)
	w.reply(t, one.ref.ID, "done")
	one.require(t, "done")
	require.EqualValues(t, 1, w.waiter.repliesReceived.Load())
}

func TestAnOutcomeThatIsOnlyAnnouncedIsLookedUp(t *testing.T) {
	w := newEnvironment(t, testenv.Redis(t))
	one := w.begin(t)
	w.reply(t, one.ref.ID, "") // too early: there is no outcome yet, and the wait continues
	w.storeOutcome(t, one.ref.ID, "large")
	w.reply(t, one.ref.ID, "")
	one.require(t, "large")
	require.EqualValues(t, 1, w.waiter.lookups.Load())
}

func TestAnOutcomeWhoseReplyIsLostIsLookedUp(t *testing.T) {
	w := newEnvironment(t, testenv.Redis(t))
	one, other := w.begin(t), w.begin(t)
	w.storeOutcome(t, one.ref.ID, "lost")
	one.require(t, "lost")
	got, err := other.outcome(t.Context(), time.Millisecond)
	require.NoError(t, err)
	require.Nil(t, got, "of another nothing is known")
}

func TestWithoutRedisOutcomesAreLookedUp(t *testing.T) {
	engine := testenv.StoppableRedis(t)
	w := newEnvironment(t, engine.Address())
	require.NoError(t, engine.Stop(t.Context()))
	require.Eventually(t, func() bool { return !w.replies.Connected() }, time.Minute, time.Millisecond)
	for range 3 {
		one := w.begin(t)
		w.storeOutcome(t, one.ref.ID, "kept")
		one.require(t, "kept")
	}
	require.NoError(t, engine.Start(t.Context()))
	require.Eventually(t, w.replies.Connected, time.Minute, time.Millisecond)
	one := w.begin(t)
	w.reply(t, one.ref.ID, "heard")
	one.require(t, "heard")
}

func TestACancelledWaiterIsRemoved(t *testing.T) {
	w := newEnvironment(t, testenv.Redis(t))
	one := w.begin(t)
	require.Equal(t, 1, w.waiter.count())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := one.outcome(ctx, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	one.end()
	require.Zero(t, w.waiter.count())
	require.Zero(t, w.replies.Waiting())
}

func TestAnIDShowsWhetherAndWhenItWasIssued(t *testing.T) {
	s, workspace := issuer{key: [32]byte{1}}, uuid.New()
	id := s.issue(workspace)
	require.EqualValues(t, 7, id.Version())
	require.Equal(t, uuid.RFC4122, id.Variant())
	at, ok := s.issued(workspace, id)
	require.True(t, ok)
	require.WithinDuration(t, time.Now(), at, time.Minute)

	other := issuer{key: [32]byte{2}}
	_, ok = other.issued(workspace, id)
	require.False(t, ok, "of another installation")
	_, ok = s.issued(uuid.New(), id)
	require.False(t, ok, "of another workspace")
	for i := range id {
		changed := id
		changed[i] ^= 1
		_, ok = s.issued(workspace, changed)
		require.False(t, ok, "made up")
	}
}

func TestTheWaitTimeoutOfACaller(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 10 * time.Second, "wait=3": 3 * time.Second, "respond-async, wait=3": 3 * time.Second,
		"Wait = 5; x=1": 5 * time.Second,
		`wait="7"`:      7 * time.Second, "wait=31": 30 * time.Second, "wait=0": 0, "wait=4, wait=9": 4 * time.Second,
		"handling=lenient": 10 * time.Second,
	} {
		r, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
		r.Header.Set("Prefer", header)
		got, err := ReadWaitTimeout(w, r)
		require.NoError(t, err, header)
		require.Equal(t, want, got, header)
	}
	for _, header := range []string{"wait", "wait=", "wait=-1", "wait=1.5", "wait=x", "wait=99999999999"} {
		r, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
		r.Header.Set("Prefer", header)
		_, err := ReadWaitTimeout(w, r)
		require.Equal(t, fault.Malformed, fault.KindOf(err), header)
	}
}

// fakeReplies never replies. It counts the calls of Connected.
type fakeReplies struct{ connectedCalls atomic.Int64 }

func (*fakeReplies) Address() string                         { return "" }
func (*fakeReplies) Await(uuid.UUID) (<-chan []byte, func()) { return nil, func() {} }
func (c *fakeReplies) Connected() bool                       { c.connectedCalls.Add(1); return true }

// emptyStore contains no outcomes. It counts the commands that are looked up.
type emptyStore struct{ lookups atomic.Int64 }

func (n *emptyStore) CommandOutcomes(
	_ context.Context, refs []graphstore.CommandRef,
) (map[graphstore.CommandRef][]byte, error) {
	n.lookups.Add(int64(len(refs)))
	return nil, nil
}

func TestWhoBeginsToWaitHasNobodyLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := &fakeReplies{}, &emptyStore{}
		w := NewWaiter(c, n, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		var waiting []*wait
		for range 1000 {
			one, err := w.begin(graphstore.CommandRef{ID: uuid.New()})
			require.NoError(t, err)
			waiting = append(waiting, one)
			synctest.Wait()
		}
		require.LessOrEqual(t, c.connectedCalls.Load(), int64(2), "no time has passed")
		for _, one := range waiting[:600] {
			one.end()
		}
		waiting[600].requestLookup()
		synctest.Wait()
		require.EqualValues(t, 1, n.lookups.Load(), "that which was told of, and no other")
		time.Sleep(lookupDelay + pollInterval)
		require.EqualValues(t, 1+400, n.lookups.Load(), "each a second after it was last")
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
