package prometheus

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const binary = "../../bin/livegraph" // written by make build

const (
	startLimit = 90 * time.Second
	shownLog   = 20 << 10 // bytes of a log shown after a failure
)

// freeAddress returns an unused address on the loopback interface.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// run starts a program and stops it at the end of the test. If the test fails, it shows the program's
// log.
func run(t *testing.T, name, program string, args ...string) *exec.Cmd {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	require.NoError(t, err)
	process := exec.Command(program, args...)
	process.Stdout, process.Stderr = log, log
	require.NoError(t, process.Start(), "make build first")
	t.Cleanup(func() {
		stop(process)
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the end of the log of %s:\n%s", name, text[max(0, len(text)-shownLog):])
		}
	})
	return process
}

// stop stops a running program and waits for it.
func stop(process *exec.Cmd) {
	if process.ProcessState == nil {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	}
}

func waitReady(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, startLimit, 50*time.Millisecond, address)
}

// livegraph is a running Livegraph with the first workspace's keys.
type livegraph struct {
	address, metrics, dir string
	workspace             string
	admin, writer         string // API keys; writer is for Prometheus
	process               *exec.Cmd
}

func startLivegraph(t *testing.T) *livegraph {
	t.Helper()
	l := &livegraph{address: freeAddress(t), metrics: freeAddress(t), dir: t.TempDir()}
	l.start(t)
	var first struct{ WorkspaceID, AdminKey string }
	text, err := os.ReadFile(filepath.Join(l.dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	l.workspace, l.admin = first.WorkspaceID, first.AdminKey
	made, err := exec.Command(binary, "keys", "create", "--data-dir", l.dir, "--workspace", l.workspace,
		"--name", "prometheus", "--scope", "write:livedata", "--json").Output()
	require.NoError(t, err)
	var writer struct{ Key string }
	require.NoError(t, json.Unmarshal(made, &writer))
	l.writer = writer.Key
	return l
}

// start starts Livegraph on the same addresses as before.
func (l *livegraph) start(t *testing.T) {
	t.Helper()
	l.process = run(
		t, "livegraph", binary, "serve", "--listen", l.address, "--data-dir", l.dir, "--metrics-listen", l.metrics,
		"--log-level", "warn",
	)
	waitReady(t, l.address+"/readyz")
}

// points returns the points of a source's metric since a time, by milliseconds.
func (l *livegraph) points(t *testing.T, source, metric string, from time.Time) map[int64]float64 {
	t.Helper()
	query := url.Values{
		"source": {source}, "metric": {metric}, "from": {fmt.Sprint(from.UnixMilli())}, "epoch": {"ms"},
		"pointsLimit": {"10000"},
	}
	request, err := http.NewRequest(http.MethodGet, "http://"+l.address+"/api/live-data/query?"+query.Encode(), nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+l.admin)
	request.Header.Set("X-Workspace-Id", l.workspace)
	var answer struct {
		Data []struct{ Points [][2]float64 }
	}
	get(t, request, &answer)
	points := map[int64]float64{}
	for _, series := range answer.Data {
		for _, point := range series.Points {
			points[int64(point[0])] = point[1]
		}
	}
	return points
}

// metadata returns the types and descriptions of metrics that a server with the API of Prometheus has.
func metadata(t *testing.T, l *livegraph, base string) map[string][]struct{ Type, Help string } {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+base+"/api/v1/metadata", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+l.admin)
	request.Header.Set("X-Workspace-Id", l.workspace)
	var answer struct {
		Data map[string][]struct{ Type, Help string }
	}
	get(t, request, &answer)
	return answer.Data
}

// get sends a request and decodes the JSON of the answer.
func get(t *testing.T, request *http.Request, into any) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	require.NoError(t, json.Unmarshal(body, into))
}

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// build compiles Prometheus without service discovery, which a list of addresses does not need.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "prometheus")
	text, err := exec.Command(
		"go", "build", "-tags", "remove_all_sd", "-o", program, "github.com/prometheus/prometheus/cmd/prometheus",
	).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return program
}

// documented returns the part of a configuration in docs/formats.md that follows a comment.
func documented(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/formats.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "<!-- "+comment+" -->\n```yaml\n")
	require.True(t, found)
	text, _, found := strings.Cut(after, "```\n")
	require.True(t, found)
	return text
}

// startPrometheus runs a Prometheus with the documented configuration and a short scrape interval, which
// sends a message of remote write. It scrapes itself, too.
func startPrometheus(t *testing.T, l *livegraph, message string) *prometheus {
	t.Helper()
	p := &prometheus{address: freeAddress(t)}
	text := documented(t, "test/prometheus runs a Prometheus with this")
	for _, change := range [][2]string{
		{"127.0.0.1:8080", l.address}, {"API_KEY", l.writer}, {"WORKSPACE_ID", l.workspace},
		{"scrape_interval: 15s", "scrape_interval: 200ms"},
		{
			"    static_configs:\n      - targets: [\"127.0.0.1:9464\"]\n",
			fmt.Sprintf("    static_configs: [{targets: [%q]}]\n"+
				"  - job_name: prometheus\n    static_configs: [{targets: [%q]}]\n", l.metrics, p.address),
		},
		{"/api/v1/write\n", "/api/v1/write\n    protobuf_message: " + message +
			"\n    metadata_config: {send_interval: 1s}\n"},
	} {
		require.Contains(t, text, change[0])
		text = strings.Replace(text, change[0], change[1], 1)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	run(
		t, "prometheus", build(t), "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", p.address,
	)
	waitReady(t, p.address+"/-/ready")
	return p
}

// samples returns the samples of a selector in Prometheus in a time range, by milliseconds.
func (p *prometheus) samples(t *testing.T, selector string, from, to time.Time) map[int64]float64 {
	t.Helper()
	query := url.Values{
		"query": {fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds())},
		"time":  {fmt.Sprintf("%.3f", float64(to.UnixMilli())/1000)},
	}
	request, err := http.NewRequest(http.MethodGet, "http://"+p.address+"/api/v1/query?"+query.Encode(), nil)
	require.NoError(t, err)
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	get(t, request, &answer)
	samples := map[int64]float64{}
	for _, series := range answer.Data.Result {
		for _, value := range series.Values {
			seconds, isNumber := value[0].(float64)
			require.True(t, isNumber)
			var number float64
			_, err := fmt.Sscan(fmt.Sprint(value[1]), &number)
			require.NoError(t, err)
			samples[int64(seconds*1000+0.5)] = number
		}
	}
	return samples
}

// ownMetric returns the current sum of one of Prometheus's own metrics.
func (p *prometheus) ownMetric(t *testing.T, metric string) (sum float64) {
	t.Helper()
	response, err := http.Get("http://" + p.address + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	found := false
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, metric+"{") && !strings.HasPrefix(line, metric+" ") {
			continue
		}
		var value float64
		_, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &value)
		require.NoError(t, err)
		sum, found = sum+value, true
	}
	require.True(t, found, metric)
	return sum
}
