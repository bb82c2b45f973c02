package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const (
	deploy = "../../deploy/grafana/"
	binary = "../../bin/livegraph" // written by make build
)

type dashboard struct {
	UID    string
	Panels []struct {
		Title, Type string
		Targets     []Query
	}
	Templating struct {
		List []struct {
			Name  string
			Query struct{ InfinityQuery Query }
		}
	}
}

// readDataSource reads the provisioned data source in the same way as Grafana, with the given
// environment.
func readDataSource(t *testing.T, env map[string]string) *DataSource {
	t.Helper()
	text, err := os.ReadFile(deploy + "provisioning/datasources/livegraph-data.yml")
	require.NoError(t, err)
	var file struct {
		Datasources []struct {
			URL            string            `yaml:"url"`
			JSONData       map[string]any    `yaml:"jsonData"`
			SecureJSONData map[string]string `yaml:"secureJsonData"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(os.Expand(string(text), func(name string) string {
		return env[name]
	})), &file))
	source := file.Datasources[0]
	require.Equal(t, "bearerToken", source.JSONData["auth_method"])
	require.Equal(t, []any{source.URL}, source.JSONData["allowedHosts"])
	require.Equal(t, true, source.JSONData["customHealthCheckEnabled"])
	health, _ := source.JSONData["customHealthCheckUrl"].(string)
	require.True(t, strings.HasPrefix(health, source.URL), health)
	return &DataSource{URL: source.URL, Health: strings.TrimPrefix(health, source.URL), Headers: map[string]string{
		"Authorization": "Bearer " + source.SecureJSONData["bearerToken"],
		source.JSONData["httpHeaderName1"].(string): source.SecureJSONData["httpHeaderValue1"],
	}}
}

// server is a running Livegraph with the first workspace's keys.
type server struct {
	url, workspace string
	admin, reader  string // API keys; reader is the one for Grafana in docs/grafana.md
}

// environment returns the environment of Grafana.
func (s *server) environment() map[string]string {
	return map[string]string{"LIVEGRAPH_URL": s.url, "LIVEGRAPH_API_KEY": s.reader, "LIVEGRAPH_WORKSPACE_ID": s.workspace}
}

// start runs the built binary.
func start(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	process := exec.Command(binary, "serve", "--listen", address, "--data-dir", dir, "--metrics-listen", "off")
	process.Stdout, process.Stderr = log, log
	require.NoError(t, process.Start(), "make build first")
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		require.NoError(t, process.Wait())
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", text)
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	var first struct{ WorkspaceID, AdminKey string }
	text, err := os.ReadFile(filepath.Join(dir, "first-run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &first))
	made, err := exec.Command(binary, "keys", "create", "--data-dir", dir, "--workspace", first.WorkspaceID,
		"--name", "grafana", "--scope", "read:livedata", "--json").Output()
	require.NoError(t, err)
	var reader struct{ Key string }
	require.NoError(t, json.Unmarshal(made, &reader))
	return &server{url: "http://" + address, workspace: first.WorkspaceID, admin: first.AdminKey, reader: reader.Key}
}

// post sends a body and returns the answer's data.
func (s *server) post(t *testing.T, path string, body any) (answer struct{ ID, Checkpoint string }) {
	t.Helper()
	payload, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewReader(payload))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Authorization": "Bearer " + s.admin, "X-Workspace-Id": s.workspace, "Content-Type": "application/json",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusCreated, response.StatusCode)
	var envelope struct {
		Data *struct{ ID, Checkpoint string }
	}
	envelope.Data = &answer
	require.NoError(t, json.NewDecoder(response.Body).Decode(&envelope))
	return answer
}

// series is a source and its ingested values by minute.
type series struct {
	id      string
	minutes map[int64][]float64
}

// ingest sends five minutes of two sources and waits until they are visible. The second has no points
// in one minute. It returns the sources by name.
func (s *server) ingest(t *testing.T, grafana *DataSource, begin time.Time) map[string]series {
	t.Helper()
	sent := map[string]series{}
	for n, name := range []string{"boiler", "fan, left"} {
		one := series{s.post(t, "/api/live-data/sources", map[string]any{"name": name}).ID, map[int64][]float64{}}
		var points []any
		for i := range 30 {
			if n == 1 && i/6 == 2 {
				continue
			}
			at := begin.Add(time.Duration(i) * 10 * time.Second)
			value := float64(100*n+i) + 0.25
			points = append(points, map[string]any{"metric": "temperature", "timestamp": at.UnixMilli(), "value": value})
			minute := at.Truncate(time.Minute).UnixMilli()
			one.minutes[minute] = append(one.minutes[minute], value)
		}
		checkpoint := s.post(t, "/api/live-data/ingest", map[string]any{"sourceId": one.id, "points": points}).Checkpoint
		_, err := grafana.get("/api/live-data/query", url.Values{"checkpoint": {checkpoint}})
		require.NoError(t, err)
		sent[name] = one
	}
	return sent
}

// column returns the values of the field with the source's label, by time.
func column(t *testing.T, frame *data.Frame, source string) map[int64]float64 {
	t.Helper()
	values := map[int64]float64{}
	for _, field := range frame.Fields[1:] {
		if field.Labels["sourceName"] != source {
			continue
		}
		for i := range field.Len() {
			if value, ok := field.ConcreteAt(i); ok {
				values[frame.Fields[0].At(i).(time.Time).UnixMilli()] = value.(float64)
			}
		}
	}
	return values
}

// chooseAll runs the queries of a dashboard's variables and sets variables as if the user selected all
// options.
func (b *dashboard) chooseAll(t *testing.T, grafana *DataSource, sent map[string]series, variables map[string]string) {
	t.Helper()
	for _, v := range b.Templating.List {
		body, err := grafana.Fetch(&v.Query.InfinityQuery, variables)
		require.NoError(t, err, v.Name)
		options, err := v.Query.InfinityQuery.Options(body)
		require.NoError(t, err, v.Name)
		switch v.Name {
		case "source":
			ids := map[string]string{}
			for name, one := range sent {
				ids[name] = one.id
			}
			require.Equal(t, ids, options)
			variables["source:csv"] = strings.Join(slices.Sorted(maps.Values(ids)), ",")
		case "metric":
			require.Equal(t, map[string]string{"temperature": "temperature"}, options)
			variables["metric"] = "temperature"
		default:
			t.Errorf("variable %s is not tested", v.Name)
		}
	}
}

// charts returns the aggregation of a minute's values in each chart of the dashboard.
func charts() map[string]func([]float64) float64 {
	return map[string]func([]float64) float64{
		"$metric, average": func(v []float64) (mean float64) {
			for _, x := range v {
				mean += x / float64(len(v))
			}
			return mean
		},
		"$metric, highest": slices.Max[[]float64],
		"Points received":  func(v []float64) float64 { return float64(len(v)) },
	}
}

func TestTheDashboardShowsWhatWasIngested(t *testing.T) {
	s := start(t)
	grafana := readDataSource(t, s.environment())
	_, err := grafana.get(grafana.Health, nil)
	require.NoError(t, err, "what the button Save & test asks for is there for a key that only reads")
	begin := time.Now().Add(-10 * time.Minute).Truncate(time.Minute)
	sent := s.ingest(t, grafana, begin)

	text, err := os.ReadFile(deploy + "dashboards/livegraph-data.json")
	require.NoError(t, err)
	var board dashboard
	require.NoError(t, json.Unmarshal(text, &board))
	variables := map[string]string{
		"__from": fmt.Sprint(begin.UnixMilli()), "__to": fmt.Sprint(begin.Add(10 * time.Minute).UnixMilli()),
		"__interval": "1m",
	}
	board.chooseAll(t, grafana, sent, variables)

	shows := charts()
	require.Len(t, board.Panels, len(shows)+1)
	for _, panel := range board.Panels {
		query := &panel.Targets[0]
		body, err := grafana.Fetch(query, variables)
		require.NoError(t, err, panel.Title)
		frame, err := query.Frame(body)
		require.NoError(t, err, "%s: %s", panel.Title, body)
		if panel.Type == "table" {
			requireLatest(t, frame, sent)
			continue
		}
		require.Contains(t, shows, panel.Title)
		require.Len(t, frame.Fields, 1+len(sent), "%s: the time and a field for each source", panel.Title)
		for name, one := range sent {
			want := map[int64]float64{}
			for minute, values := range one.minutes {
				want[minute] = shows[panel.Title](values)
			}
			require.InDeltaMapValues(t, want, column(t, frame, name), 1e-9, "%s of %s", panel.Title, name)
		}
	}
}

// requireLatest requires that a table contains each source's last value.
func requireLatest(t *testing.T, frame *data.Frame, sent map[string]series) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for name, one := range sent {
		last := one.minutes[slices.Max(slices.Collect(maps.Keys(one.minutes)))]
		want[name] = strconv.FormatFloat(last[len(last)-1], 'f', -1, 64)
	}
	names, _ := frame.FieldByName("sourceName")
	values, _ := frame.FieldByName("value")
	require.NotNil(t, names)
	require.NotNil(t, values)
	for i := range names.Len() {
		got[*names.At(i).(*string)] = *values.At(i).(*string)
	}
	require.Equal(t, want, got)
}
