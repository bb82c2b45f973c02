package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// replayed is a replay in the JSON of the command line.
type replayed struct {
	ID, State            string
	Error                *string
	Records, RecordsDone int64
	Rows                 int64
	Runs                 int
	Percent              float64
	Notes                []string
}

// replay runs `livegraph replay` with --json until it ends and returns the last line.
func (s *server) replay(args ...string) replayed {
	s.t.Helper()
	lines := strings.Split(
		strings.TrimSpace(s.CLI(append([]string{"replay", "--topic", "points", "--json"}, args...)...)), "\n",
	)
	var job replayed
	for _, line := range lines {
		job = replayed{}
		require.NoError(s.t, json.Unmarshal([]byte(line), &job), line)
	}
	return job
}

// showReplay returns the current state of a replay.
func (s *server) showReplay(id string) (job replayed) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI("replay", "show", id, "--json")), &job))
	return job
}

// storedPoints returns fingerprints of the tables of points, independent of merges.
func (s *server) storedPoints() string {
	s.t.Helper()
	var all strings.Builder
	for _, statement := range []string{
		"SELECT count(), sum(cityHash64(series, ts, value, version)) FROM points FINAL",
		"SELECT count(), sum(cityHash64(series, ts, value, version)) FROM states FINAL",
		"SELECT count(), sum(cityHash64(workspace, source, series, ts, value, text, version)) FROM latest FINAL",
		"SELECT count(), sum(cityHash64(id, workspace, source, metric, kind)) FROM series FINAL",
	} {
		all.WriteString(s.AskClickHouse(statement) + "\n")
	}
	return all.String()
}

// ingest sends the batches from (inclusive) to to (exclusive).
func (s *server) ingest(source string, from, to int) (checkpoint string) {
	s.t.Helper()
	for i := from; i < to; i++ {
		var accepted struct{ Checkpoint string }
		s.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{i}.body(source)), http.StatusCreated, &accepted)
		checkpoint = accepted.Checkpoint
	}
	return checkpoint
}

// TestReplayingTwiceLeavesEverythingAsItWas runs replays by command line, first without and then with
// concurrent ingest.
func TestReplayingTwiceLeavesEverythingAsItWas(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("mill")
	s.totals(source, map[string][]string{"checkpoint": {s.ingest(source, 0, 60)}})
	before := s.storedPoints()
	for range 2 {
		job := s.replay("--from-start")
		require.Equal(t, "done", job.State)
		require.EqualValues(t, 60, job.Records)
		require.EqualValues(t, 60*pointsInBatch, job.Rows)
		require.Equal(t, before, s.storedPoints())
	}
	require.Contains(t, s.CLI("replay", "list"), "done")

	var job replayed
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("replay", "--topic", "points", "--from-start", "--detach", "--json")), &job,
	))
	var last string
	n := 60
	for {
		last = s.ingest(source, n, n+1)
		n++
		if job = s.showReplay(job.ID); job.State == "done" {
			break
		}
		require.Less(t, n, 600, "%+v", job)
	}
	count, sum := s.totals(source, map[string][]string{"checkpoint": {last}})
	want := 0.0
	for i := range n {
		want += batch{i}.sum()
	}
	require.InDelta(t, n*pointsInBatch, count, 0)
	require.InDelta(t, want, sum, 0)
}

// TestAReplayOutlivesAKill kills the process that runs a replay; the next process continues at the
// position in the job's record.
func TestAReplayOutlivesAKill(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("lathe")
	s.totals(source, map[string][]string{"checkpoint": {s.ingest(source, 0, 40)}})
	before := s.storedPoints()

	follow := exec.Command(
		binary, "replay", "--topic", "points", "--from-start", "--max-rows", fmt.Sprint(4*pointsInBatch), "--json",
		"--data-dir", s.DataDir,
	)
	out, err := follow.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follow.Start())
	t.Cleanup(func() { _ = follow.Process.Kill(); _ = follow.Wait() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var job replayed
	for job.RecordsDone < 8 {
		require.True(t, lines.Scan(), "%+v", job)
		require.NoError(t, json.Unmarshal(lines.Bytes(), &job), lines.Text())
	}
	s.Kill()
	s.Start()
	left := s.showReplay(job.ID)
	require.Less(t, left.RecordsDone, left.Records, "it is the middle")
	deadline := time.Now().Add(90 * time.Second)
	for job = left; job.State != "done"; job = s.showReplay(job.ID) {
		require.Equal(t, "running", job.State)
		require.True(t, time.Now().Before(deadline), "%+v", job)
		time.Sleep(100 * time.Millisecond)
	}
	require.EqualValues(t, 40, job.RecordsDone)
	require.EqualValues(t, 40*pointsInBatch, job.Rows, "what was done is not done again")
	require.Equal(t, 2, job.Runs)
	require.Equal(t, before, s.storedPoints())
}

// TestReplaysOfAPartAndTheirEnd runs replays of a time range, a dry run, and a cancelled replay.
func TestReplaysOfAPartAndTheirEnd(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("press")
	s.totals(source, map[string][]string{"checkpoint": {s.ingest(source, 0, 10)}})
	middle := time.Now().UTC()
	s.totals(source, map[string][]string{"checkpoint": {s.ingest(source, 10, 30)}})

	require.Contains(
		t, s.CLI("replay", "--topic", "points", "--from-time", middle.Format(time.RFC3339Nano), "--dry-run"),
		"would read 20 records",
	)
	require.Contains(
		t, s.CLI("replay", "--topic", "points", "--from-time=1h", "--to-time", middle.Format(time.RFC3339Nano), "--dry-run"),
		"would read 10 records",
	)
	job := s.replay("--from-time", middle.Format(time.RFC3339Nano))
	require.EqualValues(t, 20, job.Records)
	require.EqualValues(t, 20*pointsInBatch, job.Rows)

	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("replay", "--topic", "points", "--from-start", "--max-rows", "10000", "--detach", "--json")), &job,
	))
	for job.RecordsDone == 0 {
		time.Sleep(50 * time.Millisecond)
		job = s.showReplay(job.ID)
	}
	s.CLI("replay", "cancel", job.ID)
	require.Eventually(t, func() bool {
		return s.showReplay(job.ID).State == "cancelled"
	}, time.Minute, 100*time.Millisecond)
	require.Less(t, s.showReplay(job.ID).RecordsDone, int64(30))

	for _, bad := range [][]string{
		{"--from-start"},
		{"--topic", "points"},
		{"--topic", "points", "--from-start", "--from-time=1h"},
		{"--topic", "graph.commands", "--from-start"},
		{"--topic", "points", "--from-time", "yesterday"},
		{"--topic", "points", "--from-offset", "0"},
		{"--topic", "points", "--from-offset", "0:1,0:2"},
		{"--topic", "points", "--from-offset", "0:999999"},
		{"--topic", "points", "--from-start", "--to-offset", "99:0"},
		{"--topic", "points", "--from-start", "--to-time", "2020-01-01T00:00:00Z"},
		{"--topic", "points", "--from-start", "--partitions", "99"},
		{"--topic", "points", "--from-start", "--partitions", "x"},
		{"--topic", "points", "--from-start", "--workspace", "nobody"},
		{"--topic", "points", "--from-start", "--workspace", "00000000-0000-4000-8000-000000000000"},
		{"--topic", "points", "--from-start", "--max-rows", "0"},
		{"list", "--limit", "0"},
		{"show", "nothing"},
		{"show", "00000000-0000-4000-8000-000000000000"},
		{"cancel", "00000000-0000-4000-8000-000000000000"},
	} {
		output, code := s.RunCLI(append([]string{"replay"}, bad...)...)
		require.NotZero(t, code, "%v: %s", bad, output)
		require.NotContains(t, output, "panic", "%v", bad)
		for _, part := range bad {
			// The message for an empty range does not name a single flag.
			empty := strings.Contains(output, "no record in this range")
			if strings.HasPrefix(part, "--") && part != "--topic" && part != "--from-start" && !empty {
				flag, _, _ := strings.Cut(part, "=")
				require.Contains(t, output, flag, "the message names the flag: %s", output)
			}
		}
	}
	var topics struct {
		Brokers []string
		Topics  []struct {
			Topic      string
			Records    int64
			Partitions []struct{ Begin, End int64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.CLI("topics", "--json")), &topics))
	require.NotEmpty(t, topics.Brokers)
	require.Len(t, topics.Topics, 8)
	require.Equal(t, "points", topics.Topics[0].Topic)
	require.EqualValues(t, 30, topics.Topics[0].Records)
	require.Len(t, topics.Topics[0].Partitions, 8)
	require.Contains(t, s.CLI("topics"), "livegraph-points")
}

// TestDeadLettersByCommandLine lists and shows records that ClickHouse refuses, redrives one after the
// cause is removed, and discards the other.
func TestDeadLettersByCommandLine(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	source := s.createSource("saw")
	s.AskClickHouse("ALTER TABLE points ADD CONSTRAINT good CHECK value < 666")
	send := func(value float64) string {
		var accepted struct{ Checkpoint string }
		s.Do("POST", "/api/live-data/ingest", map[string]any{"sourceId": source, "points": []map[string]any{
			{"metric": "m", "timestamp": epoch.UnixMilli(), "value": value},
		}}, http.StatusCreated, &accepted)
		return accepted.Checkpoint
	}
	first, second := send(666), send(667)
	s.totals(source, map[string][]string{"checkpoint": {second}}) // the watermark passes a dead letter
	count, _ := s.totals(source, map[string][]string{"checkpoint": {first}})
	require.Zero(t, count)
	a, err := s.Try("GET", "/api/live-data/query?checkpoint="+first, nil)
	require.NoError(t, err)
	require.Equal(t, "1", a.Header.Get("X-Livegraph-Dead-Lettered"))

	var list struct {
		Letters []struct {
			Topic            string
			Partition        int
			Offset           int64
			State, Reason    string
			Holds, RequestID string
			WorkspaceID      string
		}
	}
	deadLetters := func(args ...string) []string {
		list.Letters = nil
		require.NoError(t, json.Unmarshal([]byte(s.CLI(append([]string{"dlq", "list", "--json"}, args...)...)), &list))
		var references []string
		for _, l := range list.Letters {
			references = append(references, fmt.Sprintf("%s/%d/%d", l.Topic, l.Partition, l.Offset))
		}
		return references
	}
	references := deadLetters("--state", "open")
	require.Len(t, references, 2)
	require.Equal(t, s.First.WorkspaceID, list.Letters[0].WorkspaceID)
	require.Contains(t, list.Letters[0].Reason, "refused by the store")
	require.Contains(
		t, s.CLI("dlq", "list", "--workspace", s.First.WorkspaceID, "--from", "1h", "--reason-contains", "REFUSED"),
		references[0],
	)
	newest, oldest := references[0], references[1]
	shown := s.CLI("dlq", "show", newest)
	require.Contains(t, shown, source)
	require.Contains(t, shown, "667")
	require.Contains(t, shown, list.Letters[0].RequestID)
	require.NotEmpty(t, s.CLI("dlq", "show", newest, "--raw"))
	var asJSON struct {
		Decoded struct{ Series []struct{ SourceID string } }
	}
	require.NoError(t, json.Unmarshal([]byte(s.CLI("dlq", "show", newest, "--json")), &asJSON))
	require.Equal(t, source, asJSON.Decoded.Series[0].SourceID)

	s.AskClickHouse("ALTER TABLE points DROP CONSTRAINT good")
	require.Contains(t, s.CLI("dlq", "redrive", "--all", "--dry-run"), "would be redriven 2")
	require.Len(t, deadLetters("--state", "open"), 2)
	require.Contains(t, s.CLI("dlq", "discard", oldest, "--reason", "the newer one says it all"), "discarded 1")
	require.Contains(t, s.CLI("dlq", "redrive", "--topic", "points", "--reason", "the constraint is gone"), "redriven 1")
	require.Eventually(t, func() bool {
		count, sum := s.totals(source, nil)
		return count == 1 && sum == 667
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, s.CLI("dlq", "redrive", newest), "redriven already")
	require.Equal(t, []string{newest}, deadLetters("--state", "redriven"))
	require.Equal(t, []string{oldest}, deadLetters("--state", "discarded"))
	require.Contains(t, s.CLI("dlq", "list"), "discarded")
	require.Contains(t, s.CLI("dlq", "show", oldest), "the newer one says it all")

	for _, bad := range [][]string{
		{"list", "--topic", "nothing"}, {"list", "--limit", "0"}, {"list", "--limit", "1001"}, {"list", "--state", "lost"},
		{"list", "--from", "now", "--to", "2020-01-01T00:00:00Z"},
		{"list", "--from", "2020-01-02T00:00:00Z", "--to", "2020-01-01T00:00:00Z"},
		{"list", "--workspace", "00000000-0000-4000-8000-000000000000"},
		{"show", "points.dlq"}, {"show", "points.dlq/0/99999999"}, {"show", "points.dlq/99/0"}, {"show", "points.dlq/-1/0"},
		{"show", newest, "--raw", "--json"},
		{"redrive"}, {"redrive", newest, "--all"}, {"redrive", "nonsense"}, {"discard", newest}, {"discard", "--reason", "x"},
		{"discard", newest, "--reason", strings.Repeat("x", 2000)},
	} {
		output, code := s.RunCLI(append([]string{"dlq"}, bad...)...)
		require.NotZero(t, code, "%v: %s", bad, output)
		require.NotContains(t, output, "panic", "%v", bad)
	}
}
