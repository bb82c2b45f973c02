package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/harness"
)

const (
	manyWorkspaces     = 10_000
	workspacesPerKey   = 1000
	seriesPerWorkspace = 100
	nodesPerWorkspace  = 100
	workspaceProbes    = 1000 // requests of each kind, one after the other
	workspaceCallers   = 8    // that fill the workspaces
	workspaceMetric    = "m"  // the prefix of the names of metrics
	workspaceQueried   = 10   // series
	workspaceSource    = "plant"
)

// BenchmarkWorkspaces measures an installation with 10,000 workspaces of 100 series and 100 nodes each, with a
// process for each role: the latencies of requests to workspaces at random beside those of the first workspace when
// it was alone, the start of all processes, and the peak memory of each.
func BenchmarkWorkspaces(b *testing.B) {
	r := record.New(b)
	count := max(int(manyWorkspaces*record.Share(b)), workspacesPerKey)
	roles := harness.Roles()
	for i := range roles {
		roles[i].Count = 1
	}
	split := harness.NewSplit(b, binary, roles)
	split.Start()
	api := &target{Server: split.ByRole("api")[0], b: b}
	r.Engines(api.engines())
	w := &workspaces{target: api, http: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: workspaceCallers, DisableCompression: true},
	}}
	w.login()
	w.create(1)
	w.fill(r)
	one := w.probe(r, "one")
	w.create(count - 1)
	began := time.Now()
	w.fill(r)
	r.Add("fill", "s", time.Since(began).Seconds())
	many := w.probe(r, "many")
	for kind, p95 := range many {
		r.Add("ratio/"+kind, "ratio", p95/one[kind])
	}
	for _, process := range split.All() {
		require.Zero(b, process.Stop())
	}
	began = time.Now()
	for _, process := range split.All() {
		process.Launch()
	}
	for _, process := range split.All() {
		process.WaitReady()
	}
	r.Add("start", "s", time.Since(began).Seconds())
	w.probe(r, "after-start")
	for _, role := range roles {
		r.Add(role.Name+"/memory", "MiB", record.PeakMemory(b, split.ByRole(role.Name)[0].PID()))
	}
	r.Add("share", "ratio", record.Share(b))
	r.Save()
}

// workspaces are the workspaces of an installation.
type workspaces struct {
	*target
	http    *http.Client
	cookie  string
	token   string
	all     []graphTenant
	filled  int // the first of them
	created int // nodes
}

// send sends a request, which must succeed, and decodes the data of the answer.
func (w *workspaces) send(tenant *graphTenant, method, path, media, body string, data any) error {
	request, err := http.NewRequest(method, w.URL()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if tenant != nil {
		request.Header.Set("Authorization", "Bearer "+tenant.key)
		request.Header.Set("X-Workspace-Id", tenant.workspace)
	} else {
		request.Header.Set("Cookie", w.cookie)
		request.Header.Set("X-CSRF-Token", w.token)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if body != "" {
		request.Header.Set("Content-Type", media)
	}
	_, answer, err := exchange(w.http, request)
	if err != nil || data == nil {
		return err
	}
	return json.Unmarshal(answer, &struct{ Data any }{data})
}

// login opens a session of the first operator.
func (w *workspaces) login() {
	w.b.Helper()
	body, err := json.Marshal(map[string]string{"name": w.First.AdminUser, "password": w.First.AdminPassword})
	require.NoError(w.b, err)
	request, err := http.NewRequest(http.MethodPost, w.URL()+"/admin/api/session", bytes.NewReader(body))
	require.NoError(w.b, err)
	request.Header.Set("Content-Type", "application/json")
	header, answer, err := exchange(w.http, request)
	require.NoError(w.b, err)
	var session struct{ Data struct{ CSRFToken string } }
	require.NoError(w.b, json.Unmarshal(answer, &session))
	w.cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
	w.token = session.Data.CSRFToken
}

// create creates workspaces, and keys for a thousand of them each.
func (w *workspaces) create(count int) {
	w.b.Helper()
	for count > 0 {
		ids := make([]string, min(count, workspacesPerKey))
		var callers errgroup.Group
		callers.SetLimit(workspaceCallers)
		for i := range ids {
			callers.Go(func() error {
				var created struct{ ID string }
				body := fmt.Sprintf(`{"name":"workspace %d","plan":"enterprise"}`, len(w.all)+i)
				err := w.send(nil, http.MethodPost, "/admin/api/workspaces", "application/json", body, &created)
				ids[i] = created.ID
				return err
			})
		}
		require.NoError(w.b, callers.Wait())
		var key struct{ Key string }
		body, err := json.Marshal(map[string]any{"name": "load", "workspaces": ids, "scopes": []string{"admin"}})
		require.NoError(w.b, err)
		require.NoError(w.b, w.send(nil, http.MethodPost, "/admin/api/keys", "application/json", string(body), &key))
		for _, id := range ids {
			w.all = append(w.all, graphTenant{workspace: id, key: key.Key})
		}
		count -= len(ids)
	}
}

// fill sends the points and the nodes of the workspaces that have none.
func (w *workspaces) fill(r *record.Recorder) {
	w.b.Helper()
	var callers errgroup.Group
	callers.SetLimit(workspaceCallers)
	for i, tenant := range w.all[w.filled:] {
		if i > 0 && i%1000 == 0 {
			r.Logf("%d of %d workspaces are filled", i, len(w.all)-w.filled)
		}
		nodes := w.nodes(nodesPerWorkspace)
		callers.Go(func() error {
			if err := w.send(&tenant, http.MethodPost, "/api/live-data/ingest", "text/plain", points(), nil); err != nil {
				return err
			}
			return w.send(&tenant, http.MethodPost, "/api/commands/batch", "application/json",
				`{"commands":[`+strings.Join(nodes, ",")+`]}`, nil)
		})
	}
	require.NoError(w.b, callers.Wait())
	w.filled = len(w.all)
}

// points returns a line with a point of each series of a workspace.
func points() string {
	fields := make([]string, seriesPerWorkspace)
	for i := range fields {
		fields[i] = fmt.Sprintf("%s%d=%d.5", workspaceMetric, i, i)
	}
	return fmt.Sprintf("%s %s %d\n", workspaceSource, strings.Join(fields, ","), time.Now().UnixNano())
}

func (w *workspaces) nodes(count int) []string {
	commands := make([]string, count)
	for i := range commands {
		w.created++
		commands[i] = fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"id":%q,"name":"pump %d","entityType":"object"}}`,
			uuid.Must(uuid.NewV7()), w.created)
	}
	return commands
}

// probe sends requests of each kind to workspaces at random, and returns the 95th percentile of the latencies of each
// kind in ms.
func (w *workspaces) probe(r *record.Recorder, name string) map[string]float64 {
	w.b.Helper()
	now := time.Now()
	query := fmt.Sprintf("/api/live-data/query?interval=1m&aggregation=avg&from=%d&to=%d",
		now.Add(-time.Hour).UnixMilli(), now.Add(time.Minute).UnixMilli())
	for i := range workspaceQueried {
		query += fmt.Sprintf("&metric=%s%d", workspaceMetric, i)
	}
	kinds := []struct {
		name string
		call func(*graphTenant) error
	}{ // ingest comes last, because it adds points to those that are queried
		{"query", func(t *graphTenant) error {
			return w.send(t, http.MethodGet, query, "", "", nil)
		}},
		{"list", func(t *graphTenant) error {
			return w.send(t, http.MethodGet, "/api/queries/nodes?limit=50", "", "", nil)
		}},
		{"command", func(t *graphTenant) error {
			return w.send(t, http.MethodPost, "/api/commands/execute", "application/json", w.nodes(1)[0], nil)
		}},
		{"ingest", func(t *graphTenant) error {
			return w.send(t, http.MethodPost, "/api/live-data/ingest", "text/plain", points(), nil)
		}},
	}
	dice := rand.New(rand.NewPCG(1, uint64(len(w.all))))
	result := map[string]float64{}
	for _, kind := range kinds {
		latencies := make([]time.Duration, workspaceProbes)
		for i := range latencies {
			began := time.Now()
			require.NoError(w.b, kind.call(&w.all[dice.IntN(len(w.all))]))
			latencies[i] = time.Since(began)
		}
		median := percentile(latencies, 0.5).Seconds() * 1000
		result[kind.name] = percentile(latencies, 0.95).Seconds() * 1000
		r.Logf("%s, %s: p50 %.1f ms, p95 %.1f ms", name, kind.name, median, result[kind.name])
		r.Add(name+"/"+kind.name+"/p50", "ms", median)
		r.Add(name+"/"+kind.name+"/p95", "ms", result[kind.name])
	}
	return result
}
