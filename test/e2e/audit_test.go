package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

const (
	auditClients = 16
	auditKills   = 3
	auditAnswers = 60 // between two kills, at least
	auditLimit   = 2 * time.Minute
)

// askers ask and remember which requests were answered how.
type askers struct {
	s       *server
	stopped atomic.Bool
	work    sync.WaitGroup
	mu      sync.Mutex
	status  map[string]int // by request id
	broken  atomic.Int64
}

func newAskers(s *server) *askers { return &askers{s: s, status: map[string]int{}} }

// ask sends one of some requests, good and bad.
func (a *askers) ask(n int, source string) {
	method, path, workspace := http.MethodGet, "/api/me", a.s.First.WorkspaceID
	var body []byte
	switch n % 5 {
	case 1:
		path = "/api/live-data/sources"
	case 2:
		method, path, body = http.MethodPost, "/api/live-data/ingest", batch{n}.body(source)
	case 3:
		path = "/api/nothing"
	case 4:
		path, workspace = "/api/queries/nodes", "01994d8a-0000-7000-8000-000000000001" // which is nobody's
	}
	answer, err := a.s.TryAs(a.s.First.AdminKey, workspace, method, path, body)
	if err != nil {
		a.broken.Add(1)
		time.Sleep(20 * time.Millisecond) // it is starting again
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[answer.Header.Get("X-Request-Id")] = answer.Status
}

func (a *askers) start(source string) {
	for client := range auditClients {
		a.work.Go(func() {
			for n := client; !a.stopped.Load(); n++ {
				a.ask(n, source)
			}
		})
	}
}

// more waits until some more requests have been answered.
func (a *askers) more() {
	count := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.status)
	}
	want := count() + auditAnswers
	for deadline := time.Now().Add(auditLimit); count() < want; time.Sleep(10 * time.Millisecond) {
		require.True(a.s.t, time.Now().Before(deadline), "the clients get nothing done")
	}
}

func (a *askers) stop() {
	a.stopped.Store(true)
	a.work.Wait()
}

// uses reads the whole audit log by the command line.
func (s *server) uses() map[string]int {
	s.t.Helper()
	var found []struct {
		RequestID string
		Status    *int
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI("audit", "--limit", "0", "--json")), &found))
	status := map[string]int{}
	for _, u := range found {
		require.NotContains(s.t, status, u.RequestID, "each request is shown once")
		status[u.RequestID] = 0
		if u.Status != nil {
			status[u.RequestID] = *u.Status
		}
	}
	return status
}

// requireAudited waits until all requests are in the audit log as they were answered.
func (s *server) requireAudited(want map[string]int) {
	s.t.Helper()
	deadline := time.Now().Add(auditLimit)
	for {
		got, missing := s.uses(), 0
		for id, status := range want {
			recorded, there := got[id]
			if !there {
				missing++
				continue
			}
			require.Equal(s.t, status, recorded, id)
		}
		if missing == 0 {
			return
		}
		require.True(
			s.t, time.Now().Before(deadline), "%d of %d answered requests are not in the audit log", missing, len(want),
		)
		time.Sleep(200 * time.Millisecond)
	}
}

// TestEveryAnswerIsInTheAuditLogAfterKills kills the process three times under load:
// every request whose answer a client received is in the audit log, with its status and
// once; and the key that was used is in no file but the one that gives it to its owner.
func TestEveryAnswerIsInTheAuditLogAfterKills(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("pump")
	a := newAskers(s)
	a.start(source)
	for range auditKills {
		a.more()
		s.Crash()
	}
	a.more()
	a.stop()
	began := time.Now()
	s.requireAudited(a.status)
	t.Logf(
		"%d answered and in the audit log after %s, %d broken off", len(a.status), time.Since(began).Round(time.Millisecond),
		a.broken.Load(),
	)
	csv := s.CLI("audit", "--status", "4xx", "--route", "none", "--csv")
	require.Contains(t, csv, ",404,")
	require.NotContains(t, csv, ",200,")
	require.Contains(t, s.CLI("audit", "--limit", "3"), "/api/")
	require.Zero(t, s.Stop())
	requireNowhere(t, s.DataDir, s.First.AdminKey)
}

// requireNowhere looks for a key's text in all files but the one that is for it.
func requireNowhere(t *testing.T, dir, key string) {
	t.Helper()
	looked := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "first-run.json" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		looked++
		require.False(t, bytes.Contains(content, []byte(key[len("lg_live_")+4:])), "the key's text is in %s", path)
		return nil
	}))
	require.Greater(t, looked, 10)
}

// TestAuditRecordsWaitForKafka: while Kafka is down, requests that need no log go on,
// and a kill changes nothing; their records come when it is back, each once.
func TestAuditRecordsWaitForKafka(t *testing.T) {
	t.Parallel()
	kafka := testenv.NewKFake(t)
	s := newServer(t)
	s.Env = kafka.Settings()
	s.Start()
	a := newAskers(s)
	a.ask(0, "")
	s.requireAudited(a.status)
	kafka.Stop(t)
	for n := range 100 {
		if n%5 != 2 { // ingest needs the log
			a.ask(n, "")
		}
	}
	require.Zero(t, a.broken.Load())
	require.Len(t, a.status, 81)
	require.LessOrEqual(t, len(s.uses()), 2, "they wait")
	s.Kill()
	kafka.Start(t)
	s.Start()
	s.requireAudited(a.status)
	require.Zero(t, s.Stop())
}
