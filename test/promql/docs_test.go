package promql_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// TestTheExamplesOfTheDocumentationWork runs the commands of docs/promql.md, and reads as Grafana does with
// its data source.
func TestTheExamplesOfTheDocumentationWork(t *testing.T) {
	requireFull(t)
	page := read(t, "docs/promql.md")
	s := startServer(t)
	status, answer := s.do(t, http.MethodPost, "/api/live-data/ingest", "text/plain", []byte("pump,side=left temperature=71.5"))
	require.Equal(t, http.StatusCreated, status, "%s", answer)
	var envelope struct{ Data ingested }
	require.NoError(t, json.Unmarshal(answer, &envelope))
	s.await(t, envelope.Data.Checkpoint)

	commands := regexp.MustCompile("(?s)<!-- test/promql runs these -->\n```sh\n(.*?)```").FindStringSubmatch(page)
	require.NotNil(t, commands)
	shell := exec.Command("sh", "-e", "-c", commands[1])
	shell.Env = append(os.Environ(), "LIVEGRAPH_URL="+s.url, "LIVEGRAPH_API_KEY="+s.admin)
	output, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", output)
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `^\{"status":"success","data":\{"resultType":"vector","result":\[\{"metric":\{"source":"pump"\},`+
		`"value":\[[0-9.]+,"71.5"\]\}\]\}\}$`, lines[0])
	require.Equal(t, `{"status":"success","data":["temperature"]}`, lines[1])

	s.readAsGrafana(t, page)
}

// readAsGrafana sends the requests of Grafana's data source of type Prometheus, as the page configures it.
func (s *server) readAsGrafana(t *testing.T, page string) {
	t.Helper()
	block := regexp.MustCompile("(?s)<!-- test/promql reads this -->\n *```yaml\n(.*?)```").FindStringSubmatch(page)
	require.NotNil(t, block)
	var file struct {
		Datasources []struct {
			Type, URL      string
			BasicAuth      bool              `yaml:"basicAuth"`
			BasicAuthUser  string            `yaml:"basicAuthUser"`
			SecureJSONData map[string]string `yaml:"secureJsonData"`
			JSONData       map[string]string `yaml:"jsonData"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(os.Expand(block[1], func(name string) string {
		return map[string]string{"LIVEGRAPH_URL": s.url, "LIVEGRAPH_API_KEY": s.admin}[name]
	})), &file))
	source := file.Datasources[0]
	require.Equal(t, []any{"prometheus", true}, []any{source.Type, source.BasicAuth})
	for _, request := range []struct{ method, path, body, want string }{
		{http.MethodPost, "/api/v1/query", "query=1%2B1&time=1772323200", `"2"`}, // the button Save & test
		{http.MethodGet, "/api/v1/status/buildinfo", "", `"version":"` + source.JSONData["prometheusVersion"] + `"`},
		{http.MethodPost, "/api/v1/labels", "match%5B%5D=temperature", `"side"`},
		{http.MethodGet, "/api/v1/label/source/values", "", `"pump"`},
		{http.MethodGet, "/api/v1/metadata?limit=10", "", `"data":{}`},
		{http.MethodPost, "/api/v1/series", "match%5B%5D=temperature&start=0&end=1", `"source":"pump"`},
		{
			http.MethodPost, "/api/v1/query_range", "query=temperature&start=1772323200&end=1772326800&step=15",
			`"resultType":"matrix"`,
		},
	} {
		r, err := http.NewRequest(request.method, source.URL+request.path, strings.NewReader(request.body))
		require.NoError(t, err)
		r.SetBasicAuth(source.BasicAuthUser, source.SecureJSONData["basicAuthPassword"])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		var body json.RawMessage
		require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		require.Contains(t, string(body), request.want)
	}
}
