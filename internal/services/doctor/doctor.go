// Package doctor checks the engines that Livegraph uses (availability, version,
// latency, disk usage), the replicas and settings of the topics, the retention of
// the log and the disk of the data directory, and returns advice for each problem.
//
// The checks only read, and they are independent of each other: an engine that
// is down is a finding, not an error.
package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/clickhouseurl"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// Status is the outcome of a check.
type Status string

// The statuses, from good to bad.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but needs attention
	Failed  Status = "failed"  // does not work
)

// Result is one finding.
type Result struct {
	// "postgres", "clickhouse", "kafka", "redis", "milvus", "embedder", "topics", "retention", "disk", …
	Name      string  `json:"name"`
	Status    Status  `json:"status"`
	Address   string  `json:"address,omitempty"` // without credentials
	Version   string  `json:"version,omitempty"`
	LatencyMS float64 `json:"latencyMs,omitempty"` // of a trivial call, median of three
	DiskBytes *int64  `json:"diskBytes,omitempty"` // disk usage of the engine's data; absent: unknown
	Detail    string  `json:"detail"`              // what was found
	Advice    string  `json:"advice,omitempty"`    // how to fix it
}

// Target has the addresses and settings to check. An engine without an address is reported as failed.
type Target struct {
	KafkaBrokers  []string
	KafkaSecurity config.KafkaSecurity
	ClickHouseURL string
	// ClickHouseCluster is the cluster of the tables; empty: they are on one server.
	ClickHouseCluster string
	PostgresURL       string
	Postgres          config.Postgres // the URLs beside PostgresURL, and the settings of the replica
	RedisURL          string
	MilvusAddress     string
	MilvusToken       string
	Capabilities      config.Capabilities
	Embedder          config.Embedder // not checked if empty: it is optional
	Chat              config.Chat     // likewise
	Rerank            config.Rerank   // likewise

	RedisSentinel                      config.RedisSentinel // login to the Sentinels of RedisURL
	ClickHouseTLS, RedisTLS, MilvusTLS config.EngineTLS
	Listener                           config.TLS // the API's own certificate

	TopicPrefix      string  // of the topics that are checked
	PointsTopic      string  // the topic whose retention is checked
	PointsGroup      string  // the consumer group whose lag is checked against it
	LogFullThreshold float64 // share of the retention at which ingest refuses

	MetricsListen string // configured listen address of the metrics, or off; empty: not checked
	MetricsURL    string // metrics of the server that uses the data directory; empty: metrics are off, or no server runs
	ServerRuns    bool   // a server that uses the data directory is running

	SharesAddresses bool // all API clients may appear to have the same address

	DataDir string // checked for disk space; empty: not checked
}

// checkTimeout is the timeout of each check; a slower engine is reported as failed.
const checkTimeout = 10 * time.Second

// check is a named check. It may return several results.
type check struct {
	name string
	run  func(context.Context, Target) []Result
}

// checks are all checks, in the order of their results.
var checks = []check{
	{"postgres", checkPostgres},
	{"postgres replica", checkPostgresReplica},
	{"clickhouse", checkClickHouse},
	{"kafka", checkKafka},
	{"redis", checkRedis},
	{"milvus", checkMilvus},
	{"embedder", checkEmbedder},
	{"chat model", checkChat},
	{"reranker", checkRerank},
	{"certificate", checkCertificate},
	{"proxies", checkProxies},
	{"metrics", checkMetrics},
	{"disk", checkDisk},
	{"first-run.json", checkFirstRun},
}

// Check runs all checks concurrently.
func Check(ctx context.Context, target Target) []Result {
	found := make([][]Result, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			found[i] = c.run(ctx, target)
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}

// Healthy reports whether no check failed.
func Healthy(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool { return r.Status == Failed })
}

// failed returns the result for an engine that cannot be used.
func failed(name, address string, err error, advice string) []Result {
	return []Result{{Name: name, Status: Failed, Address: address, Detail: err.Error(), Advice: advice}}
}

// missing returns the result for an engine without an address.
func missing(name, variable string) []Result {
	return []Result{{Name: name, Status: Failed, Detail: "has no address, and no server runs on the data directory",
		Advice: "start one with `livegraph serve`, or set " + variable}}
}

// warn sets the status to Warning and appends detail and advice.
func (r *Result) warn(detail, advice string) {
	r.Status = Warning
	r.Detail += "; " + detail
	if r.Advice != "" {
		r.Advice += "; "
	}
	r.Advice += advice
}

// latencyProbes is the number of calls for the median latency.
const latencyProbes = 3

// medianLatency returns the median duration of a call, in milliseconds.
func medianLatency(call func() error) (float64, error) {
	var durations []time.Duration
	for range latencyProbes {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		durations = append(durations, time.Since(start))
	}
	slices.SortFunc(durations, cmp.Compare)
	return float64(durations[len(durations)/2].Microseconds()) / 1000, nil
}

// redactURL returns a URL without its credentials and parameters.
func redactURL(address string) string {
	u, hosts, err := clickhouseurl.Parse(address) // the URLs of other engines have the same form
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if len(hosts) > 1 {
		u.Host = strings.Join(hosts, ",")
	}
	return u.String()
}
