package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const streamPath = "/api/live-data/stream"

// startLiveOn is startLive on a given broker.
func startLiveOn(t *testing.T, k *kafkatest.Broker, group *contract.LiveData) *live {
	t.Helper()
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: k.Brokers(), Security: k.Security(), TopicPrefix: k.Prefix, BufferedBytes: 64 << 20,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 4, CommandsPartitions: 4, Replication: -1, RetentionBytes: 256 << 20,
	}))
	group.Log = log
	return &live{Server: contract.Start(t, group.Group), LiveData: group}
}

// ingest ingests one point of a metric of the source.
func (l *live) ingest(t testing.TB, source, metric string, value float64) {
	t.Helper()
	body := fmt.Sprintf(
		`{"points": [{"sourceId": %q, "metric": %q, "timestamp": %d, "value": %v}]}`, source, metric,
		t0.UnixMilli()+int64(value), value,
	)
	require.Equal(t, http.StatusCreated, l.post(t, "/api/live-data/ingest", body).Status)
}

// pointStream is an open stream of points.
type pointStream struct {
	*sseReader
	close func()
}

// sseEvent is an event of a stream of points.
type sseEvent struct {
	name, data string
	rows       []rows // of points
}

// notice is the data of the events reset and dropped.
type notice struct {
	Reason, Message string
	Since           time.Time
}

func (l *live) openStream(t *testing.T, query string, change ...func(*http.Request)) *pointStream {
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
	return &pointStream{sseReader: newSSEReader(t, body), close: cancel}
}

func withKey(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

func withLastEventID(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
}

// next reads the next event. It returns false if the stream has ended.
func (s *pointStream) next() (e sseEvent, ok bool) {
	s.t.Helper()
	e.name, e.data, ok = s.event()
	if ok && e.name == "points" {
		require.NoError(s.t, json.Unmarshal([]byte(e.data), &e.rows))
	}
	return e, ok
}

// awaitStart reads up to the id that a stream sends first if it has no points yet.
func (s *pointStream) awaitStart() *pointStream {
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

// values reads events of points until there are at least minValues values, and returns all
// values of these events.
func (s *pointStream) values(minValues int) (values []float64) {
	s.t.Helper()
	for len(values) < minValues {
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
