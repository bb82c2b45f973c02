package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// One key sends requests that are refused as fast as it can. Each is in the audit log: the
// first ones individually, the following ones in common records. Requests that are admitted
// by the plan are always recorded individually.
func TestRefusalsWithoutEndTakeLittleRoomInTheAuditLog(t *testing.T) {
	const refused, workers, good, perSecond = 20_000, 400, 50, 2
	s, err := spool.Open(t.TempDir(), spool.Options{MaxBytes: 1 << 40, Sync: time.Second})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	workspace, foreign := uuid.New(), uuid.New()
	credential := &access.Credential{
		ID: uuid.New(), Mode: "live", Scopes: []string{"read:nodes"},
		Workspaces: map[uuid.UUID]access.Access{workspace: {Mode: "live"}},
	}
	cfg := publicConfig()
	cfg.RefusalsPerSecond = perSecond
	server, err := api.New(api.Deps{
		Config: cfg, Version: "test", Keys: oneKey{credential}, Audit: audit.NewTrail(audit.TrailDeps{Spool: s}),
		Routes: []route.Route{
			{Method: http.MethodGet, Pattern: "/api/good", Scopes: []request.Scope{request.ReadNodes}, Handle: func(
				w http.ResponseWriter, r *http.Request,
			) error {
				reply.Data(w, r, http.StatusOK, "good")
				return nil
			}},
			{Method: http.MethodGet, Pattern: "/api/other", Scopes: []request.Scope{request.WriteNodes}, Handle: noop},
		},
	})
	require.NoError(t, err)
	discardLogs(t)
	send := func(path string, id uuid.UUID) int {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("X-Workspace-Id", id.String())
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return w.Code
	}
	kinds := []struct {
		path   string
		id     uuid.UUID
		status int
	}{
		{"/api/none", workspace, 404}, {"/api/other", workspace, 403}, {"/api/good", foreign, 403},
		{"/api/none", foreign, 404},
	}
	var work sync.WaitGroup
	began := time.Now()
	for n := range workers {
		work.Go(func() {
			for i := range refused / workers {
				k := kinds[(n+i)%len(kinds)]
				require.Equal(t, k.status, send(k.path, k.id))
			}
		})
	}
	for range good {
		require.Equal(t, http.StatusOK, send("/api/good", workspace))
	}
	work.Wait()
	seconds := int(time.Since(began).Seconds()) + 1

	counted, individual, records := map[int]int{}, 0, 0
	for s.Pending() > 0 {
		b, err := s.Next(context.Background(), 1000, 1<<20)
		require.NoError(t, err)
		for _, raw := range b.Records {
			r, err := auditrecord.Decode(raw)
			require.NoError(t, err)
			require.Equal(t, credential.ID, r.Key)
			require.Equal(t, workspace, r.Workspace)
			require.True(t, r.IP.IsValid())
			counted[r.Status] += int(r.Requests)
			if records++; r.Status == http.StatusOK {
				require.EqualValues(t, 1, r.Requests)
				individual++
			}
		}
		require.NoError(t, s.Done(b))
	}
	require.Equal(t, map[int]int{200: good, 403: refused / 2, 404: refused / 2}, counted, "each use is in the log")
	require.Equal(t, good, individual)
	// The burst, its refill, and the common records of each kind, ten times a second.
	require.Less(t, records, good+perSecond*60+perSecond*seconds+seconds*10*len(kinds)+100)
	require.Less(t, records, refused/5)
}
