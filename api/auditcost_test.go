package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// oneKey is an authenticator that returns the same credential for every key.
type oneKey struct{ credential *access.Credential }

func (k oneKey) Authenticate(context.Context, string, netip.Addr) (*access.Credential, error) {
	return k.credential, nil
}
func (oneKey) RecordUse(uuid.UUID, netip.Addr) {}

// BenchmarkAudit measures the cost of the audit log: all handlers, with it and without, on a
// route that does nothing. It also reports the processor time, including that of the kernel,
// which does not depend on other work on the machine.
func BenchmarkAudit(b *testing.B) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	for name, audited := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			workspace := uuid.New()
			key := oneKey{&access.Credential{
				ID: uuid.New(), Mode: "live", Scopes: []string{"admin"},
				Workspaces: map[uuid.UUID]access.Access{workspace: {Mode: "live"}},
			}}
			deps := api.Deps{Config: config.API{MaxHeaderBytes: 1 << 16}, Keys: key, Routes: []route.Route{{
				Method: http.MethodGet, Pattern: "/api/nothing", Scopes: []request.Scope{request.Admin},
				Handle: func(w http.ResponseWriter, r *http.Request) error {
					reply.Data(w, r, http.StatusOK, "nothing")
					return nil
				},
			}}}
			if audited {
				s, err := spool.Open(b.TempDir(), spool.Options{MaxBytes: 1 << 40, Sync: time.Second})
				require.NoError(b, err)
				defer func() { _ = s.Close() }()
				deps.Audit = audit.NewTrail(audit.TrailDeps{Spool: s})
			}
			server, err := api.New(deps)
			require.NoError(b, err)
			b.ReportAllocs()
			began := cpu()
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r := httptest.NewRequest(http.MethodGet, "/api/nothing", nil)
					r.Header.Set("Authorization", "Bearer x")
					r.Header.Set("X-Workspace-Id", workspace.String())
					w := httptest.NewRecorder()
					if server.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
						panic(w.Body.String())
					}
				}
			})
			b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for this process
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
