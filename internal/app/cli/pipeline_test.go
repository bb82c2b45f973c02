package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/test/testenv"
)

// printedReplay is a replay in JSON.
type printedReplay struct {
	ID, State, Topic, Consumer string
	Records, Rows              int64
	Partitions                 []printedPartition
}

type printedPartition struct{ Partition, From, To int64 }

// replay runs a replay until its end and returns its last state.
func (w *workspace) replay(args ...string) (last printedReplay) {
	w.t.Helper()
	printed := json.NewDecoder(strings.NewReader(w.ok(append([]string{
		"replay", "--topic", "points", "--json", "--workspace", w.id,
	}, args...)...)))
	for printed.More() {
		last = printedReplay{}
		require.NoError(w.t, printed.Decode(&last))
	}
	return last
}

// testReplaysByCommandLine reads points again, all of them and a part, and shows what was done.
func testReplaysByCommandLine(w *workspace) {
	t := w.t
	w.createSource(map[string]any{"name": "mill"})
	for i := range 3 {
		w.measure("mill", "power", i)
	}
	done := w.replay("--from-start")
	require.Equal(t, "done", done.State)
	require.EqualValues(t, 3, done.Rows)
	require.EqualValues(t, 3, w.replay("--from-time", "1h").Rows)

	followed := w.ok("replay", "--topic", "points", "--from-start", "--workspace", w.id)
	require.Regexp(t, `^replay \S{36}: \d+ records of topic points\n`, followed)
	require.Regexp(t, `(?m)^done +100\.0 %  \d+ of \d+ records, 3 rows$`, followed)
	require.Equal(t, 3, strings.Count(w.ok(w.in("query", "--source", "mill")...), " power "), "nothing is there twice")

	detached := w.ok("replay", "--topic", "points", "--from-start", "--workspace", w.id, "--max-rows", "1000", "--detach")
	require.Contains(t, detached, "of workspace "+w.id+" only")
	id := strings.Fields(detached)[1]
	w.eventually(func() bool {
		return decode[printedReplay](t, w.ok("replay", "show", id, "--json")).State == "done"
	})
	require.Regexp(t, `^replay `+id+` of topic points: done\ndone +100\.0 %.*\n`+
		`requested by cli \(\S+\) at \S+, started 1 time\n`, w.ok("replay", "show", id))
	require.Regexp(t, `(?m)^`+id+` +points +done +100\.0 % +\d+ +3 +\S+ +cli \(\S+\)$`, w.ok("replay", "list"))
	require.Len(t, decode[[]printedReplay](t, w.ok("replay", "list", "--limit", "2", "--json")), 2)

	whole := w.replay("--from-start", "--dry-run")
	require.Equal(t, "points", whole.Consumer)
	nonEmpty := slices.IndexFunc(whole.Partitions, func(p printedPartition) bool { return p.To > p.From })
	part := whole.Partitions[nonEmpty]
	require.Equal(t, []printedPartition{part}, w.replay(
		"--from-offset", fmt.Sprintf("%d:%d", part.Partition, part.From),
		"--to-offset", fmt.Sprintf("%d:%d", part.Partition, part.To), "--dry-run",
	).Partitions)
	require.Regexp(t, `^would read \d+ records? of topic points again, for consumer points:\nPARTITION +FROM`,
		w.ok("replay", "--topic", "points", "--from-start", "--dry-run"))
	require.Contains(t, w.bad("replay", "cancel", id), "done")
	testReplayCancelled(w)
	testReplayRefusals(w)
}

// testReplayCancelled cancels a replay that runs and would take a quarter of an hour: after each record of 100 points
// it waits for 100 seconds. There are more records than it reads before it stores them.
func testReplayCancelled(w *workspace) {
	points := make([]any, 100)
	for i := range points {
		points[i] = map[string]any{"source": "mill", "metric": "speed", "value": i, "timestamp": int64(i)}
	}
	for range 10 {
		w.do(http.MethodPost, "/api/live-data/ingest", map[string]any{"points": points}, http.StatusCreated, nil)
	}
	started := decode[printedReplay](w.t, w.ok(
		"replay", "--topic", "points", "--from-start", "--workspace", w.id, "--max-rows", "1", "--detach", "--json",
	))
	for _, state := range []string{"running", "cancelled"} {
		w.eventually(func() bool {
			return decode[printedReplay](w.t, w.ok("replay", "show", started.ID, "--json")).State == state
		})
		require.Contains(w.t, w.ok("replay", "cancel", started.ID), "of topic points: ", "which may be repeated")
	}
}

func testReplayRefusals(w *workspace) {
	nobody := uuid.NewString()
	start := func(args ...string) []string { return append([]string{"replay", "--topic", "points"}, args...) }
	for message, args := range map[string][]string{
		"--topic":                              {"replay", "--from-start"},
		"exactly one of the start, a time, or": start(),
		"can't be used together":               start("--from-start", "--from-time=1h"),
		"--topic: ":                            {"replay", "--topic", "graph.commands", "--from-start"},
		"--from-time: ":                        start("--from-time", "yesterday"),
		"is not PARTITION:OFFSET":              start("--from-offset", "0"),
		"partition 0 is named twice":           start("--from-offset", "0:1,0:2"),
		"--from-offset: ":                      start("--from-offset", "0:999999"),
		"--to-offset: ":                        start("--from-start", "--to-offset", "99:0"),
		"no record in this range":              start("--from-start", "--to-time", "2020-01-01T00:00:00Z"),
		"--partitions: ":                       start("--from-start", "--partitions", "99"),
		"--workspace: ":                        start("--from-start", "--workspace", nobody),
		"--max-rows: ":                         start("--from-start", "--max-rows", "0"),
		"--limit: must be from 1 to":           {"replay", "list", "--limit", "0"},
		`"nothing" is not a UUID`:              {"replay", "show", "nothing"},
		"there is no replay " + nobody:         {"replay", "show", nobody},
	} {
		require.Contains(w.t, w.bad(args...), message, "%v", args)
	}
}

// testTopicsByCommandLine lists the topics.
func testTopicsByCommandLine(w *workspace) {
	t := w.t
	w.createSource(map[string]any{"name": "mill"})
	w.measure("mill", "power", 1)
	var topics struct {
		Brokers []string
		Topics  []struct {
			Topic      string
			Records    int64
			Partitions []struct{ Begin, End int64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(w.ok("topics", "--json")), &topics))
	require.Len(t, topics.Topics, 8)
	require.Equal(t, "points", topics.Topics[0].Topic)
	require.Positive(t, topics.Topics[0].Records)
	require.Len(t, topics.Topics[0].Partitions, 8)
	table := w.ok("topics")
	require.Contains(t, table, "brokers "+strings.Join(topics.Brokers, ",")+"\n")
	require.Regexp(t, `(?m)^points +all +\d+ +.*\(kept: .*\) +livegraph-points +\d+$`, table)
	require.Regexp(t, `(?m)^graph\.events +all .* livegraph-lexical,livegraph-embeddings `, table)
	require.Regexp(t, `(?m)^ +all +livegraph-embeddings +\d+$`, table, "each of several readers has rows")
}

// testDeadLettersByCommandLine lists and shows records that ClickHouse refuses, redrives one after the cause is
// removed, and discards the other.
func testDeadLettersByCommandLine(w *workspace) {
	t := w.t
	source := w.createSource(map[string]any{"name": "saw"})
	running, err := runfile.Read(w.dataDir)
	require.NoError(t, err)
	testenv.QueryClickHouse(t, running.ClickHouseURL, "ALTER TABLE points ADD CONSTRAINT good CHECK value != 12345.5 AND "+
		"value != 12346.5")
	w.measure("saw", "speed", 12345.5)
	w.measure("saw", "speed", 12346.5)
	require.Contains(t, w.ok(w.in("query", "--source", "saw")...), "no points")

	open := w.deadLetters("--state", "open")
	require.Len(t, open, 2)
	newest, oldest := open[0], open[1]
	list := w.ok("dlq", "list", "--workspace", w.id, "--from", "1h", "--topic", "points", "--reason-contains", "REFUSED")
	require.Regexp(t, `(?m)^`+newest+` +\S+Z +open +`+w.id+` +.*refused by the store`, list)
	require.Contains(t, w.ok(w.in("dlq", "list", "--limit", "1")...), "and 1 older dead letter: narrow the filter")
	shown := w.ok("dlq", "show", newest)
	require.Regexp(t, `(?m)^dead letter +`+newest+`\nstate +open\nreason +.*refused by the store`, shown)
	require.Contains(t, shown, source)
	require.Contains(t, shown, "12346.5")
	asJSON := decode[struct{ Key, Value string }](t, w.ok("dlq", "show", newest, "--json"))
	value, err := base64.StdEncoding.DecodeString(asJSON.Value)
	require.NoError(t, err)
	require.Equal(t, string(value), w.ok("dlq", "show", newest, "--raw"))

	testenv.QueryClickHouse(t, running.ClickHouseURL, "ALTER TABLE points DROP CONSTRAINT good")
	require.Contains(t, w.ok(w.in("dlq", "redrive", "--dry-run")...), "would be redriven 2\n")
	require.Len(t, w.deadLetters("--state", "open"), 2, "a dry run does nothing")
	require.Contains(t, w.ok("dlq", "discard", oldest, "--reason", "the newer one is enough"), "discarded 1\n")
	redriven := decode[struct{ Counts map[string]int }](t, w.ok(w.in("dlq", "redrive", "--reason", "gone", "--json")...))
	require.Equal(t, map[string]int{"redriven": 1}, redriven.Counts)
	w.eventually(func() bool {
		return strings.Contains(w.ok(w.in("query", "--source", "saw")...), " 12346.5\n")
	})
	require.Contains(t, w.ok("dlq", "redrive", newest), "redriven already")
	require.Equal(t, []string{newest}, w.deadLetters("--state", "redriven"))
	require.Equal(t, []string{oldest}, w.deadLetters("--state", "discarded"))
	require.Regexp(t, `(?m)^state +discarded, by cli \(\S+\) at \S+Z: the newer one is enough$`,
		w.ok("dlq", "show", oldest))
	require.Equal(t, "no dead letter is selected\n", w.ok(w.in("dlq", "redrive", "--topic", "graph.commands")...))
	testDeadLetterRefusals(w, newest)
}

// deadLetters returns the dead letters of the workspace that the flags select, the newest first.
func (w *workspace) deadLetters(flags ...string) (references []string) {
	w.t.Helper()
	list := decode[struct {
		Letters []struct {
			Topic             string
			Partition, Offset int64
			WorkspaceID       string
		}
	}](w.t, w.ok(w.in(append([]string{"dlq", "list", "--json"}, flags...)...)...))
	for _, l := range list.Letters {
		require.Equal(w.t, w.id, l.WorkspaceID)
		references = append(references, fmt.Sprintf("%s/%d/%d", l.Topic, l.Partition, l.Offset))
	}
	return references
}

func testDeadLetterRefusals(w *workspace, letter string) {
	for message, args := range map[string][]string{
		"--topic: ":                       {"list", "--topic", "nothing"},
		"--limit: must be from 1 to 1000": {"list", "--limit", "0"},
		"--state: ":                       {"list", "--state", "lost"},
		"--from: ":                        {"list", "--from", "soon"},
		"--to: ":                          {"list", "--from", "1h", "--to", "2020-01-01T00:00:00Z"},
		"TOPIC/PARTITION/OFFSET":          {"show", "points.dlq"},
		"points.dlq/0/99999999":           {"show", "points.dlq/0/99999999"},
		"can't be used together":          {"show", letter, "--raw", "--json"},
		"select them by --topic":          {"redrive"},
		"by flags, not both":              {"redrive", letter, "--all"},
		"such as points.dlq":              {"redrive", "nonsense"},
		"missing flags: --reason":         {"discard", letter},
		"--reason: ":                      {"discard", letter, "--reason", strings.Repeat("x", 2000)},
	} {
		require.Contains(w.t, w.bad(append([]string{"dlq"}, args...)...), message, "%v", args)
	}
}

// testAuditByCommandLine finds a refused request of the workspace's key.
func testAuditByCommandLine(w *workspace) {
	t := w.t
	w.do(http.MethodGet, "/api/queries/nodes/"+uuid.NewString(), nil, http.StatusNotFound, nil)
	w.do(http.MethodGet, "/api/queries/nodes", nil, http.StatusOK, nil)
	type entry struct {
		RequestID, Route, Method string
		Status                   int
		KeyID                    uuid.UUID
	}
	var found []entry
	w.eventually(func() bool {
		found = decode[[]entry](t, w.ok(w.in("audit", "--json", "--from", "1h")...))
		return len(found) == 2
	})
	refused := decode[[]entry](t, w.ok(w.in("audit", "--json", "--status", "4xx", "--key", found[0].KeyID.String(),
		"--ip", "127.0.0.1", "--to", "2100-01-01T00:00:00Z", "--route", "/api/queries/*", "--limit", "0")...))
	require.Len(t, refused, 1)
	require.Equal(t, http.StatusNotFound, refused[0].Status)
	require.Regexp(t, `(?m)^\S+ \S+ +`+found[0].KeyID.String()+` +GET +/api/queries/nodes/\S+ +404 +127\.0\.0\.1 +`+
		`\d+\.\d +1 +`+refused[0].RequestID+`$`, w.ok("audit", "--request-id", refused[0].RequestID))
	text := w.ok(w.in("audit", "--csv")...)
	require.Equal(t, 3, strings.Count(text, "\n"), text)
	require.Contains(t, text, refused[0].RequestID)
	require.Equal(t, 1, strings.Count(w.ok(w.in("audit", "--csv", "--limit", "1")...), "GET"))
	for message, args := range map[string][]string{
		"--limit: must not be below zero":              {"audit", "--limit=-1"},
		`"teapot" is neither a status such as 403 nor`: {"audit", "--status", "teapot"},
		`"home" is not an IP address`:                  {"audit", "--ip", "home"},
		"can't be used together":                       {"audit", "--csv", "--json"},
	} {
		require.Contains(t, w.bad(args...), message, "%v", args)
	}
}
