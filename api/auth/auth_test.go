package auth_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/internal/apikey"
	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/internal/testenv"
	"github.com/livegraph/livegraph/storage/postgres"
)

func open(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	return db
}

func newKey(t *testing.T, db *postgres.DB) (string, postgres.Key) {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), postgres.Workspace{Name: "plant", Plan: "starter", Mode: apikey.Live})
	require.NoError(t, err)
	text := apikey.Generate(apikey.Live)
	key, err := db.CreateKey(t.Context(), postgres.NewKey{
		Hash: text.Hash(), Display: text.Display(), Name: "key", Mode: apikey.Live, Scopes: []string{"admin"},
		Workspaces: []uuid.UUID{w.ID}, CreatedBy: "test",
	})
	require.NoError(t, err)
	return text.Reveal(), key
}

// run runs the authenticator until stop is called or the test ends.
func run(t *testing.T, a *auth.Authenticator) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = func() {
		cancel()
		if err, open := <-done; open {
			require.NoError(t, err)
			close(done)
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestARevokedKeyEndsWithinASecondOnEveryProcess(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	first, second := auth.New(db), auth.New(db)
	run(t, first)
	run(t, second)
	text, key := newKey(t, db)
	for _, a := range []*auth.Authenticator{first, second} {
		found, err := a.Authenticate(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, key.ID, found.ID)
	}
	_, err := db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	for _, a := range []*auth.Authenticator{first, second} {
		require.Eventually(t, func() bool {
			_, err := a.Authenticate(t.Context(), text)
			return fault.Is(err, fault.Unauthenticated)
		}, time.Second-time.Since(revoked), 10*time.Millisecond)
	}
}

func TestAKeyWorksAsSoonAsItIsMadeThoughItWasTriedBefore(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	a := auth.New(db)
	run(t, a)
	w, err := db.CreateWorkspace(t.Context(), postgres.Workspace{Name: "plant", Plan: "starter", Mode: apikey.Live})
	require.NoError(t, err)
	text := apikey.Generate(apikey.Live)
	_, err = a.Authenticate(t.Context(), text.Reveal())
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
	_, err = db.CreateKey(t.Context(), postgres.NewKey{Hash: text.Hash(), Display: text.Display(), Name: "k", Mode: apikey.Live,
		Scopes: []string{}, Workspaces: []uuid.UUID{w.ID}, CreatedBy: "test"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := a.Authenticate(t.Context(), text.Reveal())
		return err == nil
	}, time.Second, 10*time.Millisecond)
}

func TestWithoutAPollEveryRequestLooksUp(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	a := auth.New(db) // Run is not running
	text, key := newKey(t, db)
	_, err := a.Authenticate(t.Context(), text)
	require.NoError(t, err)
	time.Sleep(1100 * time.Millisecond) // what it remembers is confirmed by nobody
	_, err = db.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	_, err = a.Authenticate(t.Context(), text)
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
}

// signalAll signals a Postgres server with all its processes: each is in a group
// of its own.
func signalAll(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		require.ErrorIs(t, err, syscall.ESRCH) // a worker that has ended since it was listed
		return
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		require.NoError(t, err)
		signalAll(t, child, signal)
	}
}

func TestASilentDatabaseMakesKeysUnverifiableAfterASecondAndNotForGood(t *testing.T) {
	server := testenv.StoppablePostgres(t)
	db := open(t, server.Address())
	a := auth.New(db)
	run(t, a)
	text, _ := newKey(t, db)
	_, err := a.Authenticate(t.Context(), text)
	require.NoError(t, err)

	for name, silence := range map[string]func() (wake func()){
		"frozen": func() func() {
			signalAll(t, server.PID(), syscall.SIGSTOP)
			return func() { signalAll(t, server.PID(), syscall.SIGCONT) }
		},
		"stopped": func() func() {
			require.NoError(t, server.Stop(context.Background()))
			return func() { require.NoError(t, server.Start(context.Background())) }
		},
	} {
		time.Sleep(400 * time.Millisecond)
		_, err := a.Authenticate(t.Context(), text)
		require.NoError(t, err)
		wake := silence()
		since := time.Now()
		for time.Since(since) < 300*time.Millisecond {
			_, err = a.Authenticate(t.Context(), text)
			require.NoError(t, err, "%s: a short silence is bridged", name)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(1200*time.Millisecond - time.Since(since))
		asked := time.Now()
		_, err = a.Authenticate(t.Context(), text)
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%s: %v", name, err)
		require.Less(t, time.Since(asked), time.Second)
		_, err = a.Authenticate(t.Context(), "lg_live_nonsense")
		require.Equal(t, fault.Unauthenticated, fault.KindOf(err), "a checksum needs no look-up")
		wake()
		require.Eventually(t, func() bool {
			_, err := a.Authenticate(t.Context(), text)
			return err == nil
		}, 20*time.Second, 50*time.Millisecond, name)
	}
}

func TestUnknownKeysDoNotFillTheMemory(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	a := auth.New(db)
	run(t, a)
	for range 200 {
		_, err := a.Authenticate(t.Context(), apikey.Generate(apikey.Live).Reveal())
		require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
	}
}

func TestTheLastUseIsStored(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	a := auth.New(db)
	stop := run(t, a)
	_, key := newKey(t, db)
	a.Used(key.ID, netip.MustParseAddr("10.0.0.1"))
	a.Used(key.ID, netip.MustParseAddr("10.0.0.2"))
	stop() // stores what waits
	stored, err := db.KeyByID(t.Context(), key.ID)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", stored.LastUsedIP.String())
	require.WithinDuration(t, time.Now(), *stored.LastUsedAt, 5*time.Second)
}
