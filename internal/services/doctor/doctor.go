// Package doctor looks at what Livegraph stands on, and says what to do about
// what is wrong: each engine (does it answer, as what version, how fast, how
// much disk does it take), the log's retention, the data directory's disk.
//
// It only reads, and it needs none of the others to look at one: an engine that
// is down is a finding, not an error.
package doctor

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// Status says how a check went.
type Status string

// The statuses, from good to bad.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but look at it
	Failed  Status = "failed"  // does not work
)

// Result is one finding.
type Result struct {
	// "postgres", "clickhouse", "kafka", "redis", "milvus", "embedder", "retention", "disk", …
	Name      string  `json:"name"`
	Status    Status  `json:"status"`
	Address   string  `json:"address,omitempty"` // without credentials
	Version   string  `json:"version,omitempty"`
	LatencyMS float64 `json:"latencyMs,omitempty"` // of a trivial call, median of three
	DiskBytes *int64  `json:"diskBytes,omitempty"` // what the engine's data take; absent: not known
	Detail    string  `json:"detail"`              // what was found
	Advice    string  `json:"advice,omitempty"`    // what to do
}

// Target is what to look at. An engine without an address is reported as failed.
type Target struct {
	KafkaBrokers  []string
	KafkaSecurity config.KafkaSecurity
	ClickHouseURL string
	PostgresURL   string
	RedisURL      string
	MilvusAddress string
	MilvusToken   string
	Capabilities  config.Capabilities
	Embedder      config.Embedder // not looked at while it is empty: nothing needs it

	ClickHouseTLS, RedisTLS, MilvusTLS config.EngineTLS
	Listener                           config.TLS // the API's own certificate

	PointsTopic      string  // the topic whose retention is looked at
	PointsGroup      string  // the consumer group that must not fall behind it
	LogFullThreshold float64 // share of the retention at which ingest refuses

	MetricsListen string // where a server is to listen for scrapes, or off; empty: not looked at
	MetricsURL    string // where the server on the data directory answers them; empty: it does not, or none runs
	ServerRuns    bool   // one does, on the data directory

	SharesAddresses bool // all callers of the API may seem to have one address

	DataDir string // looked at for disk space; empty: not looked at
}

// checkLimit bounds each check; an engine that takes longer is as good as down.
const checkLimit = 10 * time.Second

// check is one look at one thing. It may add findings to the first.
type check struct {
	name string
	run  func(context.Context, Target) []Result
}

// checks in the order in which they are reported.
var checks = []check{
	{"postgres", checkPostgres},
	{"clickhouse", checkClickHouse},
	{"kafka", checkKafka},
	{"redis", checkRedis},
	{"milvus", checkMilvus},
	{"embedder", checkEmbedder},
	{"certificate", checkCertificate},
	{"proxies", checkProxies},
	{"metrics", checkMetrics},
	{"disk", checkDisk},
	{"first-run.json", checkFirstRun},
}

// Check makes all checks at the same time.
func Check(ctx context.Context, target Target) []Result {
	found := make([][]Result, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkLimit)
			defer cancel()
			found[i] = c.run(ctx, target)
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}

// Healthy reports whether nothing failed.
func Healthy(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool { return r.Status == Failed })
}

// failed makes the result of an engine that cannot be used.
func failed(name, address string, err error, advice string) []Result {
	return []Result{{Name: name, Status: Failed, Address: address, Detail: err.Error(), Advice: advice}}
}

// missing makes the result of an engine that has no address.
func missing(name, variable string) []Result {
	return []Result{{Name: name, Status: Failed, Detail: "has no address, and no server runs on the data directory",
		Advice: "start one with `livegraph serve`, or set " + variable}}
}

// warn lowers a result to a warning and adds what is to be said.
func (r *Result) warn(detail, advice string) {
	r.Status = Warning
	r.Detail += "; " + detail
	if r.Advice != "" {
		r.Advice += "; "
	}
	r.Advice += advice
}

// latencyProbes is how many calls the latency is the median of.
const latencyProbes = 3

// latency is the median time of a call, in milliseconds.
func latency(call func() error) (float64, error) {
	var took []time.Duration
	for range latencyProbes {
		began := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.SortFunc(took, cmp.Compare)
	return float64(took[len(took)/2].Microseconds()) / 1000, nil
}

// shown is a URL without its credentials and parameters.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
