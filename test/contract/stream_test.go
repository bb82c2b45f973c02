package contract_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/internal/testenv"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/contract"
)

const streamPath = "/api/live-data/stream"

// startLiveOn is startLive with the log of a broker.
func startLiveOn(t *testing.T, k *testenv.Broker, group *contract.LiveData) *live {
	t.Helper()
	log, err := kafka.Open(t.Context(), kafka.Options{Brokers: k.Brokers(), TopicPrefix: k.Prefix, BufferedBytes: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{Partitions: 4, CommandsPartitions: 4, Replication: -1, RetentionBytes: 256 << 20}))
	group.Log = log
	return &live{Server: contract.Start(t, group.Group), LiveData: group}
}

// ingest makes the source send one point of a metric, and gives its value.
func (l *live) ingest(t testing.TB, source, metric string, value float64) {
	t.Helper()
	body := fmt.Sprintf(`{"points": [{"sourceId": %q, "metric": %q, "timestamp": %d, "value": %v}]}`, source, metric, t0.UnixMilli()+int64(value), value)
	require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
}

// pointStream is a stream that is being read.
type pointStream struct {
	t     *testing.T
	lines *bufio.Reader
	close func()
	id    string // of the last event
}

// sse is an event.
type sse struct {
	name, data string
	rows       []rows // of points
}

// notice is the data of the events reset and dropped.
type notice struct {
	Reason, Message string
	Since           time.Time
}

func (l *live) follow(t *testing.T, query string, change ...func(*http.Request)) *pointStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL+streamPath+"?"+query, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+l.Admin)
	r.Header.Set("x-workspace-id", l.Workspace.String())
	for _, c := range change {
		c(r)
	}
	response, err := (&http.Client{}).Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	}
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	require.NotEmpty(t, response.Header.Get("X-Request-Id"))
	return newPointStream(t, response.Body, cancel)
}

func newPointStream(t *testing.T, body io.Reader, cancel func()) *pointStream {
	return &pointStream{t: t, lines: bufio.NewReaderSize(body, 1<<20), close: cancel}
}

func withKey(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

func after(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
}

// next reads the next event; false: the stream has ended.
func (s *pointStream) next() (e sse, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			require.ErrorIs(s.t, err, io.EOF, "a stream ends orderly")
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			s.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name == "" {
				continue // a comment, or an id alone
			}
			if e.name == "points" {
				require.NoError(s.t, json.Unmarshal([]byte(e.data), &e.rows))
			}
			return e, true
		}
	}
}

// begun reads up to the id with which a stream begins that has nothing to send yet.
func (s *pointStream) begun() *pointStream {
	s.t.Helper()
	for s.id == "" {
		line, err := s.lines.ReadString('\n')
		require.NoError(s.t, err)
		if id, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "id: "); ok {
			s.id = id
		}
	}
	return s
}

// values reads events of points until there are so many values, or more with the last
// event, and gives these.
func (s *pointStream) values(least int) (values []float64) {
	s.t.Helper()
	for len(values) < least {
		e, ok := s.next()
		require.True(s.t, ok, "the stream has ended after %d values", len(values))
		require.Equal(s.t, "points", e.name, e.data)
		for _, r := range e.rows {
			for _, p := range r.Points {
				values = append(values, p[1].(float64))
			}
		}
	}
	return values
}

func (s *pointStream) notice(event string) (n notice) {
	s.t.Helper()
	e, ok := s.next()
	require.True(s.t, ok)
	require.Equal(s.t, event, e.name, e.data)
	require.NoError(s.t, json.Unmarshal([]byte(e.data), &n))
	require.NotEmpty(s.t, n.Message)
	return n
}

func TestPointsAreStreamedAsTheyArrive(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, k *testenv.Broker) {
		l := startLiveOn(t, k, &contract.LiveData{})
		boiler := l.createSource(t, `{"name": "boiler", "unit": "W", "metrics": [{"name": "temperature", "unit": "°C"}]}`)
		l.ingest(t, boiler.ID, "before", 1)
		all := l.follow(t, "").begun()
		epoch := l.follow(t, "epoch=ms", func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") }).begun()

		const body = `{"points": [
			{"source": "boiler", "metric": "temperature", "tags": {"room": "cellar", "a": "<b>"}, "timestamp": "2026-03-01T00:00:01.5Z", "value": 71.5},
			{"source": "boiler", "metric": "temperature", "tags": {"room": "cellar", "a": "<b>"}, "timestamp": "2026-03-01T00:00:02Z", "value": true},
			{"source": "boiler", "metric": "state", "timestamp": "2026-03-01T00:00:03Z", "value": "on\nand \"on\""}]}`
		began := time.Now()
		require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
		e, ok := all.next()
		require.True(t, ok)
		t.Logf("points are with the reader %s after they were sent", time.Since(began).Round(time.Millisecond))
		require.Equal(t, "points", e.name)
		require.NotEmpty(t, all.id)
		l.CheckSchema(t, "PointRows", e.data)
		want := []rows{
			{SourceID: &boiler.ID, SourceName: ptr("boiler"), Metric: ptr("temperature"), Kind: "number", Unit: ptr("°C"), Tags: map[string]string{"room": "cellar", "a": "<b>"},
				Columns: []string{"timestamp", "value"}, Points: [][]any{{"2026-03-01T00:00:01.5Z", 71.5}, {"2026-03-01T00:00:02Z", 1.0}}},
			{SourceID: &boiler.ID, SourceName: ptr("boiler"), Metric: ptr("state"), Kind: "string", Unit: ptr("W"), Tags: map[string]string{},
				Columns: []string{"timestamp", "value"}, Points: [][]any{{"2026-03-01T00:00:03Z", "on\nand \"on\""}}},
		}
		require.Equal(t, want, e.rows)
		e, _ = epoch.next()
		require.InDelta(t, 1772323201500, e.rows[0].Points[0][0], 0)

		for n := range 50 {
			l.ingest(t, boiler.ID, "m", float64(n))
		}
		for n, value := range all.values(50) {
			require.InDelta(t, n, value, 0, "in the order in which they were accepted")
		}
	})
}

// What is of another workspace is never seen, whatever is asked for.
func TestAStreamShowsNothingOfAnotherWorkspace(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	theirs := decode[source](t, l.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Key: key, Workspace: other.String(),
		Body: `{"name": "canary", "unit": "canary", "tags": {"canary": "canary"}}`}), http.StatusCreated)
	mine := l.createSource(t, `{"name": "mine"}`)
	streams := []*pointStream{
		l.follow(t, "").begun(), l.follow(t, "metric=m").begun(),
		l.follow(t, "sourceId="+theirs.ID+"&sourceId="+mine.ID).begun(), l.follow(t, "epoch=us").begun(),
	}
	them := l.follow(t, "source=canary", withKey(key), func(r *http.Request) { r.Header.Set("x-workspace-id", other.String()) }).begun()
	for n := range 20 {
		body := fmt.Sprintf(`{"points": [{"source": "canary", "metric": "m", "tags": {"canary": "canary"}, "value": %d}, {"source": "canary", "metric": "canary", "value": "canary"}]}`, n)
		require.Equal(t, http.StatusCreated, l.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/ingest", Key: key, Workspace: other.String(), Body: body}).Status)
	}
	require.Equal(t, http.StatusNoContent, l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + theirs.ID, Key: key, Workspace: other.String()}).Status)
	l.ingest(t, mine.ID, "m", 7)
	for _, s := range streams {
		e, ok := s.next()
		require.True(t, ok)
		require.NotContains(t, e.data, "canary")
		require.NotContains(t, e.data, theirs.ID)
		require.Len(t, e.rows, 1)
		require.Equal(t, mine.ID, *e.rows[0].SourceID)
	}
	e, _ := them.next()
	require.Equal(t, theirs.ID, *e.rows[0].SourceID)
}

func TestAStreamHasWhatItsSelectorsSay(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	node := uuid.NewString()
	a := l.createSource(t, fmt.Sprintf(`{"name": "a", "nodeId": %q}`, node))
	b := l.createSource(t, `{"name": "b"}`)
	later := uuid.NewString()
	streams := map[string]*pointStream{}
	for query := range map[string]bool{
		"": true, "sourceId=" + a.ID: true, "sourceId=" + strings.ToUpper(a.ID) + "&sourceId=" + later: true, "source=b": true, "source=new": true, "nodeId=" + node: true,
		"metric=m": true, "metric=m&metric=n": true, "tag.room=x": true, "tag.room=x&tag.room=y": true, "tag.room=y&tag.floor=1": true, "metric=n&sourceId=" + b.ID: true,
	} {
		streams[query] = l.follow(t, query).begun()
	}
	send := func(source, metric, tags string, value float64) {
		body := fmt.Sprintf(`{"points": [{"sourceId": %q, "metric": %q, "tags": {%s}, "timestamp": %d, "value": %v}]}`, source, metric, tags, t0.UnixMilli()+int64(value), value)
		require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
	}
	send(a.ID, "m", ``, 1)
	send(b.ID, "m", `"room": "x"`, 2)
	send(b.ID, "n", `"room": "y", "floor": "1"`, 3)
	send(a.ID, "o", `"floor": "1"`, 4)
	// A source that comes to be while the streams are open.
	require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/sources", fmt.Sprintf(`{"id": %q, "name": "new", "nodeId": %q}`, later, node)).Status)
	send(later, "m", `"room": "y"`, 5)
	send(a.ID, "end", `"room": "y", "floor": "1"`, 6) // of some
	for query, want := range map[string][]float64{
		"": {1, 2, 3, 4, 5, 6}, "sourceId=" + a.ID: {1, 4, 6}, "sourceId=" + strings.ToUpper(a.ID) + "&sourceId=" + later: {1, 4, 5, 6},
		"source=b": {2, 3}, "source=new": {5}, "nodeId=" + node: {1, 4, 5, 6}, "metric=m": {1, 2, 5}, "metric=m&metric=n": {1, 2, 3, 5},
		"tag.room=x": {2}, "tag.room=x&tag.room=y": {2, 3, 5, 6}, "tag.room=y&tag.floor=1": {3, 6}, "metric=n&sourceId=" + b.ID: {3},
	} {
		require.ElementsMatch(t, want, streams[query].values(len(want)), query)
	}

	// A source that is given another name and node is another's.
	l.Do(t, contract.Request{Method: http.MethodPatch, Path: "/api/live-data/sources/" + b.ID, Body: fmt.Sprintf(`{"name": "c", "nodeId": %q}`, node), Header: map[string]string{"Content-Type": "application/merge-patch+json"}})
	renamed := l.follow(t, "source=c").begun()
	for value := 7.0; ; value++ {
		send(b.ID, "m", ``, value)
		e, _ := streams[""].next()
		if *e.rows[0].SourceName == "c" { // at most two seconds later
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	send(b.ID, "last", ``, 1000)
	for _, stream := range []*pointStream{renamed, streams["nodeId="+node]} {
		for stream.values(1)[0] != 1000 {
			continue
		}
	}
}

func TestAReaderThatComesBackMissesNothing(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, k *testenv.Broker) {
		l := startLiveOn(t, k, &contract.LiveData{})
		var sources []string
		for n := range 8 { // in all partitions
			sources = append(sources, l.createSource(t, fmt.Sprintf(`{"name": "s%d"}`, n)).ID)
		}
		value := 0.0
		send := func(n int) {
			for range n {
				l.ingest(t, sources[int(value)%len(sources)], "m", value)
				value++
			}
		}
		first := l.follow(t, "metric=m").begun()
		send(20)
		seen := map[float64]bool{}
		note := func(values []float64) {
			for _, v := range values {
				seen[v] = true
			}
		}
		note(first.values(10)) // or more: what came together is one event
		first.close()
		send(200)
		second := l.follow(t, "metric=m", after(first.id))
		for len(seen) < int(value) {
			note(second.values(1))
		}
		send(1)
		note(second.values(1))
		require.True(t, seen[value-1], "and then what is new")

		// Also one that had nothing yet, by the parameter.
		idle := l.follow(t, "metric=m").begun()
		idle.close()
		send(3)
		third := l.follow(t, "metric=m&after="+idle.id)
		require.ElementsMatch(t, []float64{value - 3, value - 2, value - 1}, third.values(3))
		back := l.follow(t, "metric=m&after=x", after(third.id))
		send(1)
		require.Equal(t, []float64{value - 1}, back.values(1), "the header goes before, and nothing comes twice")
	})
}

func TestAReaderIsToldWhatTheLogDoesNotHaveAnyMore(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, k *testenv.Broker) {
		group := &contract.LiveData{Limits: tail.Limits{ReplayRecords: 50}}
		l := startLiveOn(t, k, group)
		s := l.createSource(t, `{"name": "s"}`)
		stream := l.follow(t, "sourceId="+s.ID).begun()
		l.ingest(t, s.ID, "m", 1)
		stream.values(1)
		stream.close()
		for n := range 51 {
			l.ingest(t, s.ID, "m", float64(n))
		}
		far := l.follow(t, "sourceId="+s.ID, after(stream.id))
		n := far.notice("reset")
		require.Equal(t, tail.TooFarBehind, n.Reason)
		require.WithinDuration(t, time.Now(), n.Since, time.Minute)
		l.ingest(t, s.ID, "m", 100)
		require.Equal(t, []float64{100}, far.values(1), "it goes on with what is new")

		state, err := l.Log.Observe(t.Context())
		require.NoError(t, err)
		for p, have := range state.State {
			if have.End > 0 {
				k.Trim(t, state.Name, int32(p), have.End)
			}
		}
		require.Equal(t, tail.Trimmed, l.follow(t, "sourceId="+s.ID, after(stream.id)).notice("reset").Reason)

		k.Recreate(t, state.Name, 4)
		require.Equal(t, tail.LogChanged, far.notice("dropped").Reason)
		_, more := far.next()
		require.False(t, more)
		require.Equal(t, tail.LogChanged, l.follow(t, "sourceId="+s.ID, after(far.id)).notice("reset").Reason)
	})
}

func TestDeletionsAreStreamedAndWhatTheyMakeVoidIsNot(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	s, other := l.createSource(t, `{"name": "s"}`), l.createSource(t, `{"name": "other"}`)
	start := l.follow(t, "").begun()
	all, named := l.follow(t, "").begun(), l.follow(t, "source=s&tag.x=y").begun()
	others := l.follow(t, "source=other").begun()
	l.ingest(t, s.ID, "m", 1)
	all.values(1)
	require.Equal(t, http.StatusNoContent, l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + s.ID}).Status)
	for _, stream := range []*pointStream{all, named} {
		e, _ := stream.next()
		require.Equal(t, "deleted", e.name)
		require.JSONEq(t, fmt.Sprintf(`{"sourceId": %q, "sourceName": "s", "metric": null, "from": null, "to": null, "wholeSource": true}`, s.ID), e.data)
	}
	l.ingest(t, other.ID, "m", 2)
	require.Equal(t, []float64{2}, others.values(1))
	start.close()
	again := l.follow(t, "", after(start.id))
	events := map[string]string{}
	for range 2 { // of two partitions, in any order
		e, _ := again.next()
		events[e.name] = e.data
	}
	require.Contains(t, events["deleted"], s.ID)
	require.Contains(t, events["points"], other.ID)
	require.NotContains(t, events["points"], s.ID, "points of a source that is gone are void")
}

func TestAStreamOfPointsEndsWithItsKeyWithinASecond(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	s := l.createSource(t, `{"name": "s"}`)
	text, key := l.AddKey(t, postgres.NewKey{Mode: "live", Workspaces: []uuid.UUID{l.Workspace}}, request.ReadLiveData)
	stream := l.follow(t, "metric=other", withKey(text)).begun()
	stuck := l.dial(t, text, "")
	stays := l.follow(t, "").begun()
	l.fill(t, s.ID, 8) // more than the buffers on the way take
	require.Eventually(t, func() bool { return l.Streams.Streams() == 3 }, 10*time.Second, 10*time.Millisecond)
	_, err := l.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	require.Eventually(t, func() bool { return l.Streams.Streams() == 1 }, 20*time.Second, time.Millisecond, "also that of a reader who does not read")
	t.Logf("streams ended %s after their key", time.Since(revoked).Round(time.Millisecond))
	_, more := stream.next()
	require.False(t, more)
	_ = stuck.Close()
	l.ingest(t, s.ID, "last", 1)
	for e := (sse{}); !strings.Contains(e.data, `"last"`); {
		var ok bool
		e, ok = stays.next()
		require.True(t, ok)
	}
}

func TestStreamsOfPointsEndWithTheServer(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	stream := l.follow(t, "").begun()
	began := time.Now()
	l.Stop()
	_, ok := stream.next()
	require.False(t, ok)
	t.Logf("the server has ended after %s", time.Since(began))
}

// dial opens a stream that nobody reads.
func (l *live) dial(t *testing.T, key, query string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(256<<10))
	_, err = fmt.Fprintf(conn, "GET %s?%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nx-workspace-id: %s\r\n\r\n", streamPath, query, key, l.Workspace)
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	return conn
}

const filled = 50_000 // points of one request of fill

// fill ingests so many requests of many points: those of the n-th are n.
func (l *live) fill(t *testing.T, source string, requests int) {
	t.Helper()
	for n := range requests {
		var times, values strings.Builder
		for p := range filled {
			if p > 0 {
				times.WriteByte(',')
				values.WriteByte(',')
			}
			fmt.Fprint(&times, t0.UnixMilli()+int64(p))
			fmt.Fprint(&values, n)
		}
		body := fmt.Sprintf(`{"series": [{"sourceId": %q, "metric": "m", "timestamps": [%s], "values": [%s]}]}`, source, &times, &values)
		began := time.Now()
		require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
		t.Logf("request %d took %s", n, time.Since(began).Round(time.Millisecond))
	}
}

// Who does not read loses the stream and nothing else: nobody waits for him, and he
// can go on where he was.
func TestASlowReaderIsDroppedWhileTheOthersGoOn(t *testing.T) {
	const requests = 14
	group := &contract.LiveData{Limits: tail.Limits{BufferedBytes: 4 << 20}, Change: func(d *livedata.Deps) { d.Patience = 2 * time.Minute }}
	l := startLiveOn(t, testenv.NewKFake(t), group)
	s := l.createSource(t, `{"name": "s"}`)
	stuck := l.dial(t, l.Admin, "")
	fast := l.follow(t, "").begun()
	read := make(chan int)
	go func() {
		n := 0
		for range requests {
			for points := 0; points < filled; {
				e, ok := fast.next()
				if !ok || e.name != "points" {
					break
				}
				for _, r := range e.rows {
					points += len(r.Points)
				}
			}
			n++
			read <- n
		}
	}()
	for n := range requests { // at the pace of who reads
		l.fill(t, s.ID, 1)
		select {
		case got := <-read:
			require.Equal(t, n+1, got)
		case <-time.After(2 * time.Minute):
			require.FailNow(t, "the other reader does not go on")
		}
	}
	_ = stuck.SetReadDeadline(time.Now().Add(2 * time.Minute))
	response, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("H"), stuck)), nil)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	slow := newPointStream(t, response.Body, nil)
	points, end := slow.count()
	require.Less(t, points, requests*filled)
	require.Equal(t, "dropped", end.name)
	require.Contains(t, end.data, tail.SlowReader)
	require.Contains(t, end.data, `"since":"20`)
	_, more := slow.next()
	require.False(t, more)

	back := l.follow(t, "", after(slow.id))
	l.ingest(t, s.ID, "last", 1)
	rest := 0
	for e := (sse{}); !strings.Contains(e.data, `"last"`); {
		e, _ = back.next()
		require.Equal(t, "points", e.name, e.data)
		for _, r := range e.rows {
			rest += len(r.Points)
		}
	}
	require.Equal(t, requests*filled+1, points+rest, "it goes on where it was")
}

// count reads points up to another event.
func (s *pointStream) count() (points int, end sse) {
	for {
		e, ok := s.next()
		if !ok || e.name != "points" {
			return points, e
		}
		for _, r := range e.rows {
			points += len(r.Points)
		}
	}
}

func TestSoManyStreamsOfPointsAndNotMore(t *testing.T) {
	group := &contract.LiveData{Limits: tail.Limits{Streams: 4, OfWorkspace: 3, OfKey: 2}}
	l := startLiveOn(t, testenv.NewKFake(t), group)
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{l.Workspace, other}, request.ReadLiveData)
	refused := func(key, workspace string) {
		a := l.Do(t, contract.Request{Path: streamPath, Key: key, Workspace: workspace})
		require.Equal(t, http.StatusServiceUnavailable, a.Status)
		require.Contains(t, a.Error.Message, "Too many streams are open")
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
	one := l.follow(t, "")
	l.follow(t, "")
	refused(l.Admin, "")
	l.follow(t, "", withKey(key))
	third := l.NewKey(t, []uuid.UUID{l.Workspace, other}, request.ReadLiveData)
	refused(third, "")
	l.follow(t, "", withKey(third), func(r *http.Request) { r.Header.Set("x-workspace-id", other.String()) })
	refused(third, other.String())
	one.close()
	require.Eventually(t, func() bool { return l.Streams.Streams() == 3 }, 10*time.Second, 10*time.Millisecond)
	l.follow(t, "")
}

func TestBadParametersOfAStreamNameTheParameter(t *testing.T) {
	l := startLiveOn(t, testenv.NewKFake(t), &contract.LiveData{})
	s := l.follow(t, "metric=m&metric=n").begun()
	for query, field := range map[string]string{
		"epoch=s": "epoch", "from=now": "from", "sourceId=x": "sourceId", "nodeId=x": "nodeId", "source=a&source=b": "source", "limit=1": "limit", "epoch=ms&epoch=ms": "epoch",
		"after=": "after", "after=x": "after", "after=" + s.id: "after", "metric=n&after=" + s.id: "after", "metric=m&metric=n&after=" + s.id[:len(s.id)-1]: "after", "after=a&after=b": "after",
	} {
		l.Do(t, contract.Request{Path: streamPath + "?" + query}).RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
	l.Do(t, contract.Request{Path: streamPath, Header: map[string]string{"Last-Event-ID": "x"}}).RequireFailure(t, 400, validation, "", map[string]any{"field": "Last-Event-ID"})
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.ReadLiveData)
	l.Do(t, contract.Request{Path: streamPath + "?metric=m&metric=n&after=" + s.id, Key: key, Workspace: other.String()}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "after"})
	for _, scope := range []request.Scope{request.ReadNodes, request.WriteLiveData} {
		l.Do(t, contract.Request{Path: streamPath, Key: l.NewKey(t, []uuid.UUID{l.Workspace}, scope)}).
			RequireFailure(t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": []any{"read:livedata"}})
	}
	a := l.Do(t, contract.Request{Method: http.MethodHead, Path: streamPath})
	require.Equal(t, "text/event-stream", a.Header.Get("Content-Type"))
}

func TestAStreamOutlivesAnOutageOfTheLog(t *testing.T) {
	k := testenv.NewKFake(t)
	l := startLiveOn(t, k, &contract.LiveData{})
	s := l.createSource(t, `{"name": "s"}`)
	stream := l.follow(t, "").begun()
	l.ingest(t, s.ID, "m", 1)
	stream.values(1)
	k.Stop(t)
	require.Eventually(t, func() bool { return !l.Log.Healthy() }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, l.Do(t, contract.Request{Path: streamPath + "?after=" + stream.id}).Status)
	k.Start(t)
	require.Eventually(t, l.Log.Healthy, 20*time.Second, 10*time.Millisecond)
	l.ingest(t, s.ID, "m", 2)
	require.Equal(t, []float64{2}, stream.values(1))
}
