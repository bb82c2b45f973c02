package contract_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

// deadLetter is a dead letter as the admin UI sees it.
type deadLetter struct {
	Topic       string
	Partition   int32
	Offset      int64
	Reason      string
	Holds       string
	State       string
	WorkspaceID *string
	Mark        *struct{ State, By, Reason string }
}

func (l deadLetter) path() string {
	return fmt.Sprintf("%s/%s/%d/%d", deadLettersPath, l.Topic, l.Partition, l.Offset)
}

func (l deadLetter) recordRef() string {
	return fmt.Sprintf(`{"topic":%q,"partition":%d,"offset":%d}`, l.Topic, l.Partition, l.Offset)
}

// actionResult is the result of an action on dead letters.
type actionResult struct {
	Outcomes []struct {
		deadLetter
		Fate, Why string
	}
	Counts                           struct{ Would, Redriven, Discarded, Skipped int64 }
	Scanned, Total, Skipped, Matched int64
	NextCursor                       *string
}

// deadLetters lists dead letters.
func (d *pipelineTest) deadLetters(t *testing.T, query string) (list []deadLetter, a *contract.Answer) {
	t.Helper()
	a = d.Get(t, deadLettersPath+query, &list)
	return list, a
}

// createDeadLetters makes ClickHouse refuse a value, ingests points with it, and waits for
// count dead letters. It returns the id of the source.
func (d *pipelineTest) createDeadLetters(t *testing.T, count int) (source string) {
	t.Helper()
	d.alterPoints(t, "ADD CONSTRAINT good CHECK value != 666")
	made := decode[struct{ ID string }](
		t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Body: `{"name":"pump"}`}),
		201,
	)
	for n := range count {
		body := fmt.Sprintf(
			`{"sourceId":%q,"metric":"m","points":[{"timestamp":%d,"value":666},{"timestamp":%d,"value":666}]}`, made.ID, 1000*n,
			1000*n+1,
		)
		decode[any](
			t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/ingest", Body: body}), 201,
		)
	}
	eventually(t, "they are dead letters", func() bool {
		_, a := d.deadLetters(t, "?state=open&limit=1")
		return a.Meta.Total == int64(count)
	})
	return made.ID
}

func (d *pipelineTest) alterPoints(t *testing.T, change string) {
	t.Helper()
	table := d.pipeline.Points.Layout().Stored("points")
	testenv.QueryClickHouse(t, d.pipeline.ClickHouseURL, "ALTER TABLE "+table+" "+change)
}

// acceptValue makes ClickHouse accept the value again.
func (d *pipelineTest) acceptValue(t *testing.T) {
	t.Helper()
	d.alterPoints(t, "DROP CONSTRAINT good")
}

// countPoints returns the number of points that a query of the source returns.
func (d *pipelineTest) countPoints(t *testing.T, source string) (count int) {
	t.Helper()
	var found []struct{ Points []any }
	d.Server.Get(t, "/api/live-data/query?from=1970-01-01T00:00:00Z&sourceId="+source, &found)
	for _, series := range found {
		count += len(series.Points)
	}
	return count
}

// apply sends an action on dead letters that must be answered with 200.
func (d *pipelineTest) apply(t *testing.T, what, body string) (done actionResult) {
	t.Helper()
	d.Send(t, http.MethodPost, deadLettersPath+"/"+what, body, http.StatusOK, &done)
	return done
}

func TestADeadLetterIsFoundShownAndPutBack(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
	source := d.createDeadLetters(t, 2)
	list, a := d.deadLetters(
		t, "?topic=points&workspaceId="+d.Server.Workspace.String()+"&reason=REFUSED&from=2026-01-01T00:00:00Z",
	)
	require.Len(t, list, 2)
	require.EqualValues(t, 2, a.Meta.Total)
	require.Equal(t, []string{"points.dlq", "2 points of 1 series", "open", d.Server.Workspace.String()},
		[]string{list[0].Topic, list[0].Holds, list[0].State, *list[0].WorkspaceID})
	for query, count := range map[string]int{
		"?topic=points.dlq,audit": 2, "?topic=graph.commands": 0, "?state=redriven,discarded": 0,
		"?workspaceId=" + d.Server.NewWorkspace(t, "live").String(): 0,
		"?to=2026-01-01T00:00:00Z":                                  0, "?reason=nothing": 0, "?limit=1": 1,
		"?limit=1&offset=1": 1, "?offset=2": 0, "?offset=7": 0,
	} {
		found, _ := d.deadLetters(t, query)
		require.Len(t, found, count, query)
	}
	var shown struct {
		deadLetter
		Decoded struct {
			Series []struct {
				Metric string
				Points [][2]any
			}
		}
		Headers    map[string]string
		Key, Value string
	}
	d.Get(t, list[0].path(), &shown)
	require.Equal(t, "m", shown.Decoded.Series[0].Metric)
	require.InDelta(t, 666, shown.Decoded.Series[0].Points[0][1], 0)
	value, err := base64.StdEncoding.DecodeString(shown.Value)
	require.NoError(t, err)
	require.NoError(t, pointblock.Decode(value, &pointblock.Record{}))

	var topics []struct {
		Topic   string
		Records int64
		Lag     *int64
		Readers []struct {
			Group      string
			Lag        int64
			Partitions []struct{ Committed *int64 }
		}
		Partitions  []struct{}
		DeadLetters *struct{ Open, Redriven, Discarded int64 }
	}
	d.Get(t, "/admin/api/topics", &topics)
	require.Len(t, topics, 8)
	require.Equal(t, "points", topics[0].Topic)
	require.NotNil(t, topics[0].Lag)
	require.Len(t, topics[0].Readers, 1)
	require.Equal(t, "desk-points", topics[0].Readers[0].Group)
	require.Nil(t, topics[1].Lag, "nobody of ours reads dead letters")
	require.Empty(t, topics[1].Readers)
	require.Equal(t, "graph.events", topics[4].Topic)
	require.NotNil(t, topics[4].Lag)
	require.Len(t, topics[4].Readers, 2)
	for i, group := range []string{"desk-lexical", "desk-embeddings"} {
		require.Equal(t, group, topics[4].Readers[i].Group)
		require.Len(t, topics[4].Readers[i].Partitions, len(topics[4].Partitions))
	}
	require.Nil(t, topics[0].DeadLetters)
	require.EqualValues(t, 2, topics[1].DeadLetters.Open)

	one := `{"places":[` + list[0].recordRef() + `],"reason":"the store was wrong"`
	dry := d.apply(t, "redrive", one+`,"dryRun":true}`)
	require.EqualValues(t, 1, dry.Counts.Would)
	require.Equal(t, "would", dry.Outcomes[0].Fate)
	require.Zero(t, d.countPoints(t, source), "a dry run does nothing")
	d.acceptValue(t)
	require.EqualValues(t, 1, d.apply(t, "redrive", one+`}`).Counts.Redriven)
	eventually(t, "what was put back is stored", func() bool { return d.countPoints(t, source) == 2 })
	again := d.apply(t, "redrive", one+`}`)
	require.EqualValues(t, 1, again.Counts.Skipped)
	require.Contains(t, again.Outcomes[0].Why, "redriven already, by operator "+contract.OperatorName)
	marked, _ := d.deadLetters(t, "?state=redriven")
	require.Len(t, marked, 1)
	require.Equal(t, "the store was wrong", marked[0].Mark.Reason)
	require.EqualValues(t, 1, d.apply(t, "redrive", one+`,"again":true}`).Counts.Redriven, "unless it is wanted")

	other := `{"places":[` + list[1].recordRef() + `],"reason":"not worth it"}`
	require.EqualValues(t, 1, d.apply(t, "discard", other).Counts.Discarded)
	open, _ := d.deadLetters(t, "?state=open")
	require.Empty(t, open)
	require.EqualValues(t, 0, d.apply(t, "redrive", `{"filter":{}}`).Matched, "what is open is all that a filter means")
	eventually(t, "nothing comes back", func() bool { return d.countPoints(t, source) == 2 })
}

// A dead letter that cannot be decoded is shown with the problem, and is not redriven.
func TestADeadLetterThatCannotBeReadIsShownAndStays(t *testing.T) {
	t.Parallel()
	d := startPipeline(t, false)
	client, err := kgo.NewClient(d.pipeline.Kafka.Opts(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(
		t,
		client.ProduceSync(t.Context(), &kgo.Record{
			Topic: "points", Partition: 1, Key: []byte("<k>"), Value: []byte("no point block"),
		}).FirstErr(),
	)
	var list []deadLetter
	eventually(t, "it is a dead letter", func() bool {
		list, _ = d.deadLetters(t, "")
		return len(list) == 1
	})
	require.Nil(t, list[0].WorkspaceID)
	var shown struct {
		Decoded    struct{ Problem string }
		Key, Value string
	}
	d.Get(t, list[0].path(), &shown)
	require.NotEmpty(t, shown.Decoded.Problem)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("no point block")), shown.Value)
	result := d.apply(t, "redrive", `{"filter":{"topics":["points"]}}`)
	require.EqualValues(t, 1, result.Counts.Skipped)
	require.Contains(t, result.Outcomes[0].Why, "cannot be read")
}

// Many dead letters are processed in several requests, each of which returns a cursor for the next.
func TestManyDeadLettersAreProcessedInPortions(t *testing.T) {
	t.Parallel()
	const letters = 1200 // more than one portion
	d := startPipeline(t, true)
	source := d.createDeadLetters(t, 1)
	first, _ := d.deadLetters(t, "")
	d.duplicate(t, first[0], letters-1)
	eventually(t, "all are there", func() bool {
		_, a := d.deadLetters(t, "?limit=1")
		return a.Meta.Total == letters
	})
	d.acceptValue(t)
	for _, c := range []struct {
		what, body string
		count      func(actionResult) int64
	}{
		{"redrive", `"filter":{"topics":["points"]},"dryRun":true`, func(a actionResult) int64 { return a.Counts.Would }},
		{"redrive", `"filter":{"topics":["points"]}`, func(a actionResult) int64 { return a.Counts.Redriven }},
		{"discard", `"filter":{"topics":["points"]},"again":true,"reason":"done with"`, func(a actionResult) int64 {
			return a.Counts.Discarded
		}},
	} {
		total, requests, cursor := int64(0), 0, ""
		for {
			done := d.apply(t, c.what, `{`+c.body+cursor+`}`)
			total += c.count(done)
			requests++
			require.LessOrEqual(t, requests, letters, "each request gets on")
			require.Equal(t, done.Total > done.Scanned, done.NextCursor != nil)
			if done.NextCursor == nil {
				break
			}
			cursor = `,"cursor":"` + *done.NextCursor + `"`
		}
		require.EqualValues(t, letters, total, "%s %s", c.what, c.body)
		require.Greater(t, requests, 1)
	}
	eventually(t, "they are stored", func() bool { return d.countPoints(t, source) == 2 })
	a := d.Do(t, contract.Request{
		Method: http.MethodPost, Path: deadLettersPath + "/redrive", Body: `{"filter":{},"cursor":"x"}`,
	})
	a.RequireFailure(t, 400, validation, "", map[string]any{"field": "cursor"})
}

// duplicate produces the record of a dead letter the given number of times.
func (d *pipelineTest) duplicate(t *testing.T, l deadLetter, times int) {
	t.Helper()
	var shown struct {
		Headers    map[string]string
		Key, Value []byte
	}
	d.Get(t, l.path(), &shown)
	client, err := kgo.NewClient(d.pipeline.Kafka.Opts(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	require.NoError(t, err)
	defer client.Close()
	records := make([]*kgo.Record, times)
	for i := range records {
		records[i] = &kgo.Record{Topic: l.Topic, Partition: int32(i % 4), Key: shown.Key, Value: shown.Value}
		for name, value := range shown.Headers {
			records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		}
	}
	require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())
}
