package rules

import (
	"context"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/test/pgtest"
)

// changes are the notified changes of alerts.
type changes struct{ fired, resolved []string }

func newTestEvaluator(t *testing.T) (e *evaluator, notified *changes) {
	t.Helper()
	db := pgtest.Open(t)
	notified = &changes{}
	r := New(Deps{Store: db, Notify: func(
		_ context.Context, _ pgx.Tx, _ uuid.UUID, fired, resolved []alerting.Alert,
	) error {
		for _, a := range fired {
			notified.fired = append(notified.fired, a.Labels["room"])
		}
		for _, a := range resolved {
			notified.resolved = append(notified.resolved, a.Labels["room"])
		}
		return nil
	}})
	e = r.newEvaluator(pgtest.Workspace(t, db, "live").ID, slog.Default())
	e.alerts = newRecord(nil)
	return e, notified
}

// hot returns a group with a rule that fires for the rooms whose values are above 30.
func hot(t *testing.T, hold time.Duration) (*rules.Group, *rules.AlertingRule) {
	t.Helper()
	expression, err := promengine.Parse("temperature > 30")
	require.NoError(t, err)
	rule := rules.NewAlertingRule("Hot", expression, hold, 0, labels.EmptyLabels(), labels.EmptyLabels(),
		labels.EmptyLabels(), "", true, slog.Default())
	return rules.NewGroup(rules.GroupOptions{
		Name: "g", File: "f", Interval: time.Minute, Rules: []rules.Rule{rule}, Opts: &rules.ManagerOptions{},
	}), rule
}

// evaluate evaluates the rule; the alerts of the rooms are active.
func evaluate(t *testing.T, rule *rules.AlertingRule, at time.Time, rooms ...string) {
	t.Helper()
	query := func(context.Context, string, time.Time) (result promql.Vector, err error) {
		for _, room := range rooms {
			result = append(result, promql.Sample{Metric: labels.FromStrings("room", room), F: 31})
		}
		return result, nil
	}
	_, err := rule.Eval(t.Context(), 0, at, query, &url.URL{}, 0)
	require.NoError(t, err)
	rule.SetHealth(rules.HealthGood)
}

func TestChangesOfAlertsAreNotified(t *testing.T) {
	t.Parallel()
	e, notified := newTestEvaluator(t)
	group, rule := hot(t, time.Minute)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		rooms           []string
		fired, resolved []string
	}{
		{rooms: []string{"a"}},
		{rooms: []string{"a", "b"}, fired: []string{"a"}},
		{rooms: []string{"a", "b"}, fired: []string{"b"}},
		{rooms: []string{"a", "b"}},
		{rooms: []string{"b"}, resolved: []string{"a"}},
		{rooms: []string{"a", "b"}},
		{rooms: []string{"a"}, fired: []string{"a"}, resolved: []string{"b"}},
		{resolved: []string{"a"}},
	} {
		*notified = changes{}
		evaluate(t, rule, at.Add(time.Duration(i)*time.Minute), step.rooms...)
		require.NoError(t, e.recordAlerts(t.Context(), group))
		require.Equal(t, changes{step.fired, step.resolved}, *notified, "step %d", i)
	}
}

// After a restart the manager knows no alerts. Those that fired are pending again first.
func TestARestartNotifiesNothing(t *testing.T) {
	t.Parallel()
	e, notified := newTestEvaluator(t)
	group, rule := hot(t, time.Minute)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	evaluate(t, rule, at, "a", "b")
	evaluate(t, rule, at.Add(time.Minute), "a", "b")
	require.NoError(t, e.recordAlerts(t.Context(), group))
	require.ElementsMatch(t, []string{"a", "b"}, notified.fired)

	recorded, err := e.Store.FiringAlerts(t.Context(), e.workspace)
	require.NoError(t, err)
	e.alerts = newRecord(recorded)
	*notified = changes{}
	group, rule = hot(t, time.Minute)
	rule.SetHealth(rules.HealthBad) // the first evaluation failed
	require.NoError(t, e.recordAlerts(t.Context(), group))
	evaluate(t, rule, at.Add(2*time.Minute), "a", "b")
	require.NoError(t, e.recordAlerts(t.Context(), group))
	evaluate(t, rule, at.Add(3*time.Minute), "a")
	require.Equal(t, changes{}, *notified)
	require.NoError(t, e.recordAlerts(t.Context(), group))
	require.Equal(t, changes{resolved: []string{"b"}}, *notified)
}

func TestAlertsOfRemovedRulesAreResolved(t *testing.T) {
	t.Parallel()
	e, notified := newTestEvaluator(t)
	group, rule := hot(t, 0)
	evaluate(t, rule, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "a")
	require.NoError(t, e.recordAlerts(t.Context(), group))
	require.Equal(t, changes{fired: []string{"a"}}, *notified)
	*notified = changes{}
	e.manager = rules.NewManager(e.managerOptions(t.Context())) // which has loaded no rules
	require.NoError(t, e.resolveRemoved(t.Context()))
	require.Equal(t, changes{resolved: []string{"a"}}, *notified)
}

func TestTextsOfAlertsCanBeStored(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]string{"a": "x\uFFFDy", "b": "\uFFFD"},
		textsOf(labels.FromStrings("a", "x\x00y", "b", "\xff")))
}
