package audit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/kafka"
)

// flakyLog is a log that fails while it is unavailable. test/contract and test/e2e test the
// trail with Kafka.
type flakyLog struct {
	mu          sync.Mutex
	unavailable bool
	got         []string
}

var errUnavailable = errors.New("unavailable")

func (o *flakyLog) ProduceAudit(_ context.Context, records []kafka.Record) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unavailable {
		return errUnavailable
	}
	for _, r := range records {
		o.got = append(o.got, r.RequestID)
	}
	return nil
}

func (o *flakyLog) setUnavailable(unavailable bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unavailable = unavailable
}

func (o *flakyLog) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.got...)
}

func newTrail(t testing.TB, dir string, log *flakyLog) *audit.Trail {
	t.Helper()
	s, err := spool.Open(dir, spool.Options{MaxBytes: 1 << 40, Sync: time.Second})
	require.NoError(t, err)
	trail := audit.NewTrail(audit.TrailDeps{Spool: s, Log: log, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = trail.Close() })
	return trail
}

func newRecord() *auditrecord.Record {
	return &auditrecord.Record{
		RequestID: reply.NewRequestID(), At: time.Now(), Key: uuid.New(), Workspace: uuid.New(), Method: "POST",
		Route: "/api/live-data/ingest", Status: 201, IP: netip.MustParseAddr("203.0.113.7"),
		UserAgent: "Telegraf/1.30 Go/1.22",
		Duration:  time.Millisecond, BytesIn: 1000, BytesOut: 300,
	}
}

func TestRecordsWaitWhileTheLogIsUnavailableAndArriveInOrder(t *testing.T) {
	dir, log := t.TempDir(), &flakyLog{unavailable: true}
	trail := newTrail(t, dir, log)
	var want []string
	write := func(n int) {
		for range n {
			r := newRecord()
			require.NoError(t, trail.Write(r))
			want = append(want, r.RequestID)
		}
	}
	write(100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- trail.Run(ctx) }()
	write(2000)
	cancel()
	require.NoError(t, <-done) // the log is still unavailable: they stay in the spool
	require.Empty(t, log.requests())
	require.NoError(t, trail.Close())

	log.setUnavailable(false)
	trail = newTrail(t, dir, log)
	write(10)
	ctx, cancel = context.WithCancel(t.Context())
	go func() { done <- trail.Run(ctx) }()
	for deadline := time.Now().Add(30 * time.Second); len(log.requests()) < len(want); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	write(5)
	cancel()
	require.NoError(t, <-done) // the remaining records are sent at the end
	require.Equal(t, want, log.requests())
}

func TestAKeyInAUserAgentIsNotRecorded(t *testing.T) {
	r := newRecord()
	r.UserAgent = "x lg_live_" + "aB3dabcdefghijklmnopqrstuvwxyz0123456789" + " \x00\xff y"
	raw, err := auditrecord.Encode(r)
	require.NoError(t, err)
	back, err := auditrecord.Decode(raw)
	require.NoError(t, err)
	require.Equal(t, "x lg_live_aB3d… �� y", back.UserAgent)
}

// BenchmarkWrite measures the cost of recording a request.
func BenchmarkWrite(b *testing.B) {
	trail := newTrail(b, b.TempDir(), &flakyLog{})
	r := newRecord()
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := trail.Write(r); err != nil {
				panic(err)
			}
		}
	})
}
