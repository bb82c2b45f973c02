// Package config defines the configuration of Livegraph: every setting with its
// default, documentation and validation. kong fills it from flags, the environment
// and a YAML file, in that order of precedence.
package config

import (
	"log/slog"
	"slices"
	"time"

	"github.com/livegraph/livegraph/internal/platform/redisurl"
)

// Secret is a setting whose value is hidden in logs, in JSON and in the printed
// configuration. Reveal returns the value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String returns a mask, or "" if the value is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "********"
}

// LogValue returns the mask for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the mask for JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// roles are the roles that a process can have.
var roles = []string{"all", "api", "points", "commands", "embeddings", "audit", "rules"}

// Config has all settings of `livegraph serve`. If the address of an engine is empty,
// its embedded edition is started in DataDir.
type Config struct {
	Listen  string   `help:"Address of the API, host:port." default:"127.0.0.1:8080" env:"LIVEGRAPH_LISTEN"`
	DataDir string   `help:"Directory of all state: embedded engines, first-run.json, the run file." default:"./data" type:"path" env:"LIVEGRAPH_DATA_DIR"`
	Roles   []string `help:"Roles of this process: all, or any of api, points, commands, embeddings, audit, rules." default:"all" env:"LIVEGRAPH_ROLES"`

	TLS        TLS        `embed:"" prefix:"tls-"`
	Kafka      Kafka      `embed:"" prefix:"kafka-"`
	ClickHouse ClickHouse `embed:"" prefix:"clickhouse-"`
	Postgres   Postgres   `embed:"" prefix:"postgres-"`
	Redis      Redis      `embed:"" prefix:"redis-"`
	Milvus     Milvus     `embed:"" prefix:"milvus-"`
	Embedder   Embedder   `embed:""`
	Chat       Chat       `embed:"" prefix:"chat-"`
	Rerank     Rerank     `embed:"" prefix:"rerank-"`
	API        API        `embed:"" prefix:"api-"`
	Ingest     Ingest     `embed:"" prefix:"ingest-"`
	Streams    Streams    `embed:"" prefix:"streams-"`
	PromQL     PromQL     `embed:"" prefix:"promql-"`
	Rules      Rules      `embed:"" prefix:"rules-"`
	Analyses   Analyses   `embed:"" prefix:"analyses-"`
	Outbound   Outbound   `embed:"" prefix:"outbound-"`
	Points     Points     `embed:"" prefix:"points-"`
	Rollups    Rollups    `embed:"" prefix:"rollups-"`
	Graph      Graph      `embed:"" prefix:"graph-"`
	Commands   Commands   `embed:"" prefix:"commands-"`
	Lexical    Lexical    `embed:"" prefix:"lexical-"`
	Audit      Audit      `embed:"" prefix:"audit-"`
	Embeddings Embeddings `embed:"" prefix:"embeddings-"`
	Log        Log        `embed:"" prefix:"log-"`
	Tracing    Tracing    `embed:"" prefix:"tracing-"`
	Metrics    Metrics    `embed:"" prefix:"metrics-"`

	// Capabilities are set by the code that starts the engines. They are not a setting.
	Capabilities Capabilities `kong:"-"`
}

// Redis holds the settings of Redis, which has counters and caches.
type Redis struct {
	URL      Secret        `help:"URL of Redis or Valkey: redis://user:password@host:6379/0. Behind Sentinels: redis-sentinel://user:password@host:26379,host:26379/0?master=NAME. A Cluster: redis-cluster://user:password@host:6379,host:6379. For TLS rediss://…, rediss-sentinel://… and rediss-cluster://…. Without a user: the default user. Empty: embedded." env:"LIVEGRAPH_REDIS_URL"`
	Sentinel RedisSentinel `embed:"" prefix:"sentinel-"`
	TLS      EngineTLS     `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_REDIS_TLS_"`
}

// RedisSentinel is the login to the Sentinels. The URL has the login to the servers.
type RedisSentinel struct {
	Username string `help:"Username of the login to the Sentinels. Empty: their default user." env:"LIVEGRAPH_REDIS_SENTINEL_USERNAME"`
	Password Secret `help:"Password of the login to the Sentinels. Empty: no login." env:"LIVEGRAPH_REDIS_SENTINEL_PASSWORD"`
}

// validate checks the settings of Redis.
func (r *Redis) validate(invalid func(setting, format string, args ...any)) {
	var u redisurl.URL
	if r.URL != "" {
		var err error
		if u, err = redisurl.Parse(r.URL.Reveal()); err != nil {
			invalid("redis-url", "%s", err)
		}
	}
	r.TLS.validate("redis-tls", u.TLS, "--redis-url as rediss://…, rediss-sentinel://… or rediss-cluster://…", invalid)
	if r.Sentinel.Username != "" && r.Sentinel.Password == "" {
		invalid("redis-sentinel-username", "goes together with --redis-sentinel-password")
	}
	if r.Sentinel.Password != "" && u.Mode != redisurl.Sentinel {
		invalid("redis-sentinel-password", "is for --redis-url as redis-sentinel://… or rediss-sentinel://…")
	}
}

// API holds the limits of the HTTP listener.
type API struct {
	PublicURL       string        `help:"URL at which users reach the API. Default: derived from the address of the listener." env:"LIVEGRAPH_API_PUBLIC_URL"`
	CORSOrigins     []string      `help:"Origins from which browsers may call the API (CORS)." env:"LIVEGRAPH_API_CORS_ORIGINS"`
	TrustedProxies  []string      `help:"Networks (CIDR) of trusted proxies, whose X-Forwarded-For header is used." env:"LIVEGRAPH_API_TRUSTED_PROXIES"`
	ReadTimeout     time.Duration `help:"Timeout of reading a request." default:"60s" env:"LIVEGRAPH_API_READ_TIMEOUT"`
	QueryTimeout    time.Duration `help:"Timeout of a query. After it, the query is answered 504." default:"30s" env:"LIVEGRAPH_API_QUERY_TIMEOUT"`
	ShutdownTimeout time.Duration `help:"Maximum time to complete requests in flight after SIGTERM." default:"8s" env:"LIVEGRAPH_API_SHUTDOWN_TIMEOUT"`
	MaxHeaderBytes  int           `help:"Maximum size of a request header in bytes." default:"65536" env:"LIVEGRAPH_API_MAX_HEADER_BYTES"`
	MaxConnections  int           `help:"Maximum number of open connections." default:"4096" env:"LIVEGRAPH_API_MAX_CONNECTIONS"`
	MaxRequests     int           `help:"Maximum number of concurrent requests of each of two kinds: requests that change the graph, and all others except those that write points. Above it, requests are answered 503 immediately. Streams and probes do not count." default:"512" env:"LIVEGRAPH_API_MAX_REQUESTS"`
	MaxWrites       int           `help:"Maximum number of concurrent requests that write points. Above it, requests are answered 503 immediately. 0: 128 per processor." default:"0" env:"LIVEGRAPH_API_MAX_WRITES"`
	MaxPublic       int           `help:"Maximum number of concurrent logins, and of concurrent requests for files of the documentation and the admin UI. One address may use a quarter of each. Above it, requests are answered 503 immediately." default:"128" env:"LIVEGRAPH_API_MAX_PUBLIC"`
	LoggedPerSecond int           `help:"Maximum number of successful requests of a route that are logged per second. The next line of the route contains how many were omitted. Errors, requests of at least a second and requests of operators are always logged. 0: unlimited." default:"100" env:"LIVEGRAPH_API_LOGGED_PER_SECOND"`

	OTLPGRPCListen string `name:"otlp-grpc-listen" help:"Address at which OpenTelemetry exporters send metrics over gRPC, host:port, usually port 4317. It uses the certificate of the API. Empty: off; over HTTP they are always accepted." env:"LIVEGRAPH_API_OTLP_GRPC_LISTEN"`

	LimitsTimeout         time.Duration `help:"Timeout of counting a request against a workspace's plan in Redis. After it, this process counts the request only locally." default:"250ms" env:"LIVEGRAPH_API_LIMITS_TIMEOUT"`
	AuthFailuresPerMinute int           `help:"Maximum number of failed authentications per minute from one address (for IPv6, from one /64 network). Above it, they are answered 429. A valid key is never refused. 0: unlimited." default:"1200" env:"LIVEGRAPH_API_AUTH_FAILURES_PER_MINUTE"`
	RefusalsPerSecond     int           `help:"Maximum rate, per key and second, of individual audit records of requests that no plan counts (mostly refusals), with a burst of 60 times as many. Above it, one record covers all equal requests. The limit of one address is four times as high. 0: unlimited." default:"10" env:"LIVEGRAPH_API_REFUSALS_PER_SECOND"`
}

// Ingest holds the limits of the ingest path.
type Ingest struct {
	MaxBodyBytes     int64         `help:"Maximum size of an ingest body in bytes, after decoding." default:"33554432" env:"LIVEGRAPH_INGEST_MAX_BODY_BYTES"`
	MaxPoints        int           `help:"Maximum number of points in a request." default:"1000000" env:"LIVEGRAPH_INGEST_MAX_POINTS"`
	InFlightBytes    int64         `help:"Maximum total size of the bodies in flight in bytes. Above it, requests are answered 503." default:"134217728" env:"LIVEGRAPH_INGEST_IN_FLIGHT_BYTES"`
	ProduceTimeout   time.Duration `help:"Timeout of Kafka's acknowledgement. After it, the request is answered 503." default:"5s" env:"LIVEGRAPH_INGEST_PRODUCE_TIMEOUT"`
	SeriesCacheSize  int           `help:"Maximum number of series in the cache of this process." default:"2000000" env:"LIVEGRAPH_INGEST_SERIES_CACHE_SIZE"`
	LabelCacheBytes  int           `help:"Size of the cache of labels in bytes, about 320 per series that producers send." default:"402653184" env:"LIVEGRAPH_INGEST_LABEL_CACHE_BYTES"`
	OTLPResourceTags []string      `name:"otlp-resource-tags" help:"Attributes of OpenTelemetry resources that become tags of all their series. All attributes are tags of the series target_info. A change creates new series." default:"deployment.environment.name,k8s.namespace.name,k8s.pod.name,container.id,host.name" env:"LIVEGRAPH_INGEST_OTLP_RESOURCE_TAGS"`
	LogFullThreshold float64       `help:"Maximum lag of the points consumer, as a fraction of the log's retention. Above it, requests are answered 503." default:"0.8" env:"LIVEGRAPH_INGEST_LOG_FULL_THRESHOLD"`
}

// PromQL holds the limits of queries in PromQL.
type PromQL struct {
	MaxSeries       int    `help:"Maximum number of series of a PromQL query, and of names, values and series in a list. Above it, the request is answered 422." default:"50000" env:"LIVEGRAPH_PROMQL_MAX_SERIES"`
	MaxSamples      int    `help:"Maximum number of samples that a PromQL query reads, and of those that it has in memory at once, with 16 bytes each. Above it, the query is answered 422." default:"5000000" env:"LIVEGRAPH_PROMQL_MAX_SAMPLES"`
	Windows         string `help:"When functions over range vectors, such as rate and avg_over_time, are computed from a stream of points instead of by Prometheus' engine in memory. auto: if a query reads more than promql-max-samples. always: whenever it gives the same result, which takes less memory and more time for small queries." enum:"auto,always" default:"auto" env:"LIVEGRAPH_PROMQL_WINDOWS"`
	MaxTotalSamples int64  `help:"Maximum number of samples that the PromQL queries of this process read at the same time, at least promql-max-samples. Above it, queries are answered 503." default:"15000000" env:"LIVEGRAPH_PROMQL_MAX_TOTAL_SAMPLES"`
}

func (p *PromQL) validate(invalid func(setting, format string, args ...any)) {
	if p.MaxTotalSamples < int64(p.MaxSamples) {
		invalid("promql-max-total-samples", "must be at least promql-max-samples")
	}
}

// Rules holds the settings of the evaluation of rules, which role rules does.
type Rules struct {
	Interval    time.Duration `help:"Interval of the evaluation of groups without one." default:"1m" env:"LIVEGRAPH_RULES_INTERVAL"`
	MinInterval time.Duration `help:"Shortest interval that a group may have. Files with a shorter one are refused." default:"5s" env:"LIVEGRAPH_RULES_MIN_INTERVAL"`
	QueryOffset time.Duration `help:"How long before an evaluation its queries look, of groups without query_offset. It should be as long as points take from their time to their arrival, if rules need the last of them." default:"0s" env:"LIVEGRAPH_RULES_QUERY_OFFSET"`
	Concurrency int           `help:"Maximum number of groups that this process evaluates at the same time." default:"4" env:"LIVEGRAPH_RULES_CONCURRENCY"`
}

func (r *Rules) validate(invalid func(setting, format string, args ...any)) {
	if r.MinInterval < time.Second || r.MinInterval > time.Hour {
		invalid("rules-min-interval", "must be from 1s to 1h")
	}
	if r.Interval < r.MinInterval || r.Interval > 24*time.Hour {
		invalid("rules-interval", "must be from rules-min-interval to 24h")
	}
	if r.QueryOffset < 0 || r.QueryOffset > time.Hour {
		invalid("rules-query-offset", "must be from 0s to 1h")
	}
	if r.Concurrency < 1 || r.Concurrency > 1000 {
		invalid("rules-concurrency", "must be from 1 to 1000")
	}
}

// Points holds the settings of the points consumer.
type Points struct {
	Group          string        `help:"Consumer group." default:"livegraph-points" env:"LIVEGRAPH_POINTS_GROUP"`
	BatchRows      int           `help:"Number of rows at which a batch is inserted." default:"1000000" env:"LIVEGRAPH_POINTS_BATCH_ROWS"`
	BatchBytes     int           `help:"Size of the records, in bytes, at which a batch is inserted." default:"16777216" env:"LIVEGRAPH_POINTS_BATCH_BYTES"`
	BatchWait      time.Duration `help:"Maximum age of a batch before it is inserted, regardless of its size; up to three times as long if inserts take long." default:"150ms" env:"LIVEGRAPH_POINTS_BATCH_WAIT"`
	FetchBytes     int32         `help:"Maximum size of one fetch in bytes." default:"2097152" env:"LIVEGRAPH_POINTS_FETCH_BYTES"`
	RetentionEvery time.Duration `help:"Interval between removals of expired points from the disk. Queries exclude points as soon as their retention ends." default:"1h" env:"LIVEGRAPH_POINTS_RETENTION_EVERY"`
}

// Rollups holds the settings of the rollups, which role points computes.
type Rollups struct {
	Enabled bool          `help:"Compute rollups. If disabled, queries of data that is newer than the last rollups read points." default:"true" negatable:"" env:"LIVEGRAPH_ROLLUPS_ENABLED"`
	Quiet   time.Duration `help:"Minimum delay before the rollups of minutes and hours are recomputed after their points arrived late, were overwritten or were deleted. The maximum delay is twice as long." default:"20s" env:"LIVEGRAPH_ROLLUPS_QUIET"`
	Late    time.Duration `help:"Time after the end of an hour within which its points may arrive without being late." default:"5m" env:"LIVEGRAPH_ROLLUPS_LATE"`
}

// Graph holds the settings of the maintenance of the graph, which role points runs.
type Graph struct {
	DeletedFor time.Duration `help:"Time after the deletion of a node during which it can be restored and the journal contains its data. After it, the node is purged. 0: permanently." default:"0s" env:"LIVEGRAPH_GRAPH_DELETED_FOR"`
}

// Commands holds the settings of the commands consumer.
type Commands struct {
	Group        string `help:"Consumer group." default:"livegraph-commands" env:"LIVEGRAPH_COMMANDS_GROUP"`
	GroupRecords int    `help:"Maximum number of records of graph.commands that are decided in one transaction." default:"1000" env:"LIVEGRAPH_COMMANDS_GROUP_RECORDS"`
	FetchBytes   int32  `help:"Maximum size of one fetch in bytes." default:"8388608" env:"LIVEGRAPH_COMMANDS_FETCH_BYTES"`
	Connections  int32  `help:"Number of additional connections to Postgres of a process with the role commands, at least 4. Two publish changes. A fifth of the others decide commands that touch very many edges; each of the rest decides the commands of one partition." default:"12" env:"LIVEGRAPH_COMMANDS_CONNECTIONS"`
}

// minCommandConns is one connection for each kind of work; see Commands.Connections.
const minCommandConns = 4

func (c *Commands) validate(invalid func(setting, format string, args ...any)) {
	if c.Connections < minCommandConns {
		invalid("commands-connections", "must be at least %d", minCommandConns)
	}
}

// Log holds the settings of the log.
type Log struct {
	Level  string `help:"Minimum level of logged messages." enum:"debug,info,warn,error" default:"info" env:"LIVEGRAPH_LOG_LEVEL"`
	Format string `help:"Format of the log: json, text, or auto, which is text on a terminal and json otherwise." enum:"auto,json,text" default:"auto" env:"LIVEGRAPH_LOG_FORMAT"`
}

// RoleNames returns the roles of this process, with "all" expanded.
func (c *Config) RoleNames() []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return role == "all" || !c.Has(role) })
}

// Has reports whether this process has the role.
func (c *Config) Has(role string) bool {
	return slices.Contains(c.Roles, "all") || slices.Contains(c.Roles, role)
}
