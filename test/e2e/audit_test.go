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

	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	auditClients = 16
	auditAnswers = 60 // minimum between two kills
	auditLimit   = 2 * time.Minute
)

// auditLoad sends requests and records the status of each answer.
type auditLoad struct {
	s       *server
	stopped atomic.Bool
	work    sync.WaitGroup
	mu      sync.Mutex
	status  map[string]int // by request id
	broken  atomic.Int64
}

func newAuditLoad(s *server) *auditLoad { return &auditLoad{s: s, status: map[string]int{}} }

// send sends one of several valid and invalid requests.
func (a *auditLoad) send(n int, source string) {
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
		path, workspace = "/api/queries/nodes", "01994d8a-0000-7000-8000-000000000001" // an unknown workspace
	}
	answer, err := a.s.TryAs(a.s.First.AdminKey, workspace, method, path, body)
	if err != nil {
		a.broken.Add(1)
		time.Sleep(20 * time.Millisecond) // the server is restarting
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[answer.Header.Get("X-Request-Id")] = answer.Status
}

func (a *auditLoad) start(source string) {
	for client := range auditClients {
		a.work.Go(func() {
			for n := client; !a.stopped.Load(); n++ {
				a.send(n, source)
			}
		})
	}
}

// waitForMore waits until auditAnswers more requests are answered.
func (a *auditLoad) waitForMore() {
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

func (a *auditLoad) stop() {
	a.stopped.Store(true)
	a.work.Wait()
}

// auditStatuses reads the whole audit log by command line and returns the status of each request.
func (s *server) auditStatuses() map[string]int {
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

// requireAudited waits until the audit log contains all requests with the status of their answers.
func (s *server) requireAudited(want map[string]int) {
	s.t.Helper()
	deadline := time.Now().Add(auditLimit)
	for {
		got, missing := s.auditStatuses(), 0
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

// TestEveryAnswerIsInTheAuditLogAfterKills kills the process three times under load. Every request
// whose answer a client received is in the audit log, with its status and once. No file except
// first-run.json contains the key that was used.
func TestEveryAnswerIsInTheAuditLogAfterKills(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("pump")
	a := newAuditLoad(s)
	a.start(source)
	for range testenv.InFull(4, 2) {
		a.waitForMore()
		s.Crash()
	}
	a.waitForMore()
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
	requireKeyNotStored(t, s.DataDir, s.First.AdminKey)
}

// requireKeyNotStored requires that no file except first-run.json contains the key.
func requireKeyNotStored(t *testing.T, dir, key string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "first-run.json" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		require.False(t, bytes.Contains(content, []byte(key[len("lg_live_")+4:])), "the key's text is in %s", path)
		return nil
	}))
	require.Greater(t, files, 10)
}

// TestAuditRecordsWaitForKafka stops Kafka. Requests that do not need the log still succeed. Their
// audit records survive a kill and are written once when Kafka is back.
func TestAuditRecordsWaitForKafka(t *testing.T) {
	t.Parallel()
	kafka := kafkatest.NewKFake(t)
	s := newServer(t)
	s.Env = kafka.Settings()
	s.Start()
	a := newAuditLoad(s)
	a.send(0, "")
	s.requireAudited(a.status)
	kafka.Stop(t)
	for n := range 100 {
		if n%5 != 2 { // ingest needs the log
			a.send(n, "")
		}
	}
	require.Zero(t, a.broken.Load())
	require.Len(t, a.status, 81)
	require.LessOrEqual(t, len(s.auditStatuses()), 2, "they wait")
	s.Kill()
	kafka.Start(t)
	s.Start()
	s.requireAudited(a.status)
	require.Zero(t, s.Stop())
}
