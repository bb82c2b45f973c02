package contract

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/route"
	auditconsumer "github.com/livegraph/livegraph/consumers/audit"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// Audit is the group of the routes that read audit records, with the spool, the log and
// the consumer that deliver them.
type Audit struct {
	Records       *clickhouse.DB // set by Group
	ClickHouseURL string         // its URL
	Dir           string         // of the spool
	Spool         *spool.Spool
	// MaxSpoolBytes is the maximum number of bytes of the spool; 0: 1 GiB.
	MaxSpoolBytes int64
	// SpoolOnly leaves out the sender and the consumer: records stay in the spool.
	SpoolOnly bool
	// LogOnly leaves out the consumer: records stay in the log.
	LogOnly bool
}

// Group creates the routes, and enables audit records in the server.
func (a *Audit) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	var err error
	a.ClickHouseURL = chtest.Migrated(t)
	a.Records, err = chtest.Open(t.Context(), a.ClickHouseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Records.Close() })
	if a.MaxSpoolBytes == 0 {
		a.MaxSpoolBytes = 1 << 30
	}
	a.Dir = t.TempDir()
	a.Spool, err = spool.Open(a.Dir, spool.Options{MaxBytes: a.MaxSpoolBytes, Sync: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Spool.Close() })
	log := OpenLog(t, kafkatest.NewKFake(t))
	s.Trail = audit.NewTrail(audit.TrailDeps{Spool: a.Spool, Log: log, CountEvery: 100 * time.Millisecond})
	if !a.SpoolOnly && !a.LogOnly {
		background(t, auditconsumer.New(auditconsumer.Deps{
			Log: log, Records: auditlog.New(a.Records), Watermarks: s.DB,
			Config: auditconsumer.Config{
				Group: "audit-" + uuid.NewString(), BatchWait: 20 * time.Millisecond, Retention: 365 * 24 * time.Hour,
			},
		}).Run)
	}
	if !a.SpoolOnly {
		background(t, s.Trail.Run)
	}
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	return audit.Routes(audit.Deps{
		Records: auditlog.New(a.Records), Retention: 365 * 24 * time.Hour, TokenKey: installation.CheckpointKey,
		QueryTimeout: 10 * time.Second,
	})
}
