// Package config defines the configuration of Livegraph: every setting with its
// default, documentation and validation. kong fills it from flags, the environment
// and a YAML file, in that order of precedence.
package config

import (
	"log/slog"
	"slices"
	"time"
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
var roles = []string{"all", "api", "points", "commands", "embeddings", "audit"}

// Config has all settings of `livegraph serve`. If the address of an engine is empty,
// its embedded edition is started in DataDir.
type Config struct {
	Listen  string   `help:"Address of the API, host:port." default:"127.0.0.1:8080" env:"LIVEGRAPH_LISTEN"`
	DataDir string   `help:"Folder of all state: embedded engines, first-run.json, the control file." default:"./data" type:"path" env:"LIVEGRAPH_DATA_DIR"`
	Roles   []string `help:"What this process does: all, or any of api, points, commands, embeddings, audit." default:"all" env:"LIVEGRAPH_ROLES"`

	TLS        TLS        `embed:"" prefix:"tls-"`
	Kafka      Kafka      `embed:"" prefix:"kafka-"`
	ClickHouse ClickHouse `embed:"" prefix:"clickhouse-"`
	Postgres   Postgres   `embed:"" prefix:"postgres-"`
	Redis      Redis      `embed:"" prefix:"redis-"`
	Milvus     Milvus     `embed:"" prefix:"milvus-"`
	Embedder   Embedder   `embed:""`
	API        API        `embed:"" prefix:"api-"`
	Ingest     Ingest     `embed:"" prefix:"ingest-"`
	Streams    Streams    `embed:"" prefix:"streams-"`
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

// ClickHouse holds the settings of ClickHouse, which stores points.
type ClickHouse struct {
	URL Secret    `help:"clickhouse://user:password@host:9000/database, with ?secure=true for TLS, or http://…, https://… Empty: embedded." env:"LIVEGRAPH_CLICKHOUSE_URL"`
	TLS EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_CLICKHOUSE_TLS_"`
}

// Postgres holds the settings of Postgres, which stores the registry, the keys and the graph.
type Postgres struct {
	URL      Secret `help:"postgres://user:password@host:5432/database, for TLS with ?sslmode=verify-full and sslrootcert, sslcert, sslkey as in libpq. Empty: embedded." env:"LIVEGRAPH_POSTGRES_URL"`
	MaxConns int32  `help:"Most connections of this process." default:"16" env:"LIVEGRAPH_POSTGRES_MAX_CONNS"`
}

// Redis holds the settings of Redis, which has counters and caches.
type Redis struct {
	URL Secret    `help:"redis://user:password@host:6379/0 (Redis or Valkey; without a user: the default one), rediss://… for TLS. Empty: embedded." env:"LIVEGRAPH_REDIS_URL"`
	TLS EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_REDIS_TLS_"`
}

// API holds the limits of the HTTP listener.
type API struct {
	PublicURL       string        `help:"Address under which users reach the API; default: made from the listener's." env:"LIVEGRAPH_API_PUBLIC_URL"`
	CORSOrigins     []string      `help:"Origins allowed to call from a browser." env:"LIVEGRAPH_API_CORS_ORIGINS"`
	TrustedProxies  []string      `help:"Networks (CIDR) whose X-Forwarded-For is believed." env:"LIVEGRAPH_API_TRUSTED_PROXIES"`
	ReadTimeout     time.Duration `help:"Longest time to read a request." default:"60s" env:"LIVEGRAPH_API_READ_TIMEOUT"`
	QueryTimeout    time.Duration `help:"Longest time of a query; beyond, 504." default:"30s" env:"LIVEGRAPH_API_QUERY_TIMEOUT"`
	ShutdownTimeout time.Duration `help:"Longest time for requests in flight after SIGTERM." default:"8s" env:"LIVEGRAPH_API_SHUTDOWN_TIMEOUT"`
	MaxHeaderBytes  int           `help:"Largest request header." default:"65536" env:"LIVEGRAPH_API_MAX_HEADER_BYTES"`
	MaxConnections  int           `help:"Most open connections." default:"4096" env:"LIVEGRAPH_API_MAX_CONNECTIONS"`
	MaxRequests     int           `help:"Most requests of a kind (those that change the graph, all others but those that write points) that are worked on at a time; further ones are answered 503 at once. Streams and probes do not count." default:"512" env:"LIVEGRAPH_API_MAX_REQUESTS"`
	MaxWrites       int           `help:"Most requests that write points that are worked on at a time; further ones are answered 503 at once. 0: 128 for each processor." default:"0" env:"LIVEGRAPH_API_MAX_WRITES"`
	MaxPublic       int           `help:"Most logins, and as many requests for files of the documentation and of the administration page, that are worked on at a time, a quarter of them from one address; further ones are answered 503 at once." default:"128" env:"LIVEGRAPH_API_MAX_PUBLIC"`

	LimitsTimeout         time.Duration `help:"How long Redis is waited for when it counts a request against a workspace's plan; beyond, this process counts alone." default:"250ms" env:"LIVEGRAPH_API_LIMITS_TIMEOUT"`
	AuthFailuresPerMinute int           `help:"Failed authentications a minute from one address (of IPv6: one network of 64 bits); further ones are 429. A valid key is never refused. 0: any number." default:"1200" env:"LIVEGRAPH_API_AUTH_FAILURES_PER_MINUTE"`
	RefusalsPerSecond     int           `help:"Uses of one key a second that no plan counts (refusals, mostly) and that the audit log has one by one, after 60 times as many; further ones have one record for all that are alike. From one address four times as many. 0: all of them one by one." default:"10" env:"LIVEGRAPH_API_REFUSALS_PER_SECOND"`
}

// Ingest holds the limits of the ingest path.
type Ingest struct {
	MaxBodyBytes     int64         `help:"Largest ingest body, decoded." default:"33554432" env:"LIVEGRAPH_INGEST_MAX_BODY_BYTES"`
	MaxPoints        int           `help:"Most points in a request." default:"1000000" env:"LIVEGRAPH_INGEST_MAX_POINTS"`
	InFlightBytes    int64         `help:"Most bytes of bodies being worked on; beyond, 503." default:"134217728" env:"LIVEGRAPH_INGEST_IN_FLIGHT_BYTES"`
	ProduceTimeout   time.Duration `help:"Longest wait for Kafka's acknowledgement; beyond, 503." default:"5s" env:"LIVEGRAPH_INGEST_PRODUCE_TIMEOUT"`
	SeriesCacheSize  int           `help:"Series remembered by this process." default:"2000000" env:"LIVEGRAPH_INGEST_SERIES_CACHE_SIZE"`
	LogFullThreshold float64       `help:"Share of the log's retention that the points consumer may lag behind; beyond, 503." default:"0.8" env:"LIVEGRAPH_INGEST_LOG_FULL_THRESHOLD"`
}

// Points holds the settings of the points consumer.
type Points struct {
	Group          string        `help:"Consumer group." default:"livegraph-points" env:"LIVEGRAPH_POINTS_GROUP"`
	BatchRows      int           `help:"Rows after which a batch is inserted." default:"1000000" env:"LIVEGRAPH_POINTS_BATCH_ROWS"`
	BatchBytes     int           `help:"Bytes of records after which a batch is inserted." default:"16777216" env:"LIVEGRAPH_POINTS_BATCH_BYTES"`
	BatchWait      time.Duration `help:"Age at which a batch is inserted however small it is." default:"150ms" env:"LIVEGRAPH_POINTS_BATCH_WAIT"`
	FetchBytes     int32         `help:"Most bytes of one fetch." default:"2097152" env:"LIVEGRAPH_POINTS_FETCH_BYTES"`
	RetentionEvery time.Duration `help:"How often points that are past their retention are removed from the disk; they are in no answer long before." default:"1h" env:"LIVEGRAPH_POINTS_RETENTION_EVERY"`
}

// Rollups holds the settings of the rollups, which role points computes.
type Rollups struct {
	Enabled bool          `help:"Compute them. Without, queries of what is newer than the last ones read points." default:"true" negatable:"" env:"LIVEGRAPH_ROLLUPS_ENABLED"`
	Quiet   time.Duration `help:"How long after points came late, were overwritten or deleted their minutes and hours are computed again, at least; twice that at most." default:"1m" env:"LIVEGRAPH_ROLLUPS_QUIET"`
	Late    time.Duration `help:"How long after the end of an hour its points may come without being late." default:"5m" env:"LIVEGRAPH_ROLLUPS_LATE"`
}

// Graph holds the settings of the maintenance of the graph, which role points runs.
type Graph struct {
	DeletedFor time.Duration `help:"How long after its deletion a node can be brought back and its data is in the journal; then it is purged. 0: for ever." default:"0s" env:"LIVEGRAPH_GRAPH_DELETED_FOR"`
}

// Commands holds the settings of the commands consumer.
type Commands struct {
	Group        string `help:"Consumer group." default:"livegraph-commands" env:"LIVEGRAPH_COMMANDS_GROUP"`
	GroupRecords int    `help:"Most records of graph.commands that are decided in one transaction." default:"1000" env:"LIVEGRAPH_COMMANDS_GROUP_RECORDS"`
	FetchBytes   int32  `help:"Most bytes of one fetch." default:"8388608" env:"LIVEGRAPH_COMMANDS_FETCH_BYTES"`
	Connections  int32  `help:"Connections to Postgres of a process with role commands, beside its others, at least 4: two publish changes; of the rest a fifth decides commands that touch very many edges, and each other one a partition." default:"12" env:"LIVEGRAPH_COMMANDS_CONNECTIONS"`
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
	Level  string `help:"Least level that is logged." enum:"debug,info,warn,error" default:"info" env:"LIVEGRAPH_LOG_LEVEL"`
	Format string `help:"json, text, or auto: text on a terminal." enum:"auto,json,text" default:"auto" env:"LIVEGRAPH_LOG_FORMAT"`
}

// RoleNames returns the roles of this process, with "all" expanded.
func (c *Config) RoleNames() []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return role == "all" || !c.Has(role) })
}

// Has reports whether this process has the role.
func (c *Config) Has(role string) bool {
	return slices.Contains(c.Roles, "all") || slices.Contains(c.Roles, role)
}
