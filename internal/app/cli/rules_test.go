package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// receiver is a server that keeps the bodies that are posted to it.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	logins []string // the headers Authorization and X-Tenant
}

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, request.URL.Path+" "+string(body))
		r.logins = append(r.logins, request.Header.Get("Authorization")+" "+request.Header.Get("X-Tenant"))
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

// authenticated reports whether a request with this authorization and tenant was received.
func (r *receiver) authenticated(login string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.logins, login)
}

// received reports whether a body with all texts was received.
func (r *receiver) received(texts ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.bodies, func(body string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
	})
}

const machineRules = `groups:
- name: machines
  interval: 1s
  rules:
  - record: twice
    expr: temperature * 2
  - record: four_times
    expr: twice * 2
  - alert: Hot
    expr: four_times > 300
    labels: {severity: page}
    annotations: {summary: "{{ $labels.source }} is at {{ $value | humanize }}"}
  - alert: Slow
    expr: temperature > 80
    for: 1h
  - alert: Broken
    expr: temperature * on() temperature > 0
`

// evaluatedRule is a rule in the answer of Prometheus' API.
type evaluatedRule struct{ Name, Health, LastError string }

// testRulesByCommandLine stores a file of rules. The server evaluates it: recorded series reach queries, an alert
// reaches Alertmanager and a webhook, and it is resolved when the file is deleted.
func testRulesByCommandLine(w *workspace) {
	t := w.t
	manager, failing, hook := newReceiver(t, 200), newReceiver(t, 500), newReceiver(t, 204)
	setAlertmanagersByCommandLine(w, manager.URL, failing.URL+"/")
	w.ok(w.in("webhooks", "create", "on call", hook.URL, "--event", "alert.firing", "--event", "alert.resolved",
		"--label", "severity=page")...)
	for source, value := range map[string]int{"lathe": 90, "press": 20} {
		w.createSource(map[string]any{"name": source})
		w.measure(source, "temperature", value)
	}

	file := filepath.Join(t.TempDir(), "machines.yaml")
	require.NoError(t, os.WriteFile(file, []byte(machineRules), 0o600))
	require.Equal(t, file+": 1 group with 5 rules, no errors\n", w.ok(w.in("rules", "put", file, "--check")...))
	require.Contains(t, w.ok(w.in("rules", "list")...), "0 files", "a check stores nothing")
	require.Contains(t, w.ok(w.in("rules", "put", file)...), "machines: 1 group with 5 rules")
	require.Regexp(t, `(?m)^machines +1 +5 +\d+ +\S+Z\n1 file$`, w.ok(w.in("rules", "list")...))
	require.Equal(t, machineRules, w.ok(w.in("rules", "get", "machines")...))

	var alerts string
	w.eventually(func() bool {
		alerts = w.ok(w.in("rules", "alerts")...)
		return strings.Contains(alerts, "2 alerts")
	})
	require.Regexp(t, `(?m)^firing +Hot +\S+Z +3.6e\+02 +severity=page,? ?source=lathe +lathe is at 360\n`+
		`pending +Slow +\S+Z +9e\+01 +source=lathe`, alerts)
	w.eventually(func() bool {
		return manager.received("/api/v2/alerts ", `"severity":"page"`, `"summary":"lathe is at 360"`) &&
			manager.authenticated("Basic b3BzOnB3 team a") &&
			failing.received("/api/v2/alerts ", `"Hot"`) && hook.received("alert.firing", `"Hot"`)
	})
	w.eventually(func() bool {
		shown := w.ok(w.in("rules", "alertmanagers", "list")...)
		return regexp.MustCompile(manager.URL+` .*Z +-\n`).MatchString(shown) &&
			regexp.MustCompile(failing.URL+`/ .* - +an Alertmanager answers 500\n`).MatchString(shown)
	})
	require.Contains(t, w.ok(w.in("query", "--metric", "four_times", "--latest")...), " 360\n")
	var evaluated struct {
		Groups []struct {
			Rules []evaluatedRule
		}
	}
	w.eventually(func() bool {
		w.do(http.MethodGet, "/prometheus/api/v1/rules", nil, http.StatusOK, &evaluated)
		return !slices.ContainsFunc(evaluated.Groups[0].Rules, func(r evaluatedRule) bool { return r.Health == "unknown" })
	})
	for _, rule := range evaluated.Groups[0].Rules {
		if rule.Name == "Broken" {
			require.Contains(t, rule.LastError, "many-to-many matching not allowed")
		} else {
			require.Equal(t, "ok", rule.Health, "%+v", rule)
		}
	}

	w.ok(w.in("rules", "delete", "machines")...)
	w.eventually(func() bool { return hook.received("alert.resolved", `"Hot"`) })
	w.eventually(func() bool {
		return strings.Contains(w.ok(w.in("rules", "alerts")...), "0 alerts")
	})
	for message, args := range map[string][]string{
		"no such file":          w.in("rules", "put", file+"x"),
		"No such file of rules": w.in("rules", "get", "machines"),
		"name":                  w.in("rules", "put", file, "--name", "a/b"),
		"is larger than 262144": w.in("rules", "put", hugeFile(t)),
	} {
		require.Contains(t, w.bad(args...), message, "%v", args)
	}
	require.NoError(t, os.WriteFile(file, []byte("groups: [{name: g, rules: [{record: r, expr: 'sum('}]}]"), 0o600))
	require.Contains(t, w.bad(w.in("rules", "put", file)...), "unclosed left parenthesis")
}

// hugeFile returns a file that is larger than a file of rules may be.
func hugeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "huge.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("#", 2<<20)), 0o600))
	return path
}

// testWebhooksByCommandLine creates a webhook, which gets a test event and events of the graph.
func testWebhooksByCommandLine(w *workspace) {
	t := w.t
	refusing := newReceiver(t, 500)
	pump := w.createNode("Pump", "")
	type answer struct{ Data struct{ ID, Secret string } }
	id := decode[answer](t, w.ok(w.in("webhooks", "create", "graph", refusing.URL, "--event", "node.updated",
		"--event", "alert.firing", "--event", "edge.created", "--label", "severity=page", "--entity-type", "object",
		"--relation-type", "feeds", "--node", pump.String(), "--json")...)).Data.ID
	require.Regexp(t, `graph +`+id+` +enabled +`+refusing.URL+` +alert.firing,edge.created,node.updated +0`,
		w.ok(w.in("webhooks", "list")...))
	require.Regexp(t, `^delivery \S{36} is queued for a server with role rules\n$`, w.ok(w.in("webhooks", "test", id)...))
	w.execute(http.StatusOK, "UPDATE_NODE", map[string]any{"id": pump, "name": "Pump 8"})
	deliveries := w.in("webhooks", "deliveries", id)
	w.eventually(func() bool {
		list := w.ok(append(deliveries, "--state", "pending")...)
		return strings.Contains(list, "webhook.test") && strings.Contains(list, "node.updated") &&
			strings.Count(list, "the receiver answered 500") == 2 && strings.Contains(list, "2 deliveries")
	})
	require.True(t, refusing.received("node.updated", "Pump 8"))
	require.Contains(t, w.ok(append(deliveries, "--limit", "1", "--offset", "1")...), "1 of 2 deliveries")
	list := decode[struct{ Data []struct{ ID string } }](t, w.ok(append(deliveries, "--json")...))
	queued := decode[answer](t, w.ok(w.in("webhooks", "redeliver", id, list.Data[0].ID, "--json")...))
	require.NotEmpty(t, queued.Data.ID)

	w.do(http.MethodPatch, "/api/webhooks/"+id, map[string]any{"enabled": false}, http.StatusOK, nil)
	require.Regexp(t, `graph +`+id+` +disabled `, w.ok(w.in("webhooks", "list")...))
	require.Equal(t, "webhook "+id+" is deleted\n", w.ok(w.in("webhooks", "delete", id)...))
	require.Contains(t, w.ok(w.in("webhooks", "list")...), "0 webhooks")
	for message, args := range map[string][]string{
		"No such webhook": w.in("webhooks", "delete", id),
		"url":             w.in("webhooks", "create", "x", "ftp://h", "--event", "node.created"),
		"events":          w.in("webhooks", "create", "x", refusing.URL, "--event", "node.exploded"),
		"--event":         w.in("webhooks", "create", "x", refusing.URL),
		"state":           append(deliveries, "--state", "lost"),
	} {
		require.Contains(t, w.bad(args...), message, "%v", args)
	}
}

// setAlertmanagersByCommandLine sets two Alertmanagers. Requests to the first one have the password pw and a header.
func setAlertmanagersByCommandLine(w *workspace, first, second string) {
	t := w.t
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	managers := func(args ...string) []string { return w.in(append([]string{"rules", "alertmanagers"}, args...)...) }
	require.Contains(t, w.ok(managers("list")...), "0 Alertmanagers")
	require.Contains(t, w.ok(managers("set", first, "--username", "ops", "--password-file", file("pw\n"), "--header",
		"X-Tenant="+file("team a"))...), first+" is set")
	w.ok(managers("set", second, "--token-file", file("t0ken"))...)
	shown := w.ok(managers("list")...) // sorted by the URLs, whose ports differ
	require.Regexp(t, first+` +basic ops +X-Tenant +\S+Z +- +-\n`, shown)
	require.Regexp(t, second+` +bearer +- +\S+Z +- +-\n`, shown)
	require.Contains(t, shown, "2 Alertmanagers")
	w.ok(managers("set", second)...)
	setStdin(t, "another\n")
	require.Contains(t, w.ok(managers("set", second+"third", "--token-file", "-", "--json")...), `"type": "bearer"`)
	require.Contains(t, w.ok(managers("remove", second+"third")...), second+"third is removed")
	list := w.ok(managers("list", "--json")...)
	require.NotContains(t, list, "another")
	require.NotContains(t, list, "pw")
	for message, args := range map[string][]string{
		"no Alertmanager":   managers("remove", second+"third"),
		"--username":        managers("set", first, "--password-file", file("x")),
		"none is stored":    managers("set", second, "--username", "ops"),
		"is empty":          managers("set", second, "--token-file", file("\n")),
		"no such file":      managers("set", second, "--token-file", file("x")+"y"),
		"at most 4096":      managers("set", second, "--token-file", file(strings.Repeat("x", 5000))),
		"private address":   managers("set", "http://10.0.0.1"),
		"the server sets":   managers("set", second, "--header", "Host="+file("x")),
		"can't be used tog": managers("set", second, "--username", "a", "--token-file", file("x")),
	} {
		require.Contains(t, w.bad(args...), message, "%v", args)
	}
	require.Contains(t, w.ok(managers("set", first, "--username", "ops", "--header", "X-Tenant=")...), first+" is set",
		"secrets that are not given are kept")
}
