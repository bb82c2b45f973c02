package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/api/admin/desk"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/testenv"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/contract"
)

const (
	lettersPath = "/admin/api/dead-letters"
	replaysPath = "/admin/api/replays"
	deskReindex = "/admin/api/indexes/reindex"
)

// deskTest is an operator before a pipeline at work.
type deskTest struct {
	*contract.Operator
	desk *contract.Desk
	live *contract.LiveData
}

// startDesk starts one. Each request about letters does one portion, if brief says so.
func startDesk(t *testing.T, brief bool) *deskTest {
	t.Helper()
	d := &deskTest{desk: &contract.Desk{}, live: &contract.LiveData{}}
	if brief {
		d.desk.Change = func(deps *desk.Deps) { deps.BulkTime = time.Nanosecond }
	}
	live := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		d.live.Log, d.live.Points = d.desk.Log, d.desk.Points
		return d.live.Group(t, s)
	}
	page := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		return (&contract.Administration{Records: d.desk.Points}).Group(t, s)
	}
	s := contract.Start(t, d.desk.Group, live, page)
	d.Operator = s.Login(t)
	return d
}

// letter is a dead letter as the page sees it.
type letter struct {
	Topic       string
	Partition   int32
	Offset      int64
	Reason      string
	Holds       string
	State       string
	WorkspaceID *string
	Mark        *struct{ State, By, Reason string }
}

func (l letter) path() string {
	return fmt.Sprintf("%s/%s/%d/%d", lettersPath, l.Topic, l.Partition, l.Offset)
}

func (l letter) place() string {
	return fmt.Sprintf(`{"topic":%q,"partition":%d,"offset":%d}`, l.Topic, l.Partition, l.Offset)
}

// acted is what became of letters.
type acted struct {
	Outcomes []struct {
		letter
		Fate, Why string
	}
	Counts                           struct{ Would, Redriven, Discarded, Skipped int64 }
	Scanned, Total, Skipped, Matched int64
	NextCursor                       *string
}

// letters lists dead letters.
func (d *deskTest) letters(t *testing.T, query string) (list []letter, a *contract.Answer) {
	t.Helper()
	a = d.Get(t, lettersPath+query, &list)
	return list, a
}

// refused has the store refuse a value, and ingests points with it until as many letters
// are there.
func (d *deskTest) refused(t *testing.T, count int) (source string) {
	t.Helper()
	testenv.AskClickHouse(t, d.desk.Store, "ALTER TABLE points ADD CONSTRAINT good CHECK value != 666")
	made := decode[struct{ ID string }](t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Body: `{"name":"pump"}`}), 201)
	for n := range count {
		body := fmt.Sprintf(`{"sourceId":%q,"metric":"m","points":[{"timestamp":%d,"value":666},{"timestamp":%d,"value":666}]}`, made.ID, 1000*n, 1000*n+1)
		decode[any](t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/ingest", Body: body}), 201)
	}
	eventually(t, "they are dead letters", func() bool {
		_, a := d.letters(t, "?state=open&limit=1")
		return a.Meta.Total == int64(count)
	})
	return made.ID
}

// heal has the store take the value.
func (d *deskTest) heal(t *testing.T) {
	t.Helper()
	testenv.AskClickHouse(t, d.desk.Store, "ALTER TABLE points DROP CONSTRAINT good")
}

// stored counts the points of a source that a query sees.
func (d *deskTest) stored(t *testing.T, source string) (count int) {
	t.Helper()
	var found []struct{ Points []any }
	d.Server.Get(t, "/api/live-data/query?from=1970-01-01T00:00:00Z&sourceId="+source, &found)
	for _, series := range found {
		count += len(series.Points)
	}
	return count
}

// act does something about letters that must be answered 200.
func (d *deskTest) act(t *testing.T, what, body string) (done acted) {
	t.Helper()
	d.Send(t, http.MethodPost, lettersPath+"/"+what, body, http.StatusOK, &done)
	return done
}

func TestADeadLetterIsFoundShownAndPutBack(t *testing.T) {
	d := startDesk(t, false)
	source := d.refused(t, 2)
	list, a := d.letters(t, "?topic=points&workspaceId="+d.Server.Workspace.String()+"&reason=REFUSED&from=2026-01-01T00:00:00Z")
	require.Len(t, list, 2)
	require.EqualValues(t, 2, a.Meta.Total)
	require.Equal(t, []string{"points.dlq", "2 points of 1 series", "open", d.Server.Workspace.String()},
		[]string{list[0].Topic, list[0].Holds, list[0].State, *list[0].WorkspaceID})
	for query, count := range map[string]int{
		"?topic=points.dlq,audit": 2, "?topic=graph.commands": 0, "?state=redriven,discarded": 0, "?workspaceId=" + d.Server.NewWorkspace(t, "live").String(): 0,
		"?to=2026-01-01T00:00:00Z": 0, "?reason=nothing": 0, "?limit=1": 1, "?limit=1&offset=1": 1, "?offset=2": 0, "?offset=7": 0,
	} {
		found, _ := d.letters(t, query)
		require.Len(t, found, count, query)
	}
	var shown struct {
		letter
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
		Topic       string
		Records     int64
		Lag         *int64
		DeadLetters *struct{ Open, Redriven, Discarded int64 }
	}
	d.Get(t, "/admin/api/topics", &topics)
	require.Len(t, topics, 8)
	require.Equal(t, "points", topics[0].Topic)
	require.NotNil(t, topics[0].Lag)
	require.Nil(t, topics[0].DeadLetters)
	require.EqualValues(t, 2, topics[1].DeadLetters.Open)

	one := `{"places":[` + list[0].place() + `],"reason":"the store was wrong"`
	dry := d.act(t, "redrive", one+`,"dryRun":true}`)
	require.EqualValues(t, 1, dry.Counts.Would)
	require.Equal(t, "would", dry.Outcomes[0].Fate)
	require.Zero(t, d.stored(t, source), "a dry run does nothing")
	d.heal(t)
	require.EqualValues(t, 1, d.act(t, "redrive", one+`}`).Counts.Redriven)
	eventually(t, "what was put back is stored", func() bool { return d.stored(t, source) == 2 })
	again := d.act(t, "redrive", one+`}`)
	require.EqualValues(t, 1, again.Counts.Skipped)
	require.Contains(t, again.Outcomes[0].Why, "redriven already, by operator "+contract.OperatorName)
	marked, _ := d.letters(t, "?state=redriven")
	require.Len(t, marked, 1)
	require.Equal(t, "the store was wrong", marked[0].Mark.Reason)
	require.EqualValues(t, 1, d.act(t, "redrive", one+`,"again":true}`).Counts.Redriven, "unless it is wanted")

	other := `{"places":[` + list[1].place() + `],"reason":"not worth it"}`
	require.EqualValues(t, 1, d.act(t, "discard", other).Counts.Discarded)
	open, _ := d.letters(t, "?state=open")
	require.Empty(t, open)
	require.EqualValues(t, 0, d.act(t, "redrive", `{"filter":{}}`).Matched, "what is open is all that a filter means")
	eventually(t, "nothing comes back", func() bool { return d.stored(t, source) == 2 })
}

// What cannot be read says so, and is not put back.
func TestALetterThatCannotBeReadIsShownAndStays(t *testing.T) {
	d := startDesk(t, false)
	client, err := kgo.NewClient(kgo.SeedBrokers(d.desk.Kafka...), kgo.DisableClientMetrics(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "points", Partition: 1, Key: []byte("<k>"), Value: []byte("no point block")}).FirstErr())
	var list []letter
	eventually(t, "it is a dead letter", func() bool {
		list, _ = d.letters(t, "")
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
	result := d.act(t, "redrive", `{"filter":{"topics":["points"]}}`)
	require.EqualValues(t, 1, result.Counts.Skipped)
	require.Contains(t, result.Outcomes[0].Why, "cannot be read")
}

// Many letters are done in several requests, each of which says where to go on.
func TestManyLettersAreDoneBitByBit(t *testing.T) {
	const letters = 1200 // more than are looked at at a time
	d := startDesk(t, true)
	source := d.refused(t, 1)
	first, _ := d.letters(t, "")
	d.copies(t, first[0], letters-1)
	eventually(t, "all are there", func() bool {
		_, a := d.letters(t, "?limit=1")
		return a.Meta.Total == letters
	})
	d.heal(t)
	for _, c := range []struct {
		what, body string
		count      func(acted) int64
	}{
		{"redrive", `"filter":{"topics":["points"]},"dryRun":true`, func(a acted) int64 { return a.Counts.Would }},
		{"redrive", `"filter":{"topics":["points"]}`, func(a acted) int64 { return a.Counts.Redriven }},
		{"discard", `"filter":{"topics":["points"]},"again":true,"reason":"done with"`, func(a acted) int64 { return a.Counts.Discarded }},
	} {
		total, requests, cursor := int64(0), 0, ""
		for {
			done := d.act(t, c.what, `{`+c.body+cursor+`}`)
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
	eventually(t, "they are stored", func() bool { return d.stored(t, source) == 2 })
	a := d.Do(t, contract.Request{Method: http.MethodPost, Path: lettersPath + "/redrive", Body: `{"filter":{},"cursor":"x"}`})
	a.RequireFailure(t, 400, validation, "", map[string]any{"field": "cursor"})
}

// copies puts the record of a letter among the dead letters so many times.
func (d *deskTest) copies(t *testing.T, l letter, times int) {
	t.Helper()
	var shown struct {
		Headers    map[string]string
		Key, Value []byte
	}
	d.Get(t, l.path(), &shown)
	client, err := kgo.NewClient(kgo.SeedBrokers(d.desk.Kafka...), kgo.DisableClientMetrics(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
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

func TestAReplayIsPlannedStartedShownAndCancelled(t *testing.T) {
	d := startDesk(t, false)
	source := decode[struct{ ID string }](t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Body: `{"name":"pump"}`}), 201).ID
	for n := range 3 {
		decode[any](t, d.Server.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/ingest",
			Body: fmt.Sprintf(`{"points":[{"sourceId":%q,"metric":"m","timestamp":%d,"value":1}]}`, source, n)}), 201)
	}
	var plan struct {
		Topic, Consumer string
		Records         int64
		Partitions      []struct{ Partition, From, To int64 }
	}
	d.Send(t, http.MethodPost, replaysPath, `{"topic":"points","fromStart":true,"dryRun":true}`, http.StatusOK, &plan)
	require.EqualValues(t, 3, plan.Records)
	require.Len(t, plan.Partitions, 1)
	var none []any
	require.Zero(t, d.Get(t, replaysPath, &none).Meta.Total, "a dry run starts nothing")

	type job struct {
		ID, State, RequestedBy string
		Records                int64
		MaxRowsPerSecond       *int64
		WorkspaceID            *string
		CancelRequested        bool
	}
	var started job
	partition := plan.Partitions[0].Partition
	body := fmt.Sprintf(`{"topic":"points","fromOffsets":{"%d":1},"toOffsets":{"%d":3},"maxRowsPerSecond":10,"workspaceId":%q}`, partition, partition, d.Server.Workspace)
	a := d.Send(t, http.MethodPost, replaysPath, body, http.StatusCreated, &started)
	require.Equal(t, replaysPath+"/"+started.ID, a.Header.Get("Location"))
	require.Equal(t, job{ID: started.ID, State: "queued", RequestedBy: "operator " + contract.OperatorName, Records: 2,
		MaxRowsPerSecond: started.MaxRowsPerSecond, WorkspaceID: started.WorkspaceID}, started)
	require.EqualValues(t, 10, *started.MaxRowsPerSecond)
	require.Equal(t, d.Server.Workspace.String(), *started.WorkspaceID)
	d.Send(t, http.MethodPost, replaysPath, `{"topic":"points","fromTime":"2026-01-01T00:00:00Z","toTime":"2026-01-02T00:00:00+01:00"}`, http.StatusUnprocessableEntity, nil)
	var second job
	d.Send(t, http.MethodPost, replaysPath, `{"topic":"points","fromTime":"2026-01-01T00:00:00Z","partitions":[`+fmt.Sprint(partition)+`]}`, http.StatusCreated, &second)

	var list []job
	require.EqualValues(t, 2, d.Get(t, replaysPath+"?limit=1", &list).Meta.Total)
	require.Equal(t, second.ID, list[0].ID, "the newest is first")
	d.Get(t, replaysPath+"?limit=1&offset=1", &list)
	require.Equal(t, started.ID, list[0].ID)
	var got job
	d.Get(t, replaysPath+"/"+started.ID, &got)
	require.Equal(t, started, got)
	d.Send(t, http.MethodDelete, replaysPath+"/"+started.ID, "", http.StatusOK, &got)
	require.Equal(t, "cancelled", got.State)
	d.Send(t, http.MethodDelete, replaysPath+"/"+started.ID, "", http.StatusOK, nil)
	for _, id := range []string{uuid.NewString(), "x"} {
		d.Send(t, http.MethodDelete, replaysPath+"/"+id, "", http.StatusNotFound, nil)
		d.Do(t, contract.Request{Path: replaysPath + "/" + id}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	}
}

func TestTheIndexesAreListedByWorkspaceAndMadeAnew(t *testing.T) {
	d := startDesk(t, false)
	other := d.Server.NewWorkspace(t, "live")
	type state struct {
		Workspace struct{ ID, Name string }
		Status    string
		Reindex   struct{ Running bool }
	}
	var list []state
	require.EqualValues(t, 2, d.Get(t, "/admin/api/indexes", &list).Meta.Total)
	require.Equal(t, []string{d.Server.Workspace.String(), other.String()}, []string{list[0].Workspace.ID, list[1].Workspace.ID})
	require.Equal(t, postgres.StatusDegraded, list[0].Status, "there is no index yet")
	d.Get(t, "/admin/api/indexes?limit=1&offset=1", &list)
	require.Equal(t, other.String(), list[0].Workspace.ID)
	d.Get(t, "/admin/api/indexes?offset=9", &list)
	require.Empty(t, list)

	var all struct {
		Indexes []struct{ ID, State, Cause string }
		Last    *struct{ ID, State, RequestedBy string }
	}
	d.Get(t, deskReindex, &all)
	require.Empty(t, all.Indexes)
	require.Nil(t, all.Last)
	var asked, again struct{ ID, State, RequestedBy string }
	d.Send(t, http.MethodPost, deskReindex, "", http.StatusAccepted, &asked)
	require.Equal(t, []string{"queued", "operator " + contract.OperatorName}, []string{asked.State, asked.RequestedBy})
	d.Send(t, http.MethodPost, deskReindex, "{}", http.StatusAccepted, &again)
	require.Equal(t, asked, again, "two that ask are one")
	d.Get(t, deskReindex, &all)
	require.Equal(t, asked.ID, all.Last.ID)

	execute(t, d.Server, `INSERT INTO search_indexes (id, model, dimensions, collection, state, cause) VALUES
		(gen_random_uuid(), 'm', 3, 'live', 'live', 'first'), (gen_random_uuid(), 'm', 3, 'next', 'building', 'asked')`)
	d.Get(t, deskReindex, &all)
	require.Len(t, all.Indexes, 2)
	require.Equal(t, []string{"live", "building"}, []string{all.Indexes[0].State, all.Indexes[1].State})
	d.Get(t, "/admin/api/indexes", &list)
	require.Equal(t, "ready", list[0].Status)
	require.True(t, list[0].Reindex.Running)
}

func TestBadQuestionsToTheDeskAreRefused(t *testing.T) {
	d := startDesk(t, false)
	for query, field := range map[string]string{
		lettersPath + "?topic=nothing": "topic", lettersPath + "?topic=points,": "topic", lettersPath + "?state=lost": "state", lettersPath + "?workspaceId=x": "workspaceId",
		lettersPath + "?workspaceId=" + uuid.NewString(): "workspaceId", lettersPath + "?from=yesterday": "from", lettersPath + "?limit=0": "limit",
		lettersPath + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "to", lettersPath + "?offset=951": "offset", lettersPath + "?x=1": "x",
		lettersPath + "?reason=a&reason=b": "reason", "/admin/api/topics?x=1": "x", replaysPath + "?limit=-1": "limit", replaysPath + "/x?y=1": "y",
		"/admin/api/indexes?offset=-1": "offset", deskReindex + "?x=1": "x",
	} {
		a := d.Do(t, contract.Request{Path: query})
		a.RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
	for _, path := range []string{"/points.dlq/0/1", "/points.dlq/99/0", "/points/x/0", "/points/0/x", "/nothing/0/0", "/points/-1/0", "/points.dlq/0/9223372036854775808"} {
		d.Do(t, contract.Request{Path: lettersPath + path}).RequireFailure(t, 404, "NOT_FOUND", "", nil)
	}
	place := `{"topic":"points.dlq","partition":0,"offset":0}`
	for _, c := range []struct {
		path, body, field string
		status            int
	}{
		{lettersPath + "/redrive", `{}`, "filter", 400},
		{lettersPath + "/redrive", `{"places":[]}`, "places", 422},
		{lettersPath + "/redrive", `{"places":[` + strings.Repeat(place+",", 100) + place + `]}`, "places", 422},
		{lettersPath + "/redrive", `{"places":[` + place + `],"filter":{}}`, "filter", 422},
		{lettersPath + "/redrive", `{"places":[` + place + `],"cursor":"x"}`, "cursor", 422},
		{lettersPath + "/redrive", `{"places":[{"partition":0,"offset":0}]}`, "places[0].topic", 400},
		{lettersPath + "/redrive", `{"places":[{"topic":"x","partition":0,"offset":0}]}`, "places[0].topic", 422},
		{lettersPath + "/redrive", `{"places":[{"topic":"points","partition":"0","offset":0}]}`, "places[0].partition", 400},
		{lettersPath + "/redrive", `{"filter":{"topics":["x"]}}`, "filter.topics[0]", 422},
		{lettersPath + "/redrive", `{"filter":{"states":["x"]}}`, "filter.states[0]", 422},
		{lettersPath + "/redrive", `{"filter":{"from":"now"}}`, "filter.from", 422},
		{lettersPath + "/redrive", `{"filter":{"workspaceId":"x"}}`, "filter.workspaceId", 422},
		{lettersPath + "/redrive", `{"filter":{"workspaceId":"` + uuid.NewString() + `"}}`, "filter.workspaceId", 422},
		{lettersPath + "/redrive", `{"filter":{"topic":"points"}}`, "filter.topic", 400},
		{lettersPath + "/redrive", `{"filter":{},"reason":"` + strings.Repeat("a", 1001) + `"}`, "reason", 422},
		{lettersPath + "/redrive", `{"filter":null}`, "filter", 400},
		{lettersPath + "/discard", `{"filter":{}}`, "reason", 400},
		{lettersPath + "/discard", `{"filter":{},"reason":""}`, "reason", 422},
		{replaysPath, `{}`, "topic", 400},
		{replaysPath, `{"topic":"audit","fromStart":true}`, "topic", 422},
		{replaysPath, `{"topic":"points"}`, "fromStart", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"fromTime":"2026-01-01T00:00:00Z"}`, "fromStart", 422},
		{replaysPath, `{"topic":"points","fromTime":"yesterday"}`, "fromTime", 422},
		{replaysPath, `{"topic":"points","fromTime":"9000-01-01T00:00:00Z"}`, "fromTime", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"a":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"01":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"9":1}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromOffsets":{"0":7}}`, "fromOffsets", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"maxRowsPerSecond":0}`, "maxRowsPerSecond", 422},
		{replaysPath, `{"topic":"points","fromStart":true,"workspaceId":"` + uuid.NewString() + `"}`, "workspaceId", 422},
		{replaysPath, `{"topic":"points","fromStart":1}`, "fromStart", 400},
		{deskReindex, `{"model":"x"}`, "model", 400},
	} {
		a := d.Do(t, contract.Request{Method: http.MethodPost, Path: c.path, Body: c.body})
		require.Equal(t, c.status, a.Status, "%s %s: %s", c.path, c.body, a.Body)
		require.Equal(t, c.field, a.Error.Details["field"], "%s %s: %s", c.path, c.body, a.Body)
	}
	a := d.Do(t, contract.Request{Method: http.MethodPost, Path: replaysPath, Body: `{"topic":"points","fromStart":true}`})
	a.RequireFailure(t, 422, validation, "", nil)
	require.Contains(t, a.Error.Message, "no record", "an empty log has nothing to replay")
}

// Nobody without a session sees or changes anything, whatever key they have.
func TestTheDeskIsForOperators(t *testing.T) {
	d := startDesk(t, false)
	tried := 0
	for _, rt := range d.Server.API.Routes() {
		if rt.Access != route.Operator || !strings.HasPrefix(rt.Pattern, "/admin/api/") {
			continue
		}
		path := strings.NewReplacer("{id}", uuid.NewString(), "{topic}", "points", "{partition}", "0", "{offset}", "0").Replace(rt.Pattern)
		a := d.Server.Do(t, contract.Request{Method: rt.Method, Path: path})
		a.RequireFailure(t, 401, authentication, "Unauthorized", nil)
		tried++
		if rt.Method != http.MethodGet {
			q := d.Request(contract.Request{Method: rt.Method, Path: path})
			q.Header["X-CSRF-Token"] = ""
			d.Server.Do(t, q).RequireFailure(t, 403, authorization, "", nil)
		}
	}
	require.GreaterOrEqual(t, tried, 12)
	var acts []json.RawMessage
	d.Send(t, http.MethodPost, deskReindex, "", http.StatusAccepted, nil)
	d.Get(t, "/admin/api/trail", &acts)
	require.Contains(t, string(acts[0]), deskReindex, "what operators do is noted")
}
