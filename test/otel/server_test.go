package otel

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const binary = "../../bin/livegraph" // written by make build

const (
	startLimit = 90 * time.Second
	waitLimit  = time.Minute
	pause      = 50 * time.Millisecond
	shownLog   = 20 << 10 // bytes of a log shown after a failure
)

// server is a Livegraph that accepts OTLP over HTTP and gRPC, with the keys of its first workspace.
type server struct {
	http, grpc, dir string // addresses, and the data directory
	workspace       string
	admin, writer   string // API keys; writer is for exporters
	process         *exec.Cmd
}

// shared is the server of all tests that do not stop it. Each test writes to sources of its own.
var shared *server

// running returns the shared server.
func running(t *testing.T) *server {
	t.Helper()
	require.NotNil(t, shared)
	return shared
}

// freeAddress returns an unused address on the loopback interface.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// TestOpenTelemetry starts one server for most tests.
func TestOpenTelemetry(t *testing.T) {
	shared = newServer(t)
	t.Run("documented collector", testDocumentedCollector)
	t.Run("all ways", testAllWays)
	t.Run("SDK of Go", testSDKOfGo)
	t.Run("SDK of Python", testSDKOfPython)
	t.Run("partial success", testPartialSuccess)
	t.Run("wrong key", testWrongKey)
}

// newServer starts a server with an empty data directory and creates a key for exporters.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{http: freeAddress(t), grpc: freeAddress(t), dir: t.TempDir()}
	s.start(t)
	t.Cleanup(func() { s.stop(syscall.SIGTERM) })
	var first struct{ WorkspaceID, AdminKey string }
	text, err := os.ReadFile(filepath.Join(s.dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	s.workspace, s.admin = first.WorkspaceID, first.AdminKey
	made, err := exec.Command(binary, "keys", "create", "--data-dir", s.dir, "--workspace", s.workspace,
		"--name", "otel", "--scope", "write:livedata", "--json").Output()
	require.NoError(t, err)
	var writer struct{ Key string }
	require.NoError(t, json.Unmarshal(made, &writer))
	s.writer = writer.Key
	return s
}

// start starts the server on the same addresses and the same data as before.
func (s *server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	s.process = exec.Command(binary, "serve", "--listen", s.http, "--api-otlp-grpc-listen", s.grpc, "--data-dir", s.dir,
		"--metrics-listen", "off", "--log-level", "warn")
	s.process.Stdout, s.process.Stderr = log, log
	require.NoError(t, s.process.Start(), "make build first")
	t.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the end of the server's log:\n%s", text[max(0, len(text)-shownLog):])
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + s.http + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, startLimit, pause)
}

// stop ends the server with a signal and waits for its end.
func (s *server) stop(signal syscall.Signal) {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Signal(signal)
		_ = s.process.Wait()
	}
}

// headers are those of the exporters: the key and the workspace.
func (s *server) headers(key string) map[string]string {
	return map[string]string{"authorization": "Bearer " + key, "x-workspace-id": s.workspace}
}

// get reads an answer in JSON with the admin's key.
func (s *server) get(t *testing.T, path string, query url.Values, into any) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+s.http+path+"?"+query.Encode(), nil)
	require.NoError(t, err)
	for name, value := range s.headers(s.admin) {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	require.NoError(t, json.Unmarshal(body, into), "%s", body)
}

// promSeries is a series of an answer to PromQL at one time.
type promSeries struct {
	Metric    map[string]string
	Value     [2]any
	Histogram [2]any
}

// promQL evaluates a query at a time. It returns the values, or the native histograms in JSON, by the series.
func (s *server) promQL(t *testing.T, query string, at time.Time) map[string]string {
	t.Helper()
	var answer struct{ Data struct{ Result []promSeries } }
	s.get(t, "/prometheus/api/v1/query", url.Values{
		"query": {query}, "time": {strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)},
	}, &answer)
	values := map[string]string{}
	for _, series := range answer.Data.Result {
		name := seriesName(series.Metric)
		require.NotContains(t, values, name)
		if value, ok := series.Value[1].(string); ok {
			values[name] = value
			continue
		}
		text, err := json.Marshal(series.Histogram[1])
		require.NoError(t, err)
		values[name] = string(text)
	}
	return values
}

// seriesName returns the name of a series with its labels, sorted, without that of its source.
func seriesName(labels map[string]string) string {
	pairs := map[string]string{}
	for name, value := range labels {
		if name != "__name__" && name != "source" {
			pairs[name] = value
		}
	}
	text, _ := json.Marshal(pairs) // the keys are sorted
	return labels["__name__"] + string(text)
}

// awaitPromQL waits until a query at a time returns exactly the values.
func (s *server) awaitPromQL(t *testing.T, query string, at time.Time, want map[string]string) {
	t.Helper()
	var got map[string]string
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(pause) {
		if got = s.promQL(t, query, at); maps.Equal(got, want) {
			break
		}
	}
	require.Equal(t, want, got, query)
}

// exemplar is an exemplar of an answer to query_exemplars.
type exemplar struct {
	Labels    map[string]string
	Value     string
	Timestamp float64
}

// exemplars returns the exemplars of the series of a query, by the series.
func (s *server) exemplars(t *testing.T, query string, from, to time.Time) map[string][]exemplar {
	t.Helper()
	var answer struct {
		Data []struct {
			SeriesLabels map[string]string
			Exemplars    []exemplar
		}
	}
	s.get(t, "/prometheus/api/v1/query_exemplars", url.Values{
		"query": {query}, "start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)},
	}, &answer)
	list := map[string][]exemplar{}
	for _, series := range answer.Data {
		list[seriesName(series.SeriesLabels)] = series.Exemplars
	}
	return list
}

// points returns the points of a source by series, as milliseconds and values.
func (s *server) points(t *testing.T, source string) map[string][][2]float64 {
	t.Helper()
	var answer struct {
		Data []struct {
			Metric string
			Tags   map[string]string
			Points [][2]float64
		}
	}
	s.get(t, "/api/live-data/query", url.Values{
		"source": {source}, "from": {"0"}, "epoch": {"ms"}, "pointsLimit": {"10000"},
	}, &answer)
	list := map[string][][2]float64{}
	for _, series := range answer.Data {
		tags := map[string]string{"__name__": series.Metric}
		for name, value := range series.Tags {
			tags[name] = value
		}
		list[seriesName(tags)] = series.Points
	}
	return list
}

// metadata is what is known of a metric.
type metadata struct{ Type, Help, Unit string }

// awaitMetadata waits until metrics have the metadata.
func (s *server) awaitMetadata(t *testing.T, want map[string]metadata) {
	t.Helper()
	got := map[string]metadata{}
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline) && len(got) < len(want); time.Sleep(pause) {
		var answer struct{ Data map[string][]metadata }
		s.get(t, "/prometheus/api/v1/metadata", nil, &answer)
		for metric := range want {
			if list := answer.Data[metric]; len(list) == 1 {
				got[metric] = list[0]
			}
		}
	}
	require.Equal(t, want, got)
}

// documented returns the code block of docs/opentelemetry.md that follows a comment.
func documented(t *testing.T, comment, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/opentelemetry.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "<!-- "+comment+" -->\n```"+language+"\n")
	require.True(t, found, comment)
	text, _, found := strings.Cut(after, "```\n")
	require.True(t, found)
	return text
}
