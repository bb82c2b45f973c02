package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestABackupOfARunningSystemIsRestored takes a backup during writes of points and commands, and
// restores it into an empty data directory. An idle workspace is identical after the restore. The
// workspace under load contains everything that was acknowledged before the backup began, nothing
// twice, and its events reproduce its graph.
func TestABackupOfARunningSystemIsRestored(t *testing.T) {
	t.Parallel()
	a := newServer(t)
	a.Start()
	idle := a.newIdleWorkspace()
	load := a.startMixedLoad()
	load.waitFor(20, 100)

	batches, answers := load.acknowledged()
	dir := filepath.Join(t.TempDir(), "backup")
	began := time.Now()
	a.CLI("backup", "--to", dir)
	took := time.Since(began)
	load.end()
	before := idle.dump(a)
	output, code := a.RunCLI("backup", "--to", dir)
	require.Equal(t, 1, code)
	require.Contains(t, output, "is not empty")
	output, code = a.RunCLI("restore", "--from", dir)
	require.Equal(t, 1, code)
	require.Contains(t, output, "runs on", "a server that works is no place for a restore")
	require.Zero(t, a.Stop())
	output, code = a.RunCLI("restore", "--from", dir)
	require.Equal(t, 1, code)
	require.Contains(t, output, "is not empty")

	b := newServer(t)
	b.First = a.First
	began = time.Now()
	b.CLI("restore", "--from", dir)
	t.Logf("backup under load %s, restore %s; %d batches and %d commands were acknowledged before",
		took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), batches, len(answers))
	b.Start()
	idle.compare(b, before)
	load.requireKept(b, batches, answers)
	idle.requireUsable(b)
	require.Zero(t, b.Stop())
}

// idleWorkspace is a workspace with resources of every kind and no further writes.
type idleWorkspace struct {
	t            *testing.T
	key, revoked createdKey
	nodes        []string
	lastCommand  string
	source       string
	until        time.Time // when the last write was acknowledged
	requests     int       // number of requests with its key before until
}

// newIdleWorkspace creates the workspace and writes its content.
func (s *server) newIdleWorkspace() *idleWorkspace {
	l := &idleWorkspace{t: s.t}
	workspace := s.workspace()
	l.key, l.revoked = s.key(workspace, "--scope", "admin"), s.key(workspace, "--scope", "admin")
	s.requireSoon(l.revoked, statusAllowed, "the key works")
	s.CLI("keys", "revoke", l.revoked.ID)
	for i := range 4 {
		l.nodes = append(l.nodes, uuid.NewString())
		l.command(s, "CREATE_NODE", map[string]any{"id": l.nodes[i], "name": fmt.Sprintf("Pump %d", i),
			"entityType":  "object",
			"description": "moves cooling water\nwith a tab\tand a backslash \\N",
			"properties":  map[string]any{"power": 5.5, "ärger": []any{"%", nil}}})
	}
	for i := range 3 {
		l.command(s, "CREATE_EDGE", map[string]any{"sourceId": l.nodes[i], "targetId": l.nodes[i+1], "relationType": "feeds"})
	}
	l.command(s, "DELETE_NODE", map[string]any{"id": l.nodes[1]}) // deletes two edges as well
	l.command(s, "UNDO", nil)
	l.command(s, "DELETE_NODE", map[string]any{"id": l.nodes[3]})
	l.lastCommand = l.command(s, "UPDATE_NODE", map[string]any{"id": l.nodes[0], "name": "Compressor"})

	var source struct{ ID string }
	l.do(
		s, http.MethodPost, "/api/live-data/sources",
		map[string]any{"name": "meter", "unit": "bar", "nodeId": l.nodes[0], "tags": map[string]string{"hall": "7"}},
		http.StatusCreated, &source,
	)
	l.source = source.ID
	point := func(minute int, metric string, value any) map[string]any {
		return map[string]any{
			"sourceId": l.source, "metric": metric, "tags": map[string]string{"a": "b"},
			"timestamp": epoch.Add(time.Duration(minute) * time.Minute), "value": value,
		}
	}
	var checkpoint struct{ Checkpoint string }
	for value := range 2 { // the second overwrites the first
		var points []any
		for minute := range 90 {
			points = append(
				points, point(minute, "pressure", float64(minute)/7+float64(value)),
				point(minute, "state", fmt.Sprintf("open %d", value)),
			)
		}
		l.do(s, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": points}, http.StatusCreated, &checkpoint)
	}
	l.do(s, http.MethodDelete, "/api/live-data/points?"+url.Values{"sourceId": {l.source}, "metric": {"pressure"},
		"from": {epoch.Format(time.RFC3339)}, "to": {epoch.Add(10 * time.Minute).Format(time.RFC3339)}}.Encode(), nil, 0, nil)
	l.do(
		s, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{point(100, "pressure", 1)}},
		http.StatusCreated, &checkpoint,
	)
	l.do(
		s, http.MethodGet, "/api/live-data/query?sourceId="+l.source+"&checkpoint="+url.QueryEscape(checkpoint.Checkpoint),
		nil, http.StatusOK, nil,
	)
	l.until = time.Now()
	requests := l.requests
	require.Eventually(s.t, func() bool {
		return len(l.auditRecords(s)) >= requests
	}, time.Minute, 50*time.Millisecond, "the uses of the key are stored")
	l.requests = requests
	return l
}

// do sends a request with the workspace's key. Status 0 accepts any status below 300.
func (l *idleWorkspace) do(s *server, method, path string, body any, status int, data any) {
	l.t.Helper()
	payload := json.RawMessage(nil)
	if body != nil {
		var err error
		payload, err = json.Marshal(body)
		require.NoError(l.t, err)
	}
	a, err := s.TryAs(l.key.Key, l.key.workspace, method, path, payload)
	require.NoError(l.t, err)
	l.requests++
	if status == 0 {
		require.Less(l.t, a.Status, 300, "%s %s: %+v", method, path, a.Error)
	} else {
		require.Equal(l.t, status, a.Status, "%s %s: %+v", method, path, a.Error)
	}
	if data != nil {
		require.NoError(l.t, json.Unmarshal(a.Data, data))
	}
}

// command executes a command and returns its id.
func (l *idleWorkspace) command(s *server, kind string, payload map[string]any) string {
	l.t.Helper()
	body := map[string]any{"type": kind}
	if payload != nil {
		body["payload"] = payload
	}
	var answer struct{ CommandID string }
	l.do(s, http.MethodPost, "/api/commands/execute", body, 0, &answer)
	return answer.CommandID
}

// auditRecords returns the audit records of the key up to l.until.
func (l *idleWorkspace) auditRecords(s *server) (list []map[string]any) {
	l.do(
		s, http.MethodGet,
		"/api/admin/audit?limit=100&keyId="+l.key.ID+"&to="+url.QueryEscape(l.until.UTC().Format(time.RFC3339Nano)), nil,
		http.StatusOK, &list,
	)
	return list
}

// exportedAt matches the only member in which two exports of a graph differ.
var exportedAt = regexp.MustCompile(`"exportedAt":"[^"]*",`)

// dump reads everything that the API returns about the workspace.
func (l *idleWorkspace) dump(s *server) map[string]any {
	answers := map[string]any{"uses": l.auditRecords(s)}
	times := "&from=" + url.QueryEscape(epoch.Format(time.RFC3339)) + "&to=" + url.QueryEscape(
		epoch.AddDate(0, 1, 0).Format(time.RFC3339),
	)
	for _, path := range []string{
		"/api/queries/nodes", "/api/queries/edges", "/api/queries/history", "/api/commands/" + l.lastCommand,
		"/api/live-data/sources", "/api/live-data/series?sourceId=" + l.source,
		"/api/live-data/query?sourceId=" + l.source + times,
		"/api/live-data/query?latest=true&sourceId=" + l.source + "&from=" + url.QueryEscape(epoch.Format(time.RFC3339)),
		"/api/live-data/query?sourceId=" + l.source + "&metric=pressure&aggregation=count,sum,min,max&interval=1h" + times,
	} {
		var answer any
		l.do(s, http.MethodGet, path, nil, http.StatusOK, &answer)
		answers[path] = answer
	}
	file := filepath.Join(l.t.TempDir(), "graph.ndjson")
	s.CLI("export", "--workspace", l.key.workspace, "--output", file)
	text, err := os.ReadFile(file)
	require.NoError(l.t, err)
	answers["export"] = exportedAt.ReplaceAllString(string(text), "")
	return answers
}

// compare requires that every part of the workspace is unchanged.
func (l *idleWorkspace) compare(s *server, before map[string]any) {
	l.t.Helper()
	after := l.dump(s)
	for name, part := range before {
		want, err := json.Marshal(part)
		require.NoError(l.t, err)
		got, err := json.Marshal(after[name])
		require.NoError(l.t, err)
		require.JSONEq(l.t, string(want), string(got), name)
	}
	require.Equal(l.t, http.StatusUnauthorized, s.keyStatus(l.revoked), "a key that was revoked before stays so")
}

// requireUsable uses state that dump does not show: undo stacks, the search index and versions of
// points.
func (l *idleWorkspace) requireUsable(s *server) {
	l.t.Helper()
	name := func() string {
		var node struct{ Name string }
		l.do(s, http.MethodGet, "/api/queries/nodes/"+l.nodes[0], nil, http.StatusOK, &node)
		return node.Name
	}
	l.command(s, "UNDO", nil)
	require.Equal(l.t, "Pump 0", name())
	l.command(s, "REDO", nil)
	require.Equal(l.t, "Compressor", name())
	require.Eventually(l.t, func() bool {
		a, err := s.TryAs(
			l.key.Key, l.key.workspace, http.MethodPost, "/api/rag/hybrid-search", []byte(`{"query":"Compressor","hops":0}`),
		)
		require.NoError(l.t, err)
		return a.Status == http.StatusOK && strings.Contains(string(a.Data), l.nodes[0])
	}, time.Minute, 100*time.Millisecond, "search finds what is there")
	var checkpoint struct{ Checkpoint string }
	l.do(s, http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []any{map[string]any{
		"sourceId": l.source, "metric": "pressure", "tags": map[string]string{"a": "b"},
		"timestamp": epoch.Add(100 * time.Minute), "value": 42}}}, http.StatusCreated, &checkpoint)
	var series []struct{ Points [][]cell }
	l.do(s, http.MethodGet, "/api/live-data/query?latest=true&metric=pressure&from="+url.QueryEscape(epoch.Format(
		time.RFC3339,
	))+
		"&sourceId="+l.source+"&checkpoint="+url.QueryEscape(checkpoint.Checkpoint), nil, http.StatusOK, &series)
	require.InDelta(
		l.t, 42, series[0].Points[0][1].number, 0, "what is accepted after the restore overwrites what was before",
	)
}

// mixedLoad writes points and commands to the workspace of the first run.
type mixedLoad struct {
	s      *server
	source string
	graph  *graphLoad
	sent   atomic.Int64 // number of batches that were answered 201; they are sent in order
	stop   atomic.Bool
	work   sync.WaitGroup
}

func (s *server) startMixedLoad() *mixedLoad {
	b := &mixedLoad{s: s, source: s.createSource("busy"), graph: newGraphLoad(s, 1)}
	b.graph.start()
	b.work.Go(func() {
		for n := 0; !b.stop.Load(); n++ {
			a, err := s.Try(http.MethodPost, "/api/live-data/ingest", batch{n}.body(b.source))
			if err != nil || a.Status != http.StatusCreated {
				s.t.Errorf("batch %d was answered %d, %v", n, a.Status, err)
				return
			}
			b.sent.Store(int64(n) + 1)
		}
	})
	return b
}

// waitFor waits until at least the given numbers of batches and commands are acknowledged.
func (b *mixedLoad) waitFor(batches, commands int) {
	b.s.t.Helper()
	require.Eventually(b.s.t, func() bool {
		return int(b.sent.Load()) >= batches && len(b.graph.answered()) >= commands
	}, time.Minute, 10*time.Millisecond)
}

// acknowledged returns the number of acknowledged batches and the acknowledged commands.
func (b *mixedLoad) acknowledged() (batches int, commands []commandResult) {
	return int(b.sent.Load()), append([]commandResult(nil), b.graph.answered()...)
}

func (b *mixedLoad) end() {
	b.stop.Store(true)
	b.graph.stop()
	b.work.Wait()
}

// requireKept requires that the server contains each of these batches and commands once, and that no
// later batch is partial.
func (b *mixedLoad) requireKept(on *server, batches int, answers []commandResult) {
	t := on.t
	t.Helper()
	on.waitConsumed(b.source)
	sum := 0.0
	for n := range batches {
		sum += batch{n}.sum()
	}
	early := url.Values{"to": {epoch.Add(time.Duration(batches*pointsInSeries) * time.Second).Format(time.RFC3339)}}
	count, got := on.totals(b.source, early)
	require.InDelta(t, batches*pointsInBatch, count, 0, "what was acknowledged is there once")
	require.InDelta(t, sum, got, 0)
	all, _ := on.totals(b.source, url.Values{"metric": {"m0"}})
	require.Zero(t, int(all)%pointsInSeries, "later batches are whole or not there")
	t.Logf("%d further batches", int(all)/pointsInSeries-batches)

	reader := readEvents(on)
	defer reader.stop()
	last := (&graphLoad{s: on}).mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations())
	reader.compareAnswers(t, answers)
	compareGraphs(t, reader.fold(), listGraph(on))
}
