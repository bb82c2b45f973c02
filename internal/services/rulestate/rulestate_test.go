package rulestate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/rulestate"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func parse(t *testing.T, expression string) parser.Expr {
	t.Helper()
	parsed, err := promengine.Parse(expression)
	require.NoError(t, err)
	return parsed
}

// hot returns an alerting rule that was evaluated with a number of rooms.
func hot(t *testing.T, at time.Time, rooms int) *rules.AlertingRule {
	t.Helper()
	rule := rules.NewAlertingRule("Hot", parse(t, "temperature > 30"), time.Minute, 5*time.Minute,
		labels.FromStrings("severity", "page"), labels.FromStrings("summary", "{{ $labels.room }} is hot"),
		labels.EmptyLabels(), "", true, slog.Default())
	query := func(context.Context, string, time.Time) (result promql.Vector, err error) {
		for i := range rooms {
			result = append(result, promql.Sample{Metric: labels.FromStrings("room", fmt.Sprint(i)), F: 31.5})
		}
		return result, nil
	}
	for _, at := range []time.Time{at, at.Add(2 * time.Minute)} {
		_, err := rule.Eval(t.Context(), 0, at, query, &url.URL{}, 0)
		require.NoError(t, err)
	}
	rule.SetHealth(rules.HealthGood)
	rule.SetEvaluationTimestamp(at)
	rule.SetEvaluationDuration(20 * time.Millisecond)
	return rule
}

func group(list ...rules.Rule) *rules.Group {
	return rules.NewGroup(rules.GroupOptions{
		Name: "g", File: "f.yml", Interval: time.Minute, Limit: 7, Rules: list, Opts: &rules.ManagerOptions{},
	})
}

func TestTheStateOfRulesIsEncodedAsInPrometheus(t *testing.T) {
	record := rules.NewRecordingRule("total", parse(t, "sum(temperature)"), labels.FromStrings("site", "a"))
	record.SetHealth(rules.HealthBad)
	record.SetLastError(errors.New("too many samples"))
	state := rulestate.Of([]*rules.Group{group(hot(t, epoch, 1), record)})
	text, err := rulestate.Encode(state)
	require.NoError(t, err)

	var groups []map[string]any
	require.NoError(t, json.Unmarshal(text, &groups))
	require.Len(t, groups, 1)
	list := groups[0]["rules"].([]any)
	delete(groups[0], "rules")
	require.Equal(t, map[string]any{
		"name": "g", "file": "f.yml", "interval": 60.0, "limit": 7.0, "evaluationTime": 0.0,
		"lastEvaluation": "0001-01-01T00:00:00Z",
	}, groups[0])
	require.Equal(t, map[string]any{
		"state": "firing", "name": "Hot", "query": "temperature > 30", "duration": 60.0, "keepFiringFor": 300.0,
		"labels": map[string]any{"severity": "page"}, "annotations": map[string]any{"summary": "{{ $labels.room }} is hot"},
		"alerts": []any{map[string]any{
			"labels":      map[string]any{"alertname": "Hot", "room": "0", "severity": "page"},
			"annotations": map[string]any{"summary": "0 is hot"}, "state": "firing", "activeAt": "2026-03-01T00:00:00Z",
			"value": "3.15e+01",
		}},
		"health": "ok", "evaluationTime": 0.02, "lastEvaluation": "2026-03-01T00:00:00Z", "type": "alerting",
	}, list[0])
	require.Equal(t, map[string]any{
		"name": "total", "query": "sum(temperature)", "labels": map[string]any{"site": "a"}, "health": "err",
		"lastError": "too many samples", "evaluationTime": 0.0, "lastEvaluation": "0001-01-01T00:00:00Z", "type": "recording",
	}, list[1])

	decoded, err := rulestate.Decode(text)
	require.NoError(t, err)
	again, err := rulestate.Encode(decoded)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
}

func TestAWorkspaceWithoutRulesHasNoState(t *testing.T) {
	text, err := rulestate.Encode(rulestate.Of(nil))
	require.NoError(t, err)
	require.Nil(t, text)
	groups, err := rulestate.Decode(nil)
	require.NoError(t, err)
	require.NotNil(t, groups)
	require.Empty(t, groups)
	_, err = rulestate.Decode([]byte("{"))
	require.ErrorContains(t, err, "decoding the state of rules")
}

// The alerts of all groups together are bounded.
func TestAlertsBeyondALimitAreNotListed(t *testing.T) {
	state := rulestate.Of([]*rules.Group{group(hot(t, epoch, 1500)), group(hot(t, epoch, 1500), hot(t, epoch, 1))})
	require.Len(t, state[0].Rules[0].Alerts, 1500)
	require.Len(t, state[1].Rules[0].Alerts, 500)
	require.Empty(t, state[1].Rules[1].Alerts)
	require.Equal(t, "firing", state[1].Rules[1].State, "it is known all the same")
	text, err := rulestate.Encode(state)
	require.NoError(t, err)
	require.Equal(t, 2000, strings.Count(string(text), `"activeAt"`))
}
