package auditlog_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/test/chtest"
)

// BenchmarkAuditReads runs the queries of the admin UI and of tenants over a million records of
// a workspace in 24 hours. Another workspace has as many.
func BenchmarkAuditReads(b *testing.B) {
	const perWorkspace, inserts = 1_000_000, 20
	store, err := chtest.Open(b.Context(), chtest.Migrated(b))
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	require.NoError(b, store.Migrate(b.Context()))
	db := auditlog.New(store)
	workspaces := []uuid.UUID{uuid.New(), uuid.New()}
	keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	routes := []string{
		"/api/live-data/ingest", "/api/live-data/query", "/api/queries/nodes", "/api/commands/execute", "/api/rag/search",
	}
	from := time.Now().Add(-25 * time.Hour).Truncate(time.Hour)
	for insert := range inserts {
		var records []auditrecord.Record
		for i := range len(workspaces) * perWorkspace / inserts {
			n := insert*len(workspaces)*perWorkspace/inserts + i
			records = append(records, auditrecord.Record{
				RequestID: uuid.NewString(), At: from.Add(time.Duration(n) * (24 * time.Hour / (2 * perWorkspace))), Final: true,
				Key: keys[n%len(keys)], Workspace: workspaces[n%len(workspaces)], Method: "POST", Route: routes[n%len(routes)],
				Status: 200,
				IP:     netip.MustParseAddr("127.0.0.1"), UserAgent: "bench", Duration: time.Millisecond, BytesIn: 1000,
				BytesOut: 100, Requests: 1,
			})
		}
		require.NoError(b, db.InsertAudit(b.Context(), records))
	}
	f := auditlog.Filter{Workspace: &workspaces[0], From: from, To: from.Add(25 * time.Hour)}
	b.Run("usage", func(b *testing.B) {
		for b.Loop() {
			found, total, err := db.AuditUsage(b.Context(), f, false, 0, 100)
			require.NoError(b, err)
			require.Equal(b, 100, len(found))
			require.Equal(b, int64(24*len(keys)*len(routes)), total)
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			found, err := db.Audit(b.Context(), f, nil, 0, 20)
			require.NoError(b, err)
			require.Len(b, found, 20)
		}
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			n, err := db.CountAudit(b.Context(), f, 10_001)
			require.NoError(b, err)
			require.Equal(b, int64(10_001), n)
		}
	})
}
