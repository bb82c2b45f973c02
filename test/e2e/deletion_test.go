package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// TestDeletedPointsNeverComeBack deletes a time range from ingested points, writes to it again, and
// consumes the whole log a second time.
func TestDeletedPointsNeverComeBack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source, other := s.createSource("turbine"), s.createSource("boiler")
	send := func(n int, source string) (checkpoint string) {
		var accepted struct{ Checkpoint string }
		s.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{n}.body(source)), http.StatusCreated, &accepted)
		return accepted.Checkpoint
	}
	for n := range 4 {
		send(n, source)
		send(n, other)
	}
	at := func(n int) string {
		return epoch.Add(time.Duration(n*pointsInSeries) * time.Second).Format(time.RFC3339)
	}
	remove := func(params string) (checkpoint string) {
		var answer struct{ Checkpoint string }
		s.Do("DELETE", "/api/live-data/points?sourceId="+source+params, nil, http.StatusAccepted, &answer)
		return answer.Checkpoint
	}
	latest := func(checkpoint string) (points int, newest string) {
		var rows []struct{ Points [][]cell }
		s.Do(
			"GET", "/api/live-data/query?latest=true&metric=m0&sourceId="+source+"&checkpoint="+url.QueryEscape(checkpoint), nil,
			http.StatusOK, &rows,
		)
		if len(rows) == 0 || len(rows[0].Points) == 0 {
			return 0, ""
		}
		return 1, rows[0].Points[0][0].text
	}
	count := func(checkpoint string) float64 {
		n, _ := s.totals(source, url.Values{"checkpoint": {checkpoint}})
		return n
	}
	require.InDelta(t, 3*pointsInBatch, count(remove("&from="+at(1)+"&to="+at(2))), 0, "a stretch of time")
	_, newest := latest(remove("&from=" + at(3)))
	require.Equal(
		t, epoch.Add((2*pointsInSeries+pointsInSeries-1)*time.Second).Format(time.RFC3339), newest,
		"the newest that stands is the latest again",
	)
	require.InDelta(t, 2*pointsInBatch-100, count(remove("&metric=m7&to="+at(1))), 0, "of one metric")
	checkpoint := send(1, source) // again, where it was deleted
	remove("&from=" + at(3))      // again, where nothing is
	want := float64(3*pointsInBatch - 100)
	require.InDelta(t, want, count(checkpoint), 0)

	var series []struct {
		Metric              string
		Count               float64
		FirstSeen, LastSeen time.Time
	}
	s.Do("GET", "/api/live-data/series?sourceId="+source+"&metric=m7&metric=m8", nil, http.StatusOK, &series)
	require.Equal(t, []float64{200, 300}, []float64{series[0].Count, series[1].Count})
	require.Equal(t, at(1), series[0].FirstSeen.Format(time.RFC3339))
	require.Equal(t, at(0), series[1].FirstSeen.Format(time.RFC3339))

	dump := func() string {
		return s.AskClickHouse("SELECT count(), sum(cityHash64(series, ts, value, version)) FROM points FINAL")
	}
	// Queries exclude deleted points immediately; the rows are deleted from the tables later.
	stored := strconv.Itoa(int(want) + 4*pointsInBatch)
	require.Eventually(t, func() bool { return s.AskClickHouse("SELECT count() FROM points FINAL") == stored },
		time.Minute, 20*time.Millisecond)
	before := dump()
	require.Zero(t, s.Stop())
	s.Args = append(s.Args, "--points-group", "second-reading")
	s.Start()
	s.waitConsumed(source)
	s.waitConsumed(other)
	probes := "SELECT count(), sum(cityHash64(series, ts, value, version)) FROM points FINAL " +
		"WHERE series NOT IN (SELECT id FROM series WHERE metric = 'probe')"
	require.Equal(t, before, s.AskClickHouse(probes))
	require.InDelta(t, want+1, count(""), 1)
	n, _ := s.totals(other, nil)
	require.InDelta(t, 4*pointsInBatch, n, 1, "another source is as it was")

	_, none := latest(remove(""))
	require.Empty(t, none, "all of it")
}

// TestADeletedWorkspaceIsRemovedThoughTheServerIsKilled deletes one of two workspaces with the same
// content, kills the server during the deletion, and compares.
func TestADeletedWorkspaceIsRemovedThoughTheServerIsKilled(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s := newServer(t)
	s.Start()
	var deleted struct{ ID string }
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("workspaces", "create", "--name", "gone", "--plan", "enterprise", "--json")), &deleted,
	))
	var key struct{ Key string }
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("keys", "create", "--workspace", deleted.ID, "--name", "k", "--scope", "admin", "--json")), &key,
	))
	s.fill(s.First.AdminKey, s.First.WorkspaceID)
	s.fill(key.Key, deleted.ID)
	kept := s.contents(s.First.WorkspaceID)
	require.NotEmpty(t, strings.Trim(s.contents(deleted.ID), "0\n"))

	output, code := s.RunCLI("workspaces", "delete", deleted.ID)
	require.Equal(t, 1, code)
	require.Contains(t, output, "--yes", "nobody can be asked here")
	s.CLI("workspaces", "delete", deleted.ID, "--yes", "--no-wait")
	closed := time.Now()
	require.Eventually(t, func() bool {
		a, err := s.TryAs(key.Key, deleted.ID, "GET", "/api/live-data/sources", nil)
		return err == nil && a.Status == http.StatusForbidden && a.Error.Message == "Workspace access denied"
	}, time.Minute, 20*time.Millisecond)
	t.Logf("the key was refused after %s", time.Since(closed).Round(time.Millisecond))
	for range 2 {
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond) // a random moment, not a synchronisation
		s.Kill()
		s.Start()
	}
	printed := s.CLI("workspaces", "delete", deleted.ID, "--yes")
	require.Contains(t, printed, "is deleted")
	require.Empty(t, strings.Trim(s.contents(deleted.ID), "0\n"))
	require.Equal(t, kept, s.contents(s.First.WorkspaceID))

	require.Zero(t, s.Stop())
	s.Args = append(s.Args, "--points-group", "second-reading")
	s.Start()
	s.waitConsumed(s.createSource("probe"))
	require.Equal(t, kept, s.contents(s.First.WorkspaceID))
	require.Empty(t, strings.Trim(s.contents(deleted.ID), "0\n"), "reading the log again brings nothing back")
	a, err := s.TryAs(key.Key, deleted.ID, "GET", "/api/live-data/sources", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, a.Status)
	require.Contains(t, s.CLI("workspaces", "delete", deleted.ID, "--json"), `"deleted": true`)
}

// fill writes the same points and graph to any workspace.
func (s *server) fill(key, workspace string) {
	s.t.Helper()
	post := func(path string, body []byte, status int, into any) {
		a, err := s.TryAs(key, workspace, "POST", path, body)
		require.NoError(s.t, err)
		require.Equal(s.t, status, a.Status, "%s: %+v", path, a.Error)
		if into != nil {
			require.NoError(s.t, json.Unmarshal(a.Data, into))
		}
	}
	var checkpoint struct{ Checkpoint string }
	for n := range 4 {
		var source struct{ ID string }
		post("/api/live-data/sources", fmt.Appendf(nil, `{"name":"s%d"}`, n), http.StatusCreated, &source)
		for b := range 4 {
			post("/api/live-data/ingest", batch{b}.body(source.ID), http.StatusCreated, &checkpoint)
		}
		var commands []string
		for i := range 250 {
			commands = append(commands, fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"name":"n%d","entityType":"object"}}`, i))
		}
		post("/api/commands/batch", []byte(`{"commands":[`+strings.Join(commands, ",")+`]}`), http.StatusOK, nil)
		a, err := s.TryAs(
			key, workspace, "GET",
			"/api/live-data/query?sourceId="+source.ID+"&checkpoint="+url.QueryEscape(checkpoint.Checkpoint), nil,
		)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusOK, a.Status)
	}
}

// contents returns a fingerprint of a workspace's rows in ClickHouse, one line per table.
func (s *server) contents(workspace string) string {
	s.t.Helper()
	var lines []string
	for _, from := range []string{
		"points FINAL WHERE series IN (SELECT id FROM series WHERE workspace = '%[1]s' AND metric != 'probe')",
		"latest FINAL WHERE workspace = '%[1]s' AND series NOT IN (SELECT id FROM series WHERE metric = 'probe')",
	} {
		lines = append(lines, s.AskClickHouse(fmt.Sprintf("SELECT sum(cityHash64(*)) FROM "+from, workspace)))
	}
	return strings.Join(lines, "\n") + "\n"
}
