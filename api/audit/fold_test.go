package audit_test

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/spool"
)

// newSpooledTrail creates a trail. written returns the records since its last call.
func newSpooledTrail(t *testing.T) (trail *audit.Trail, written func() []auditrecord.Record) {
	t.Helper()
	s, err := spool.Open(t.TempDir(), spool.Options{MaxBytes: 1 << 40, Sync: time.Second})
	require.NoError(t, err)
	trail = audit.NewTrail(audit.TrailDeps{
		Spool: s, Log: &flakyLog{unavailable: true}, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() { _ = trail.Close() })
	return trail, func() (records []auditrecord.Record) {
		for s.Pending() > 0 {
			b, err := s.Next(context.Background(), 1000, 1<<20)
			require.NoError(t, err)
			for _, raw := range b.Records {
				r, err := auditrecord.Decode(raw)
				require.NoError(t, err)
				records = append(records, r)
			}
			require.NoError(t, s.Done(b))
		}
		return records
	}
}

func TestUsesThatAreAlikeBecomeOneRecordWhichTheirAnswersWaitFor(t *testing.T) {
	trail, written := newSpooledTrail(t)
	first := time.Now().Truncate(time.Microsecond)
	template := newRecord()
	template.Status = 404
	var work sync.WaitGroup
	for i := range 1000 {
		work.Go(func() {
			r := *template
			r.At = first.Add(time.Duration(i) * time.Millisecond)
			require.NoError(t, trail.Fold(&r))
		})
	}
	other := *template
	other.Status = 403
	work.Go(func() { require.NoError(t, trail.Fold(&other)) })
	work.Wait()
	records := written() // at once: a crash now would lose none
	require.Less(t, len(records), 100)
	var sum, otherRequests uint32
	begin, end := first.Add(time.Hour), time.Time{}
	for _, r := range records {
		require.Equal(
			t, []any{template.Key, template.Workspace, template.Method, template.Route, template.IP},
			[]any{r.Key, r.Workspace, r.Method, r.Route, r.IP},
		)
		if r.Status == 403 {
			otherRequests += r.Requests
			continue
		}
		sum += r.Requests
		if r.At.Before(begin) {
			begin = r.At
		}
		if last := r.At.Add(r.Duration); last.After(end) {
			end = last
		}
	}
	require.EqualValues(t, 1000, sum)
	require.EqualValues(t, 1, otherRequests)
	require.True(t, begin.Equal(first), "%s: the first", begin)
	require.True(t, end.Equal(first.Add(999*time.Millisecond)), "%s: the last", end)
}

func TestOneKeyMakesFewRecordsHoweverItsUsesDiffer(t *testing.T) {
	trail, written := newSpooledTrail(t)
	began := time.Now()
	key, workspaces := uuid.New(), []uuid.UUID{uuid.New(), uuid.New()}
	var work sync.WaitGroup
	for i := range 2000 {
		work.Go(func() {
			r := newRecord()
			r.Key, r.Workspace, r.Status, r.Route = key, workspaces[i%2], 404, auditrecord.NoRoute
			r.IP = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
			require.NoError(t, trail.Fold(r))
		})
	}
	work.Wait()
	rounds := int(time.Since(began)/(100*time.Millisecond)) + 2
	records := written()
	require.LessOrEqual(t, len(records), rounds*34)
	var sum uint32
	for _, r := range records {
		require.Equal(t, key, r.Key)
		require.Contains(t, workspaces, r.Workspace)
		require.Equal(t, 404, r.Status)
		sum += r.Requests
	}
	require.EqualValues(t, 2000, sum)
}
