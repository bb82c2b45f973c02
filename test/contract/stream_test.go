package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestPointsAreStreamedAsTheyArrive(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
		l := startLiveOn(t, k, &contract.LiveData{})
		boiler := l.createSource(t, `{"name": "boiler", "unit": "W", "metrics": [{"name": "temperature", "unit": "°C"}]}`)
		l.ingest(t, boiler.ID, "before", 1)
		all := l.openStream(t, "").awaitStart()
		epoch := l.openStream(
			t, "epoch=ms", func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") },
		).awaitStart()

		const body = `{"points": [
			{"source": "boiler", "metric": "temperature", "tags": {"room": "cellar", "a": "<b>"},
				"timestamp": "2026-03-01T00:00:01.5Z", "value": 71.5},
			{"source": "boiler", "metric": "temperature", "tags": {"room": "cellar", "a": "<b>"},
				"timestamp": "2026-03-01T00:00:02Z", "value": true},
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
			{SourceID: &boiler.ID, SourceName: ptr("boiler"), Metric: ptr("temperature"),
				Kind: "number", Unit: ptr("°C"), Tags: map[string]string{"room": "cellar", "a": "<b>"},
				Columns: []string{"timestamp", "value"},
				Points:  [][]any{{"2026-03-01T00:00:01.5Z", 71.5}, {"2026-03-01T00:00:02Z", 1.0}}},
			{
				SourceID: &boiler.ID, SourceName: ptr("boiler"), Metric: ptr("state"), Kind: "string", Unit: ptr("W"),
				Tags:    map[string]string{},
				Columns: []string{"timestamp", "value"}, Points: [][]any{{"2026-03-01T00:00:03Z", "on\nand \"on\""}},
			},
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

// Points of another workspace are never visible, whatever the selectors are.
func TestAStreamShowsNothingOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	theirs := decode[source](
		t,
		l.Do(t, contract.Request{Method: http.MethodPost, Path: "/api/live-data/sources", Key: key, Workspace: other.String(),
			Body: `{"name": "canary", "unit": "canary", "tags": {"canary": "canary"}}`}), http.StatusCreated,
	)
	mine := l.createSource(t, `{"name": "mine"}`)
	streams := []*pointStream{
		l.openStream(t, "").awaitStart(), l.openStream(t, "metric=m").awaitStart(),
		l.openStream(t, "sourceId="+theirs.ID+"&sourceId="+mine.ID).awaitStart(), l.openStream(t, "epoch=us").awaitStart(),
	}
	them := l.openStream(t, "source=canary", withKey(key), func(r *http.Request) {
		r.Header.Set("x-workspace-id", other.String())
	}).awaitStart()
	for n := range 20 {
		body := fmt.Sprintf(
			`{"points": [{"source": "canary", "metric": "m", "tags": {"canary": "canary"}, "value": %d},
				{"source": "canary", "metric": "canary", "value": "canary"}]}`,
			n,
		)
		require.Equal(
			t, http.StatusCreated,
			l.Do(t, contract.Request{
				Method: http.MethodPost, Path: "/api/live-data/ingest", Key: key, Workspace: other.String(), Body: body,
			}).Status,
		)
	}
	e, ok := them.next()
	require.True(t, ok)
	require.Equal(t, theirs.ID, *e.rows[0].SourceID)
	require.Equal(
		t, http.StatusNoContent,
		l.Do(t, contract.Request{
			Method: http.MethodDelete, Path: "/api/live-data/sources/" + theirs.ID, Key: key, Workspace: other.String(),
		}).Status,
	)
	l.ingest(t, mine.ID, "m", 7)
	for _, s := range streams {
		e, ok := s.next()
		require.True(t, ok)
		require.NotContains(t, e.data, "canary")
		require.NotContains(t, e.data, theirs.ID)
		require.Len(t, e.rows, 1)
		require.Equal(t, mine.ID, *e.rows[0].SourceID)
	}
}

func TestAStreamHasWhatItsSelectorsMatch(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	node := uuid.NewString()
	a := l.createSource(t, fmt.Sprintf(`{"name": "a", "nodeId": %q}`, node))
	b := l.createSource(t, `{"name": "b"}`)
	later := uuid.NewString()
	streams := map[string]*pointStream{}
	for query := range map[string]bool{
		"": true, "sourceId=" + a.ID: true, "sourceId=" + strings.ToUpper(a.ID) + "&sourceId=" + later: true,
		"source=b": true, "source=new": true, "nodeId=" + node: true,
		"metric=m": true, "metric=m&metric=n": true, "tag.room=x": true, "tag.room=x&tag.room=y": true,
		"tag.room=y&tag.floor=1": true, "metric=n&sourceId=" + b.ID: true,
	} {
		streams[query] = l.openStream(t, query).awaitStart()
	}
	send := func(source, metric, tags string, value float64) {
		body := fmt.Sprintf(
			`{"points": [{"sourceId": %q, "metric": %q, "tags": {%s}, "timestamp": %d, "value": %v}]}`, source, metric, tags,
			t0.UnixMilli()+int64(value), value,
		)
		require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
	}
	send(a.ID, "m", ``, 1)
	send(b.ID, "m", `"room": "x"`, 2)
	send(b.ID, "n", `"room": "y", "floor": "1"`, 3)
	send(a.ID, "o", `"floor": "1"`, 4)
	// A source that is created while the streams are open.
	require.Equal(
		t, http.StatusCreated,
		l.post(t, "/api/live-data/sources", fmt.Sprintf(`{"id": %q, "name": "new", "nodeId": %q}`, later, node)).Status,
	)
	send(later, "m", `"room": "y"`, 5)
	send(a.ID, "end", `"room": "y", "floor": "1"`, 6) // selected by some streams
	for query, want := range map[string][]float64{
		"": {1, 2, 3, 4, 5, 6}, "sourceId=" + a.ID: {1, 4, 6},
		"sourceId=" + strings.ToUpper(a.ID) + "&sourceId=" + later: {1, 4, 5, 6},
		"source=b": {2, 3}, "source=new": {5}, "nodeId=" + node: {1, 4, 5, 6}, "metric=m": {1, 2, 5},
		"metric=m&metric=n": {1, 2, 3, 5},
		"tag.room=x":        {2}, "tag.room=x&tag.room=y": {2, 3, 5, 6}, "tag.room=y&tag.floor=1": {3, 6},
		"metric=n&sourceId=" + b.ID: {3},
	} {
		require.ElementsMatch(t, want, streams[query].values(len(want)), query)
	}

	// A source with a new name and node is selected by other streams.
	l.Do(t, contract.Request{
		Method: http.MethodPatch, Path: "/api/live-data/sources/" + b.ID,
		Body:   fmt.Sprintf(`{"name": "c", "nodeId": %q}`, node),
		Header: map[string]string{"Content-Type": "application/merge-patch+json"},
	})
	renamed := l.openStream(t, "source=c").awaitStart()
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
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
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
		first := l.openStream(t, "metric=m").awaitStart()
		send(20)
		seen := map[float64]bool{}
		note := func(values []float64) {
			for _, v := range values {
				seen[v] = true
			}
		}
		note(first.values(10)) // or more: points that arrive together are one event
		first.close()
		send(200)
		second := l.openStream(t, "metric=m", withLastEventID(first.id))
		for len(seen) < int(value) {
			note(second.values(1))
		}
		send(1)
		note(second.values(1))
		require.True(t, seen[value-1], "and then what is new")

		// A stream that had no points yet resumes, too, here by the parameter.
		idle := l.openStream(t, "metric=m").awaitStart()
		idle.close()
		send(3)
		third := l.openStream(t, "metric=m&after="+idle.id)
		require.ElementsMatch(t, []float64{value - 3, value - 2, value - 1}, third.values(3))
		back := l.openStream(t, "metric=m&after=x", withLastEventID(third.id))
		send(1)
		require.Equal(t, []float64{value - 1}, back.values(1), "the header goes before, and nothing comes twice")
	})
}

func TestAReaderLearnsWhatTheLogNoLongerContains(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
		group := &contract.LiveData{Limits: tail.Limits{ReplayRecords: 50}}
		l := startLiveOn(t, k, group)
		s := l.createSource(t, `{"name": "s"}`)
		stream := l.openStream(t, "sourceId="+s.ID).awaitStart()
		l.ingest(t, s.ID, "m", 1)
		stream.values(1)
		stream.close()
		for n := range 51 {
			l.ingest(t, s.ID, "m", float64(n))
		}
		far := l.openStream(t, "sourceId="+s.ID, withLastEventID(stream.id))
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
		require.Equal(t, tail.Trimmed, l.openStream(t, "sourceId="+s.ID, withLastEventID(stream.id)).notice("reset").Reason)

		k.Recreate(t, state.Name, 4)
		require.Equal(t, tail.LogChanged, far.notice("dropped").Reason)
		_, more := far.next()
		require.False(t, more)
		require.Equal(t, tail.LogChanged, l.openStream(t, "sourceId="+s.ID, withLastEventID(far.id)).notice("reset").Reason)
	})
}

func TestDeletionsAreStreamedAndWhatTheyMakeVoidIsNot(t *testing.T) {
	t.Parallel()
	l := startLiveOn(t, kafkatest.NewKFake(t), &contract.LiveData{})
	s, other := l.createSource(t, `{"name": "s"}`), l.createSource(t, `{"name": "other"}`)
	start := l.openStream(t, "").awaitStart()
	all, named := l.openStream(t, "").awaitStart(), l.openStream(t, "source=s&tag.x=y").awaitStart()
	others := l.openStream(t, "source=other").awaitStart()
	l.ingest(t, s.ID, "m", 1)
	all.values(1)
	require.Equal(
		t, http.StatusNoContent,
		l.Do(t, contract.Request{Method: http.MethodDelete, Path: "/api/live-data/sources/" + s.ID}).Status,
	)
	for _, stream := range []*pointStream{all, named} {
		e, _ := stream.next()
		require.Equal(t, "deleted", e.name)
		require.JSONEq(
			t,
			fmt.Sprintf(
				`{"sourceId": %q, "sourceName": "s", "metric": null, "from": null, "to": null, "wholeSource": true}`, s.ID,
			),
			e.data,
		)
	}
	l.ingest(t, other.ID, "m", 2)
	require.Equal(t, []float64{2}, others.values(1))
	start.close()
	again := l.openStream(t, "", withLastEventID(start.id))
	events := map[string]string{}
	for range 2 { // of two partitions, in any order
		e, _ := again.next()
		events[e.name] = e.data
	}
	require.Contains(t, events["deleted"], s.ID)
	require.Contains(t, events["points"], other.ID)
	require.NotContains(t, events["points"], s.ID, "points of a source that is gone are void")
}
