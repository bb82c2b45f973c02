package promql_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
)

const binary = "../../bin/livegraph" // written by make build

// server is a running Livegraph with the keys of its first workspace.
type server struct {
	url, dir, workspace, admin string
}

// startServer runs the built binary.
func startServer(t *testing.T, flags ...string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{url: "http://" + listener.Addr().String(), dir: t.TempDir()}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	process := exec.Command(binary, append([]string{
		"serve", "--listen", listener.Addr().String(), "--data-dir", s.dir, "--metrics-listen", "off",
	}, flags...)...)
	require.NoError(t, listener.Close())
	process.Stdout, process.Stderr = log, log
	require.NoError(t, process.Start(), "make build first")
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		require.NoError(t, process.Wait())
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", text[max(0, len(text)-20_000):])
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 3*time.Minute, 100*time.Millisecond)
	var first struct{ WorkspaceID, AdminKey string }
	text, err := os.ReadFile(filepath.Join(s.dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	s.workspace, s.admin = first.WorkspaceID, first.AdminKey
	return s
}

// do sends a request with the admin key and returns the answer.
func (s *server) do(t *testing.T, method, path, contentType string, body []byte) (status int, answer []byte) {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.admin)
	request.Header.Set("X-Workspace-Id", s.workspace)
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, answer
}

// ingested is the answer to points: how many were rejected, and with what the others can be awaited.
type ingested struct {
	Accepted, Rejected int
	Checkpoint         string
}

// send sends series by remote write.
func (s *server) send(t *testing.T, series []prompb.TimeSeries) (answer ingested) {
	t.Helper()
	rejected := prompb.TimeSeries{ // only an answer with a rejected point has a checkpoint
		Labels: []prompb.Label{{Name: "__name__", Value: "rejected"}}, Samples: []prompb.Sample{{Timestamp: -1}},
	}
	body, err := (&prompb.WriteRequest{Timeseries: append(slices.Clone(series), rejected)}).Marshal()
	require.NoError(t, err)
	status, text := s.do(
		t, http.MethodPost, "/api/live-data/ingest", "application/x-protobuf", snappy.Encode(nil, body),
	)
	require.Equal(t, http.StatusCreated, status, "%s", text)
	require.NoError(t, json.Unmarshal(text, &struct{ Data *ingested }{&answer}))
	answer.Rejected--
	return answer
}

// await waits until the points of a checkpoint are visible.
func (s *server) await(t *testing.T, checkpoint string) {
	t.Helper()
	status, answer := s.do(
		t, http.MethodGet, "/api/live-data/query?limit=1&metric=none&checkpoint="+url.QueryEscape(checkpoint), "", nil,
	)
	require.Equal(t, http.StatusOK, status, "%s", answer)
}
