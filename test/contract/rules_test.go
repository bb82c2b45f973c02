package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/rulestate"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	"github.com/livegraph/livegraph/test/contract"
)

const rulesPath = "/api/rules/"

// ruleFile is a file of rules in an answer.
type ruleFile struct {
	Name, Content          string
	Groups, Rules, Version int
	CreatedAt, UpdatedAt   time.Time
}

func (l *live) putRules(t testing.TB, name, content string) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{
		Method: http.MethodPut, Path: rulesPath + name, Body: content,
		Header: map[string]string{"Content-Type": "application/yaml"},
	})
}

func requireStatus(t testing.TB, status int, a *contract.Answer) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
}

func TestFilesOfRules(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const content = "groups:\n- name: a\n  rules: [{record: b, expr: sum(c)}, {alert: D, expr: c > 1}]\n"
	created := decode[ruleFile](t, l.putRules(t, "main", content), http.StatusCreated)
	require.Equal(t, "main", created.Name)
	require.Equal(t, []int{1, 2}, []int{created.Groups, created.Rules})
	same := decode[ruleFile](t, l.putRules(t, "main", content), http.StatusOK)
	require.Equal(t, created, same, "the same content changes nothing")
	changed := decode[ruleFile](t, l.putRules(t, "main", content+"# a comment\n"), http.StatusOK)
	require.Greater(t, changed.Version, created.Version)
	require.Equal(t, created.CreatedAt, changed.CreatedAt)

	requireStatus(t, http.StatusCreated, l.putRules(t, "another.yml",
		`{"groups":[{"name":"j","interval":"30s","rules":[]}]}`))
	var files []ruleFile
	a := l.Get(t, "/api/rules?limit=1&offset=1", &files)
	require.Equal(t, []string{"main"}, []string{files[0].Name})
	require.EqualValues(t, 2, a.Meta.Total)
	var file ruleFile
	l.Get(t, rulesPath+"main", &file)
	require.Equal(t, content+"# a comment\n", file.Content)

	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, "admin")
	l.Do(t, contract.Request{Path: rulesPath + "main", Key: key, Workspace: other.String()}).
		RequireFailure(t, 404, "NOT_FOUND", "No such file of rules", nil)
	l.Do(t, contract.Request{Method: http.MethodDelete, Path: rulesPath + "main", Key: key, Workspace: other.String()}).
		RequireFailure(t, 404, "NOT_FOUND", "No such file of rules", nil)

	requireStatus(t, http.StatusNoContent, l.Do(t, contract.Request{Method: http.MethodDelete, Path: rulesPath + "main"}))
	l.Do(t, contract.Request{Path: rulesPath + "main"}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	l.Do(t, contract.Request{Path: rulesPath + "%2e%2e"}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
}

func TestFilesOfRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	rule := func(text string) string { return "groups:\n- name: a\n  rules:\n  - " + text }
	for _, c := range []struct {
		content string
		status  int
		reason  string
	}{
		{"groups: [", 400, "did not find expected node content"},
		{"[1]", 400, "cannot unmarshal !!seq into a file of rules"},
		{"groups: []", 422, "a file must have 1 to 100 groups"},
		{"groups:\n- nam: a", 400, "field nam not found in a group"},
		{rule("{record: b}"), 422, "field 'expr' must be set"},
		{rule("{record: b, expr: 'sum('}"), 422, "could not parse expression"},
		{rule("{record: b, expr: '" + strings.Repeat("-", 5000) + "c'}"), 422, "nested at most"},
		{rule("{record: b, alert: c, expr: '1'}"), 422, "only one of 'record' and 'alert'"},
		{rule("{alert: c, expr: '1', annotations: {d: '{{ nothing }}'}}"), 422, `function "nothing" not defined`},
		{rule("{alert: c, expr: '1', annotations: {d: '{{ range query `up` }}{{ end }}'}}"), 422, "must not have {{range"},
		{"groups: [{name: a, interval: 4s, rules: []}]", 422, "interval must be from 5s to 24h0m0s"},
		{strings.Repeat("#", 257<<10), 413, ""},
	} {
		a := l.putRules(t, "x", c.content)
		require.Equal(t, c.status, a.Status, "%s: %s", c.content, a.Body)
		require.Contains(t, a.Error.Message, c.reason)
		require.NotContains(t, string(a.Body), "rulefmt")
	}
	a := l.putRules(t, "x", rule("{record: b, expr: '1'}\n  - {record: c, expr: '+'}"))
	a.RequireFailure(t, 422, "VALIDATION_ERROR", "", map[string]any{"field": "body", "line": 5.0})
	l.Do(t, contract.Request{
		Method: http.MethodPut, Path: rulesPath + "x", Body: "x", Header: map[string]string{"Content-Type": "text/plain"},
	}).RequireFailure(t, 415, "VALIDATION_ERROR", "", nil)
	l.putRules(t, ".x", "groups: []").RequireFailure(t, 400, "VALIDATION_ERROR", "", map[string]any{"field": "name"})
	l.putRules(t, "x?dryRun=perhaps", "x").
		RequireFailure(t, 400, "VALIDATION_ERROR", "", map[string]any{"field": "dryRun"})
	requireStatus(t, http.StatusOK, l.putRules(t, "x?dryRun=true", rule("{record: b, expr: '1'}")))
	l.Do(t, contract.Request{Path: rulesPath + "x"}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
}

func TestAWorkspaceHasALimitedNumberOfRules(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	content := "groups:\n- name: a\n  rules:\n" + strings.Repeat("  - {record: b, expr: '1'}\n", 500)
	requireStatus(t, http.StatusCreated, l.putRules(t, "one", content))
	requireStatus(t, http.StatusCreated, l.putRules(t, "two", content))
	requireStatus(t, http.StatusOK, l.putRules(t, "two", content+"#\n"))
	l.putRules(t, "three", "groups: [{name: a, rules: [{record: b, expr: '1'}]}]").
		RequireFailure(t, 422, "VALIDATION_ERROR", "", map[string]any{"limit": 1000.0})
	for i := 2; i < alerting.MaxFiles; i++ {
		requireStatus(t, http.StatusCreated, l.putRules(t, fmt.Sprint("empty", i), "groups: [{name: a, rules: []}]"))
	}
	l.putRules(t, "more", "groups: [{name: a, rules: []}]").
		RequireFailure(t, 422, "VALIDATION_ERROR", "", map[string]any{"limit": 100.0})
}

func TestTheStateOfRulesIsAnsweredAsByPrometheus(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	require.JSONEq(t, `{"groups":[]}`, string(l.prom(t, "/rules").Data))
	require.JSONEq(t, `{"alerts":[]}`, string(l.prom(t, "/alerts").Data))
	const state = `[{"name":"g","file":"f","interval":5,"limit":0,"evaluationTime":0.1,
		"lastEvaluation":"2026-03-01T00:00:00Z","rules":[
		{"type":"recording","name":"r","query":"1","labels":{"team":"a"},"health":"ok","evaluationTime":0.1,
			"lastEvaluation":"2026-03-01T00:00:00Z"},
		{"type":"alerting","state":"firing","name":"A","query":"m > 1","duration":60,"keepFiringFor":0,
			"labels":{"team":"b"},"annotations":{"s":"{{ $value }}"},"health":"err","lastError":"no","evaluationTime":0.1,
			"lastEvaluation":"2026-03-01T00:00:00Z","alerts":[{"labels":{"alertname":"A"},"annotations":{"s":"2"},
			"state":"firing","activeAt":"2026-03-01T00:00:00Z","value":"2e+00"}]}]}]`
	groups, err := rulestate.Decode([]byte(state))
	require.NoError(t, err)
	encoded, err := rulestate.Encode(groups)
	require.NoError(t, err)
	require.JSONEq(t, state, string(encoded))
	require.NoError(t, l.DB.SaveRuleState(t.Context(), l.Workspace, encoded))

	require.JSONEq(t, `{"groups":`+state+`}`, string(l.prom(t, "/rules").Data))
	names := func(parameters ...string) (names []string) {
		var found struct{ Groups []rulestate.Group }
		require.NoError(t, json.Unmarshal(l.prom(t, "/rules", parameters...).Data, &found))
		for _, g := range found.Groups {
			for _, r := range g.Rules {
				names = append(names, fmt.Sprint(r.Name, len(r.Alerts)))
			}
		}
		return names
	}
	require.Equal(t, []string{"A1"}, names("type", "alert"))
	require.Equal(t, []string{"r0"}, names("type", "record"))
	require.Equal(t, []string{"A0"}, names("rule_name[]", "A", "exclude_alerts", "true"))
	require.Equal(t, []string{"r0"}, names("match[]", `{team=~"a|c"}`))
	require.Empty(t, names("file[]", "x"))
	require.Empty(t, names("rule_group[]", "x"))
	require.Equal(t, []string{"r0", "A1"}, names("file[]", "x", "file[]", "f", "rule_group[]", "g"))
	require.JSONEq(t, `{"alerts":[{"labels":{"alertname":"A"},"annotations":{"s":"2"},"state":"firing",
		"activeAt":"2026-03-01T00:00:00Z","value":"2e+00"}]}`, string(l.prom(t, "/alerts").Data))
	var alerts []struct{ State, Name, Value, File, Group string }
	l.Get(t, "/api/alerts", &alerts)
	require.Equal(t, []struct{ State, Name, Value, File, Group string }{{"firing", "A", "2e+00", "f", "g"}}, alerts)
	l.Get(t, "/api/alerts?state=pending", &alerts)
	require.Empty(t, alerts)
	l.Do(t, contract.Request{Path: "/api/alerts?state=x"}).
		RequireFailure(t, 400, "VALIDATION_ERROR", "", map[string]any{"field": "state"})
	requireStatus(t, http.StatusCreated, l.putRules(t, "f", "groups: [{name: g, rules: []}]"))
	var files []struct {
		Failing        int
		LastError      *string
		LastEvaluation *time.Time
	}
	l.Get(t, "/api/rules", &files)
	require.Equal(t, 1, files[0].Failing)
	require.Equal(t, "no", *files[0].LastError)
	require.Equal(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), *files[0].LastEvaluation)
	for _, parameters := range [][]string{{"type", "x"}, {"exclude_alerts", "x"}, {"match[]", "sum(x)"}} {
		a := l.Do(t, contract.Request{Path: "/prometheus/api/v1/rules?" + parameters[0] + "=" + parameters[1]})
		require.Equal(t, 400, a.Status)
	}
}
