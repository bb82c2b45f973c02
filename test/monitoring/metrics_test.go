package monitoring

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

const metricsDoc = "../../docs/metrics.md"

func TestMetricsOfAServerUnderLoad(t *testing.T) {
	s := harness.New(t, binary)
	s.Start()
	c := newTenant(t, s)
	c.load(t, 1)
	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGTERM))
	t.Run("the end can be watched", func(t *testing.T) {
		require.Eventually(t, func() bool {
			text, err := tryScrape(s)
			return err == nil && strings.Contains(text, "\nlivegraph_http_draining 1\n")
		}, time.Minute, 5*time.Millisecond)
		require.Zero(t, s.Stop())
	})

	s.Start() // with stored data, whose size is measured at the start
	c.load(t, 2)
	t.Run("every metric is documented", func(t *testing.T) { checkDocumentation(t, s) })
	t.Run("labels are of closed sets and name no tenant", func(t *testing.T) { checkLabels(t, c) })
	t.Run("nothing that clients send makes series", func(t *testing.T) { checkCardinality(t, c) })
	t.Run("profiles are served", func(t *testing.T) {
		response, err := http.Get("http://" + s.Metrics + "/debug/pprof/goroutine?debug=1")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
	})
	t.Run("a port that is taken is said by its setting", func(t *testing.T) {
		other := harness.New(t, binary)
		other.Metrics = s.Metrics
		output, code := other.RunServe()
		require.NotZero(t, code)
		require.Contains(t, output, "cannot listen for metrics on "+s.Metrics)
		require.Contains(t, output, "--metrics-listen")
	})
}

func TestMetricsCanBeTurnedOff(t *testing.T) {
	s := harness.New(t, binary)
	s.Metrics = "off"
	s.Start()
	require.Zero(t, s.Stop())
}

// isOwnMetric reports whether the name is of a metric of Livegraph, not of a library.
func isOwnMetric(name string) bool { return strings.HasPrefix(name, "livegraph_") }

// checkDocumentation compares the metrics with docs/metrics.md.
func checkDocumentation(t *testing.T, s *harness.Server) {
	if !*update {
		published, err := os.ReadFile(metricsDoc)
		require.NoError(t, err)
		deadline := time.Now().Add(30 * time.Second) // some are measured once a second or so
		for {
			_, families := scrape(t, s)
			made := renderDoc(families)
			if made == string(published) {
				return
			}
			if time.Now().After(deadline) {
				require.Equal(t, string(published), made, "docs/metrics.md is stale: go test ./test/monitoring -update")
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	time.Sleep(10 * time.Second) // -update runs by hand
	_, families := scrape(t, s)
	require.NoError(t, os.WriteFile(filepath.FromSlash(metricsDoc), []byte(renderDoc(families)), 0o644))
}

const docHead = "# Metrics\n" +
	"\n" +
	"Every process serves these metrics in the Prometheus format at `/metrics` of `--metrics-listen` (by default\n" +
	"127.0.0.1:9464; `off` for none). The same listener serves Go's profiles at `/debug/pprof/`. Neither requires a\n" +
	"key, so do not expose the listener.\n" +
	"\n" +
	"No label names a workspace, a source, a metric or a key, and all labels have few values, so the number of series\n" +
	"does not grow with use. Units are seconds and bytes. A process without a role does not have the metrics of that\n" +
	"role. There are also those of the Go runtime (`go_…`), of the process (`process_…`) and of the scrapes\n" +
	"themselves (`promhttp_…`).\n" +
	"\n" +
	"[deploy/prometheus](../deploy/prometheus) has a scrape configuration and alert rules,\n" +
	"[deploy/grafana](../deploy/grafana) a dashboard, and [operations.md](operations.md#alerts) what to do about each\n" +
	"alert.\n" +
	"\n" +
	"This page is generated from a running server: `go test ./test/monitoring -update`.\n" +
	"\n" +
	"| metric | type | labels | meaning |\n" +
	"|---|---|---|---|\n"

// renderDoc returns the content of docs/metrics.md.
func renderDoc(families map[string]*dto.MetricFamily) string {
	var out strings.Builder
	out.WriteString(docHead)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		if !isOwnMetric(name) {
			continue
		}
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels["`"+l.GetName()+"`"] = true
			}
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()),
			strings.Join(slices.Sorted(maps.Keys(labels)), ", "), family.GetHelp())
	}
	return out.String()
}

// allowedValues contains the allowed values of each label. Other labels fail the test.
var allowedValues = map[string]*regexp.Regexp{
	"cache": oneOf("known", "unknown", "series", "sources", "labels"), "read": oneOf("heaviest", "newest"),
	"work":     oneOf("deletions", "graphs", "log", "purges", "retention", "tombstones", "workspaces"),
	"consumer": oneOf("points", "commands", "embeddings", "lexical", "audit"),
	"role":     oneOf("api", "points", "commands", "embeddings", "audit", "rules"), "change": oneOf("written", "removed"),
	"group": regexp.MustCompile(`^livegraph-(points|commands|embeddings|lexical|audit)$`),
	"topic": oneOf("points", `graph\.commands`, `graph\.events`, "audit"), "use": regexp.MustCompile(`^[a-z_]{5,12}$`),
	"engine": oneOf("clickhouse", "embedder", "kafka", "milvus", "postgres", "redis", "valkey"),
	"pool":   oneOf("main", "keys", "reads", "bulk", "commands", "replica"),
	"by":     oneOf("redis", "memory", "process", "none"), "window": oneOf("minute", "day"),
	"method": oneOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"),
	// Templates of routes contain no digits, but all paths of checkCardinality do.
	"route":   regexp.MustCompile(`^(none|(/([a-z][a-z._-]*|v[12]|\{[a-zA-Z]+\}|\*))+)$`),
	"lane":    oneOf("text", "vector", "graph", "sentences", "rerank"),
	"missing": oneOf("text", "vector", "graph", "rerank", "liveData", "generation"),
	"support": oneOf("supported", "unsupported"),
	"status":  regexp.MustCompile(`^[2-5][0-9][0-9]$`),
	"stage":   oneOf("parse", "resolve", "encode", "produce", "begin", "decide", "commit"),
	"source":  oneOf("raw", "rollup_1h", "rollup_1m"),
	"action":  oneOf("create", "update", "delete"),
	"result": oneOf(
		"hit", "miss", "applied", "failed", "repeated", "done", "written", "removed", "same", "changed", "succeeded",
		"refused", "limited",
	), "what": regexp.MustCompile(`^([A-Z_]{4,11}|[a-z_]{5,20})$`),
	"table": oneOf(
		"points", "states", "latest", "source_activity", "series", "rollup_1m", "rollup_1h", "rollup_marks", "rollup_state",
		"audit",
	),
	"outcome": regexp.MustCompile(`^[a-z_]{4,16}$`),
	"target":  oneOf("replica", "primary"),
	"reason":  regexp.MustCompile(`^[a-z0-9_]{4,20}$`),
	"state": oneOf(
		"open", "redriven", "discarded", "done", "failed", "cancelled", "firing", "resolved", "queued", "running",
	),
	"algorithm": oneOf("degree", "pagerank", "components", "communities"),
	"kind":      regexp.MustCompile(`^[a-z]{4,12}$`),
	"code":      regexp.MustCompile(`^[2-5][0-9][0-9]$`),
	"cause":     regexp.MustCompile(`^[a-z]+$`),
	"quantile":  regexp.MustCompile(`^[0-9.]+$`), "partition": regexp.MustCompile(`^[0-9]{1,4}$`),
	"operation": regexp.MustCompile(
		`^(delete|expire|erase|(insert|query)_[a-z]+|alias|count|flush|list|search|upsert|delete_workspace|` +
			`(create|describe|drop|load)_collection)$`,
	), "statement": regexp.MustCompile(`^[a-z]+$`),
	"version": regexp.MustCompile(`^\S+$`), "go_version": regexp.MustCompile(`^go\S+$`),
}

func oneOf(values ...string) *regexp.Regexp {
	return regexp.MustCompile("^(" + strings.Join(values, "|") + ")$")
}

var (
	uuidForm    = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|[0-9a-fA-F]{32}`)
	canaryForm  = regexp.MustCompile(`(?i)canary`)
	keyForm     = regexp.MustCompile(`lg_(live|test)_`)
	requestForm = regexp.MustCompile(`req_[0-9A-Z]{26}`)
)

// checkLabels checks that a scrape contains no data of tenants and no unknown label values.
func checkLabels(t *testing.T, c *tenant) {
	text, families := scrape(t, c.Server)
	for _, form := range []*regexp.Regexp{uuidForm, keyForm, requestForm, canaryForm, regexp.MustCompile(c.workspace)} {
		require.Empty(t, form.FindString(text), form)
	}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				require.Contains(t, allowedValues, l.GetName(), name)
				require.Regexp(t, allowedValues[l.GetName()], l.GetValue(), "%s{%s}", name, l.GetName())
			}
		}
	}
}

// checkCardinality sends ten thousand different requests, and checks that they add few series.
func checkCardinality(t *testing.T, c *tenant) {
	const requests, workers, slack = 10_000, 4, 100
	seriesOf := func() int {
		text, _ := scrape(t, c.Server)
		return strings.Count(text, "\n") - strings.Count(text, "\n#")
	}
	before := seriesOf()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for n := worker; n < requests; n += workers {
				path := [...]string{
					"/api/nothing-%d", "/api/live-data/sources/%d", "/%d", "/api/docs/%d", "/admin/%d", "/admin/api/nothing-%d",
				}[n/workers%6]
				request, err := http.NewRequest(fmt.Sprintf("M%d", n), "http://"+c.Listen+fmt.Sprintf(path, n), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n%8 < workers {
					request.Method = http.MethodGet
				}
				request.Header.Set("User-Agent", fmt.Sprintf("agent/%d", n))
				request.Header.Set("Authorization", fmt.Sprintf("Bearer lg_live_%d", n))
				request.Header.Set("X-Workspace-Id", fmt.Sprint(n))
				if n%3 == 0 {
					request.Header.Set("Authorization", "Bearer "+c.key)
				}
				response, err := client.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
			}
		})
	}
	group.Wait()
	require.Less(t, seriesOf(), before+slack)
	checkLabels(t, c)
}
