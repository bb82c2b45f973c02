package alerting_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/test/pgtest"
)

func open(t *testing.T) (*pgtest.DB, uuid.UUID) {
	t.Helper()
	db := pgtest.Open(t)
	return db, pgtest.Workspace(t, db, "live").ID
}

// unconditional accepts each change of a file.
func unconditional(*alerting.RuleFile) error { return nil }

func alert(fingerprint uint64) alerting.Alert {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return alerting.Alert{
		File: "f", Group: "g", Fingerprint: fingerprint, Labels: map[string]string{"alertname": "A"},
		Annotations: map[string]string{"summary": "s"}, Value: 2.5, ActiveAt: at, FiredAt: at.Add(time.Minute),
	}
}

// Two processes may record the same change when a lease moves. One of them notifies.
func TestEachChangeOfAnAlertIsNotifiedOnce(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	var fired, resolved atomic.Int64
	record := func(f, r []alerting.Alert) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				err := db.RecordAlerts(context.Background(), workspace, f, r,
					func(_ context.Context, _ pgx.Tx, f, r []alerting.Alert) error {
						fired.Add(int64(len(f)))
						resolved.Add(int64(len(r)))
						return nil
					})
				require.NoError(t, err)
			})
		}
		all.Wait()
	}
	// A fingerprint uses all 64 bits.
	alerts := []alerting.Alert{alert(1), alert(1<<64 - 1)}
	record(alerts, nil)
	require.EqualValues(t, 2, fired.Load())
	found, err := db.FiringAlerts(t.Context(), workspace)
	require.NoError(t, err)
	require.ElementsMatch(t, alerts, found)
	record(nil, alerts[:1])
	require.EqualValues(t, 1, resolved.Load())
	found, err = db.FiringAlerts(t.Context(), workspace)
	require.NoError(t, err)
	require.Equal(t, alerts[1:], found)
	require.EqualValues(t, 2, fired.Load())
}

func TestAChangeIsNotRecordedIfItsNotificationIsNot(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	failure := errors.New("no")
	err := db.RecordAlerts(t.Context(), workspace, []alerting.Alert{alert(1)}, nil,
		func(context.Context, pgx.Tx, []alerting.Alert, []alerting.Alert) error { return failure })
	require.ErrorIs(t, err, failure)
	found, err := db.FiringAlerts(t.Context(), workspace)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestTheRevisionDiffersAfterEachChange(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	seen := map[alerting.Revision]bool{}
	changed := func() {
		t.Helper()
		all, err := db.RuleRevisions(t.Context())
		require.NoError(t, err)
		require.False(t, seen[all[workspace]])
		seen[all[workspace]] = true
	}
	put := func(name, content string) {
		_, _, err := db.PutRuleFile(t.Context(), workspace, &alerting.RuleFile{Name: name, Content: content}, unconditional)
		require.NoError(t, err)
		changed()
	}
	put("a", "1")
	put("b", "1")
	put("a", "2")
	require.NoError(t, db.DeleteRuleFile(t.Context(), workspace, "b"))
	changed()
	put("b", "1")
}

// The process that evaluates rules has to see a workspace until nothing is left of its rules.
func TestAWorkspaceIsListedUntilNothingIsLeftOfItsRules(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	listed := func() bool {
		all, err := db.RuleRevisions(t.Context())
		require.NoError(t, err)
		_, ok := all[workspace]
		return ok
	}
	require.False(t, listed())
	none := func(context.Context, pgx.Tx, []alerting.Alert, []alerting.Alert) error { return nil }
	require.NoError(t, db.RecordAlerts(t.Context(), workspace, []alerting.Alert{alert(1)}, nil, none))
	require.True(t, listed())
	require.NoError(t, db.SaveRuleState(t.Context(), workspace, []byte("[]")))
	require.NoError(t, db.RecordAlerts(t.Context(), workspace, nil, []alerting.Alert{alert(1)}, none))
	require.True(t, listed())
	require.NoError(t, db.SaveRuleState(t.Context(), workspace, nil))
	require.False(t, listed())
	state, err := db.RuleState(t.Context(), workspace)
	require.NoError(t, err)
	require.Nil(t, state)
}

func TestADeletedWorkspaceGetsNoRules(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	_, _, err := db.PutRuleFile(t.Context(), workspace, &alerting.RuleFile{Name: "a", Content: "1"}, unconditional)
	require.NoError(t, err)
	require.NoError(t, db.DeleteWorkspace(t.Context(), workspace, "test"))
	all, err := db.RuleRevisions(t.Context())
	require.NoError(t, err)
	require.NotContains(t, all, workspace)
	_, _, err = db.PutRuleFile(t.Context(), workspace, &alerting.RuleFile{Name: "b", Content: "1"}, unconditional)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.NoError(t, db.SaveRuleState(t.Context(), workspace, []byte("[]")))
	state, err := db.RuleState(t.Context(), workspace)
	require.NoError(t, err)
	require.Nil(t, state)
}

// A condition is checked in the transaction of the change, so that one of several changes of the same state is made.
func TestOneOfSeveralConditionalChangesIsMade(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	refused := errors.New("changed")
	put := func(content string, version int64) error {
		_, _, err := db.PutRuleFile(t.Context(), workspace, &alerting.RuleFile{Name: "a", Content: content},
			func(current *alerting.RuleFile) error {
				if current == nil && version == 0 || current != nil && current.Version == version {
					return nil
				}
				return refused
			})
		return err
	}
	set := func(url string, want ...string) error {
		type list = []alerting.Alertmanager
		_, err := db.SetAlertmanagers(t.Context(), workspace, func(now list) (list, error) {
			if len(now) == len(want) && (len(want) == 0 || now[0].URL == want[0]) {
				return list{{URL: url}}, nil
			}
			return nil, refused
		})
		return err
	}
	require.NoError(t, put("1", 0))
	file, err := db.RuleFile(t.Context(), workspace, "a")
	require.NoError(t, err)
	require.NoError(t, set("http://a.example"))
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		for _, change := range []func() error{
			func() error { return put(strconv.Itoa(i+2), file.Version) },
			func() error { return set("http://"+strconv.Itoa(i)+".example", "http://a.example") },
		} {
			all.Go(func() {
				if err := change(); err == nil {
					made.Add(1)
				} else {
					require.ErrorIs(t, err, refused)
				}
			})
		}
	}
	all.Wait()
	require.EqualValues(t, 2, made.Load(), "one change of the file and one of the list")
	require.ErrorIs(t, put("9", 0), refused)
}

// What identifies an Alertmanager is its URL. Its time changes with anything of it, also with a secret, and only then.
func TestTheTimeOfAnAlertmanagerIsThatOfItsLastChange(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	set := func(next ...alerting.Alertmanager) []alerting.Alertmanager {
		stored, err := db.SetAlertmanagers(t.Context(), workspace,
			func([]alerting.Alertmanager) ([]alerting.Alertmanager, error) { return next, nil })
		require.NoError(t, err)
		read, err := db.Alertmanagers(t.Context(), workspace)
		require.NoError(t, err)
		require.Equal(t, read, stored)
		return stored
	}
	other := alerting.Alertmanager{URL: "http://b.example", Headers: map[string]config.Secret{}}
	a := alerting.Alertmanager{URL: "http://a.example", Headers: map[string]config.Secret{}}
	before := set(other, a)
	require.Equal(t, []string{"http://a.example", "http://b.example"}, []string{before[0].URL, before[1].URL})
	for _, change := range []func(){
		func() { a.Auth, a.Username, a.Secret = alerting.Basic, "u", "p" },
		func() { a.Username = "v" },
		func() { a.Secret = "q" },
		func() { a.Auth = alerting.Bearer },
		func() { a.Headers = map[string]config.Secret{"X-Org": "1"} },
		func() { a.Headers = map[string]config.Secret{"X-Org": "2"} },
		func() { a.Headers = map[string]config.Secret{"X-Key": "2"} },
	} {
		change()
		changed := set(a, other)
		require.True(t, changed[0].UpdatedAt.After(before[0].UpdatedAt))
		require.Equal(t, before[1], changed[1])
		a.UpdatedAt = changed[0].UpdatedAt
		require.Equal(t, a, changed[0])
		require.Equal(t, changed, set(a, other), "nothing changed")
		before = changed
	}
	require.Len(t, set(other), 1)
	require.Empty(t, set())
}

// A result belongs to the Alertmanager as it was when the request was sent.
func TestResultsOfAnAlertmanagerEndWithItsChange(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	set := func(user string) (stored []alerting.Alertmanager) {
		stored, err := db.SetAlertmanagers(t.Context(), workspace,
			func([]alerting.Alertmanager) ([]alerting.Alertmanager, error) {
				return []alerting.Alertmanager{
					{URL: "http://a.example", Auth: alerting.Basic, Username: user}, {URL: "http://b.example"},
				}, nil
			})
		require.NoError(t, err)
		return stored
	}
	read := func() []alerting.Alertmanager {
		all, err := db.Alertmanagers(t.Context(), workspace)
		require.NoError(t, err)
		return all
	}
	record := func(to alerting.Alertmanager, failure string) {
		require.NoError(t, db.RecordResult(t.Context(), workspace, &to, failure))
	}
	before := set("u")
	require.Zero(t, before[0].Result)
	record(before[0], "refused")
	failed := read()
	require.Equal(t, "refused", failed[0].Result.Failure)
	require.NotNil(t, failed[0].Result.FailedAt)
	require.Nil(t, failed[0].Result.SentAt)
	require.Equal(t, before[1], failed[1], "the other one")
	require.Equal(t, failed, set("u"), "nothing changed")

	record(before[0], "")
	sent := read()[0].Result
	require.Empty(t, sent.Failure)
	require.Equal(t, failed[0].Result.FailedAt, sent.FailedAt)
	require.False(t, sent.SentAt.Before(*sent.FailedAt))

	record(before[0], "refused")
	changed := set("v")
	require.Equal(t, alerting.Result{SentAt: sent.SentAt}, changed[0].Result)
	record(before[0], "refused") // by the user before
	require.Equal(t, changed, read())
	require.NoError(t, db.RecordResult(t.Context(), uuid.New(), &changed[0], "refused"))
	require.Equal(t, changed, read(), "another workspace")
}
