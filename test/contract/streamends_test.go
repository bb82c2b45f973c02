package contract_test

import (
	"bufio"
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
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestAStreamOfPointsEndsWithItsKeyWithinASecond(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	s := l.createSource(t, `{"name": "s"}`)
	text, key := l.AddKey(t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{l.Workspace}}, request.ReadLiveData)
	stream := l.openStream(t, "metric=other", withKey(text)).awaitStart()
	stuck := l.openUnread(t, text, "")
	stays := l.openStream(t, "").awaitStart()
	l.fill(t, s.ID, 8) // more than the buffers in between hold
	require.Eventually(t, func() bool { return l.Streams.Streams() == 3 }, time.Minute, 10*time.Millisecond)
	_, err := l.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	require.Eventually(t, func() bool {
		return l.Streams.Streams() == 1
	}, time.Minute, time.Millisecond, "also that of a reader who does not read")
	t.Logf("streams ended %s after their key", time.Since(revoked).Round(time.Millisecond))
	_, more := stream.next()
	require.False(t, more)
	_ = stuck.Close()
	l.ingest(t, s.ID, "last", 1)
	for e := (sseEvent{}); !strings.Contains(e.data, `"last"`); {
		var ok bool
		e, ok = stays.next()
		require.True(t, ok)
	}
}

func TestStreamsOfPointsEndWithTheServer(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	stream := l.openStream(t, "").awaitStart()
	began := time.Now()
	l.Stop()
	_, ok := stream.next()
	require.False(t, ok)
	t.Logf("the server has ended after %s", time.Since(began))
}

// openUnread opens a stream and does not read it.
func (l *live) openUnread(t *testing.T, key, query string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(256<<10))
	_, err = fmt.Fprintf(
		conn, "GET %s?%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nx-workspace-id: %s\r\n\r\n", streamPath, query,
		key, l.Workspace,
	)
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	return conn
}

const pointsPerFill = 50_000 // points of a request of fill

// fill sends requests of pointsPerFill points each. The points of request n have the value n.
func (l *live) fill(t *testing.T, source string, requests int) {
	t.Helper()
	for n := range requests {
		var times, values strings.Builder
		for p := range pointsPerFill {
			if p > 0 {
				times.WriteByte(',')
				values.WriteByte(',')
			}
			fmt.Fprint(&times, t0.UnixMilli()+int64(p))
			fmt.Fprint(&values, n)
		}
		body := fmt.Sprintf(
			`{"series": [{"sourceId": %q, "metric": "m", "timestamps": [%s], "values": [%s]}]}`, source, &times, &values,
		)
		began := time.Now()
		require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
		t.Logf("request %d took %s", n, time.Since(began).Round(time.Millisecond))
	}
}

// A reader that does not read only loses its stream: no other reader waits for it, and it
// can resume where it was.
func TestASlowReaderIsDroppedAndTheOthersContinue(t *testing.T) {
	t.Parallel()
	const requests = 14
	group := &contract.LiveData{Limits: tail.Limits{BufferedBytes: 4 << 20}, Change: func(d *livedata.Deps) {
		d.WriteTimeout = 2 * time.Minute
	}}
	l := startLiveOn(t, kafkatest.NewKFake(t), group)
	s := l.createSource(t, `{"name": "s"}`)
	stuck := l.openUnread(t, l.Admin, "")
	fast := l.openStream(t, "").awaitStart()
	read := make(chan int)
	go func() {
		n := 0
		for range requests {
			for points := 0; points < pointsPerFill; {
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
	for n := range requests { // at the pace of the reader
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
	points, end := slow.countPoints()
	require.Less(t, points, requests*pointsPerFill)
	require.Equal(t, "dropped", end.name)
	require.Contains(t, end.data, tail.SlowReader)
	require.Contains(t, end.data, `"since":"20`)
	_, more := slow.next()
	require.False(t, more)

	back := l.openStream(t, "", withLastEventID(slow.id))
	l.ingest(t, s.ID, "last", 1)
	rest := 0
	for e := (sseEvent{}); !strings.Contains(e.data, `"last"`); {
		e, _ = back.next()
		require.Equal(t, "points", e.name, e.data)
		for _, r := range e.rows {
			rest += len(r.Points)
		}
	}
	require.Equal(t, requests*pointsPerFill+1, points+rest, "it goes on where it was")
}

// countPoints reads events of points up to another event, and returns their number and that event.
func (s *pointStream) countPoints() (points int, end sseEvent) {
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

func TestTheStreamsOfPointsAreLimited(t *testing.T) {
	t.Parallel()
	group := &contract.LiveData{Limits: tail.Limits{Streams: 4, PerWorkspace: 3, PerKey: 2}}
	l := startLiveOn(t, kafkatest.NewKFake(t), group)
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{l.Workspace, other}, request.ReadLiveData)
	refused := func(key, workspace string) {
		a := l.Do(t, contract.Request{Path: streamPath, Key: key, Workspace: workspace})
		require.Equal(t, http.StatusServiceUnavailable, a.Status)
		require.Contains(t, a.Error.Message, "Too many streams are open")
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
	one := l.openStream(t, "")
	l.openStream(t, "")
	refused(l.Admin, "")
	l.openStream(t, "", withKey(key))
	third := l.NewKey(t, []uuid.UUID{l.Workspace, other}, request.ReadLiveData)
	refused(third, "")
	l.openStream(t, "", withKey(third), func(r *http.Request) { r.Header.Set("x-workspace-id", other.String()) })
	refused(third, other.String())
	one.close()
	require.Eventually(t, func() bool { return l.Streams.Streams() == 3 }, time.Minute, 10*time.Millisecond)
	l.openStream(t, "")
}

func TestBadParametersOfAStreamNameTheParameter(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	s := l.openStream(t, "metric=m&metric=n").awaitStart()
	for query, field := range map[string]string{
		"epoch=s": "epoch", "from=now": "from", "sourceId=x": "sourceId", "nodeId=x": "nodeId", "source=a&source=b": "source",
		"limit=1": "limit", "epoch=ms&epoch=ms": "epoch",
		"after=": "after", "after=x": "after", "after=" + s.id: "after", "metric=n&after=" + s.id: "after",
		"metric=m&metric=n&after=" + s.id[:len(s.id)-1]: "after", "after=a&after=b": "after",
	} {
		l.Do(t, contract.Request{Path: streamPath + "?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": field},
		)
	}
	l.Do(t, contract.Request{
		Path: streamPath, Header: map[string]string{"Last-Event-ID": "x"},
	}).RequireFailure(t, 400, validation, "", map[string]any{"field": "Last-Event-ID"})
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.ReadLiveData)
	l.Do(t, contract.Request{Path: streamPath + "?metric=m&metric=n&after=" + s.id, Key: key, Workspace: other.String()}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "after"})
	for _, scope := range []request.Scope{request.ReadNodes, request.WriteLiveData} {
		l.Do(t, contract.Request{Path: streamPath, Key: l.NewKey(t, []uuid.UUID{l.Workspace}, scope)}).
			RequireFailure(
				t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": []any{"read:livedata"}},
			)
	}
	a := l.Do(t, contract.Request{Method: http.MethodHead, Path: streamPath})
	require.Equal(t, "text/event-stream", a.Header.Get("Content-Type"))
}

func TestAStreamOutlivesAnOutageOfTheLog(t *testing.T) {
	t.Parallel()
	k := kafkatest.NewKFake(t)
	l := startLiveOn(t, k, &contract.LiveData{})
	s := l.createSource(t, `{"name": "s"}`)
	stream := l.openStream(t, "").awaitStart()
	l.ingest(t, s.ID, "m", 1)
	stream.values(1)
	k.Stop(t)
	require.Eventually(t, func() bool { return !l.Log.Healthy() }, time.Minute, 10*time.Millisecond)
	require.Equal(
		t, http.StatusServiceUnavailable, l.Do(t, contract.Request{Path: streamPath + "?after=" + stream.id}).Status,
	)
	k.Start(t)
	require.Eventually(t, l.Log.Healthy, time.Minute, 10*time.Millisecond)
	l.ingest(t, s.ID, "m", 2)
	require.Equal(t, []float64{2}, stream.values(1))
}
