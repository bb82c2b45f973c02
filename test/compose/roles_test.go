package compose

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

const healthyLimit = 60 * time.Second

// role is a service of the stack as a local process.
type role struct {
	*harness.Server
	service types.ServiceConfig
}

// process prepares a service's process: the binary with the service's settings, except for the
// addresses of the stores.
func process(t *testing.T, binary string, service types.ServiceConfig, stores map[string]string) *role {
	t.Helper()
	r := &role{Server: harness.New(t, binary), service: service}
	require.NoError(t, os.MkdirAll(r.DataDir, 0o700))
	for name, value := range environment(service) {
		if other, is := stores[name]; is {
			value = other
		}
		r.Env = append(r.Env, name+"="+value)
	}
	for name, value := range stores { // the stack's Kafka has no login, but the test's has
		if strings.HasPrefix(name, "LIVEGRAPH_KAFKA_SASL_") {
			r.Env = append(r.Env, name+"="+value)
		}
	}
	return r
}

// isHealthy performs the service's health check.
func (r *role) isHealthy(t *testing.T) bool {
	t.Helper()
	inContainer := environment(r.service)
	check := r.service.HealthCheck.Test
	require.Equal(t, "CMD", check[0])
	last := check[len(check)-1]
	switch check[1] {
	case "wget":
		at, err := url.Parse(last)
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(inContainer["LIVEGRAPH_LISTEN"])
		require.NoError(t, err)
		require.Equal(t, port, at.Port())
		client := http.Client{Timeout: 3 * time.Second}
		answer, err := client.Get("http://" + r.Listen + at.Path)
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	case "test":
		require.Equal(t, "-s", check[2])
		file, under := strings.CutPrefix(last, inContainer["LIVEGRAPH_DATA_DIR"]+"/")
		require.True(t, under, "%s is not in the data directory", last)
		info, err := os.Stat(filepath.Join(r.DataDir, file))
		return err == nil && info.Size() > 0
	default:
		require.Fail(t, "this test does not know how to do the health check", "%v", check)
		return false
	}
}

func (r *role) waitHealthy(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return r.isHealthy(t) }, healthyLimit, 50*time.Millisecond,
		"%s is not healthy by its own health check", r.service.Name)
}

// TestTheRolesWorkTogetherWithTheirSettings runs Livegraph's services as local processes on embedded
// engines, with the environment and the health checks of docker-compose.yml.
func TestTheRolesWorkTogetherWithTheirSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the engines")
	}
	binary, err := harness.Build()
	require.NoError(t, err)
	stores := map[string]string{
		"LIVEGRAPH_CLICKHOUSE_URL": testenv.ClickHouse(t),
		"LIVEGRAPH_POSTGRES_URL":   testenv.Postgres(t),
		"LIVEGRAPH_REDIS_URL":      testenv.Redis(t),
		"LIVEGRAPH_MILVUS_ADDRESS": testenv.Milvus(t),
	}
	for _, setting := range kafkatest.NewKFake(t).Settings() {
		name, value, _ := strings.Cut(setting, "=")
		stores[name] = value
	}
	project := stack(t)
	stores["LIVEGRAPH_EMBEDDER"] = startEmbedder(t, project.Services[embedderService])
	api := process(t, binary, project.Services[apiService], stores)
	points := process(t, binary, project.Services[pointsService], stores)
	commands := process(t, binary, project.Services[commandsService], stores)
	index := process(t, binary, project.Services[indexService], stores)

	require.False(t, api.isHealthy(t))
	api.Start()
	api.waitHealthy(t)

	// A point is accepted without a consumer, and visible once a consumer runs.
	var accepted struct{ Checkpoint string }
	api.Do("POST", "/api/live-data/sources", map[string]any{"name": "smoke"}, http.StatusCreated, nil)
	api.Do("POST", "/api/live-data/ingest", map[string]any{
		"source": "smoke", "points": []any{map[string]any{"metric": "temperature", "value": 71.5}},
	}, http.StatusCreated, &accepted)
	require.False(t, points.isHealthy(t))
	points.Launch()
	points.waitHealthy(t)
	require.NoFileExists(t, filepath.Join(points.DataDir, "first-run.json"), "the API's process has set it up")

	query := "/api/live-data/query?" + url.Values{"source": {"smoke"}, "checkpoint": {accepted.Checkpoint}}.Encode()
	var groups []struct{ Points [][]any }
	api.Do("GET", query, nil, http.StatusOK, &groups)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].Points, 1)
	require.InDelta(t, 71.5, groups[0].Points[0][1], 0)

	// The embedder accepts Livegraph's key.
	var findings []doctor.Result
	require.NoError(t, json.Unmarshal([]byte(api.CLI("doctor", "--json")), &findings))
	at := slices.IndexFunc(findings, func(r doctor.Result) bool { return r.Name == "embedder" })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, doctor.OK, findings[at].Status, findings[at].Detail)
	require.Equal(t, "all-MiniLM-L6-v2 (384 dimensions)", findings[at].Detail)
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + api.Metrics + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		metrics, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(metrics), `livegraph_engine_up{engine="embedder"} 1`)
	}, healthyLimit, 50*time.Millisecond, "it is not watched")

	// A command accepted before the consumer starts is executed by it.
	node := map[string]any{"type": "CREATE_NODE", "payload": map[string]any{"name": "smoke", "entityType": "object"}}
	answered := make(chan int, 1)
	go func() {
		body, _ := json.Marshal(node)
		a, err := api.Try("POST", "/api/commands/execute", body)
		if err != nil {
			a.Status = 0
		}
		answered <- a.Status
	}()
	commands.Launch()
	commands.waitHealthy(t)
	require.Contains(t, []int{http.StatusCreated, http.StatusGatewayTimeout}, <-answered)
	var nodes []struct{ Name string }
	require.Eventually(t, func() bool {
		api.Do("GET", "/api/queries/nodes", nil, http.StatusOK, &nodes)
		return len(nodes) == 1 && nodes[0].Name == "smoke"
	}, time.Minute, 50*time.Millisecond)

	// The node's text is indexed with the embedder of the stack.
	index.Launch()
	index.waitHealthy(t)
	built := index.CLI("reindex", "--wait", "--json")
	require.Contains(t, built, `"done":1,"total":1`)
	require.Contains(t, built, "all-MiniLM-L6-v2")

	for name, r := range map[string]*role{
		apiService: api, pointsService: points, commandsService: commands, indexService: index,
	} {
		before := time.Now()
		require.Zero(t, r.Stop(), "%s", name)
		require.Less(t, time.Since(before), time.Duration(*r.service.StopGracePeriod), "%s", name)
	}
	require.False(t, points.isHealthy(t))
}
