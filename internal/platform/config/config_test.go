package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// parse runs the loader as the binary does: flags, environment, file.
func parse(t *testing.T, file string, args ...string) (*config.Config, error) {
	t.Helper()
	var cfg config.Config
	options := []kong.Option{kong.Exit(func(int) { t.Fatal("kong exited") })}
	if file != "" {
		path := filepath.Join(t.TempDir(), "livegraph.yaml")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		options = append(options, kong.Configuration(config.YAML, path))
	}
	parser, err := kong.New(&cfg, options...)
	require.NoError(t, err)
	_, err = parser.Parse(args)
	return &cfg, err
}

func TestDefaultsAreValid(t *testing.T) {
	cfg, err := parse(t, "")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", cfg.Listen)
	require.True(t, cfg.Has("api"))
	require.True(t, cfg.Has("points"))
}

func TestFlagsBeatTheEnvironmentWhichBeatsTheFile(t *testing.T) {
	file := "listen: 127.0.0.1:1\nkafka:\n  brokers: [a:1, b:2]\nlog-level: warn\n"
	cfg, err := parse(t, file)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", cfg.Listen)
	require.Equal(t, []string{"a:1", "b:2"}, cfg.Kafka.Brokers)
	require.Equal(t, "warn", cfg.Log.Level)

	t.Setenv("LIVEGRAPH_LISTEN", "127.0.0.1:2")
	cfg, err = parse(t, file)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", cfg.Listen)

	cfg, err = parse(t, file, "--listen=127.0.0.1:3")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:3", cfg.Listen)
}

func TestAnUnknownSettingInTheFileIsAnError(t *testing.T) {
	_, err := parse(t, "kafka:\n  broker: a:1\n")
	require.ErrorContains(t, err, "unknown settings: kafka-broker")
}

func TestWrongValuesAreRefusedByName(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--listen=8080", `--listen: "8080" is not host:port`},
		{"--roles=api,cook", `--roles: "cook" is not one of all, api, points`},
		{"--postgres-url=mysql://u:p@h/db", "--postgres-url: is not a URL with scheme postgres"},
		{"--postgres-direct-url=postgres://u:p@h/db", "--postgres-direct-url: goes together with --postgres-url"},
		{"--postgres-replica-url=postgres://u:p@h/db", "--postgres-replica-url: goes together with --postgres-url"},
		{
			"--postgres-url=postgres://u:p@h/db --postgres-replica-url=postgres://u:p@i/db --postgres-replica-max-lag=1ms",
			"--postgres-replica-max-lag: must be at least 1s",
		},
		{"--points-batch-rows=0", "--points-batch-rows: must be above zero"},
		{"--ingest-log-full-threshold=1.5", "--ingest-log-full-threshold: must be above 0"},
		{"--api-trusted-proxies=10.0.0.1", "is not a network"},
		{"--log-level=loud", "--log-level must be one of"},
		{"--api-query-timeout=fast", "--api-query-timeout"},
		{"--metrics-listen=9464", `--metrics-listen: "9464" is neither host:port nor off`},
		{"--kafka-tls", "--kafka-brokers: is needed with --kafka-tls"},
		{
			"--kafka-brokers=a:1 --kafka-tls-ca=ca.pem",
			"--kafka-tls-ca: and the others of kafka-tls are for an address that speaks TLS: --kafka-tls",
		},
		{"--kafka-brokers=a:1 --kafka-tls --kafka-tls-key=k.pem", "--kafka-tls-cert: goes together with --kafka-tls-key"},
		{"--kafka-brokers=a:1 --kafka-tls --kafka-tls-cert=c.pem", "--kafka-tls-cert: goes together with --kafka-tls-key"},
		{"--kafka-min-insync-replicas=-2", "--kafka-min-insync-replicas: must be at least -1"},
		{
			"--kafka-replication=2 --kafka-min-insync-replicas=3",
			"--kafka-min-insync-replicas: must not be higher than --kafka-replication",
		},
		{
			"--kafka-brokers=a:1 --kafka-sasl-username=u",
			"--kafka-sasl-username: needs --kafka-sasl-mechanism, one of plain",
		},
		{"--kafka-brokers=a:1 --kafka-sasl-password=u:p@", "--kafka-sasl-password: needs --kafka-sasl-mechanism"},
		{
			"--kafka-brokers=a:1 --kafka-sasl-mechanism=plain --kafka-sasl-username=u",
			"needs --kafka-sasl-username and --kafka-sasl-password",
		},
		{
			"--kafka-brokers=a:1 --kafka-sasl-mechanism=gssapi --kafka-sasl-username=u --kafka-sasl-password=u:p@",
			`"gssapi" is not one of plain, scram-sha-256, scram-sha-512`,
		},
	} {
		_, err := parse(t, "", strings.Fields(c.args)...)
		require.ErrorContains(t, err, c.want, c.args)
		require.NotContains(t, err.Error(), "u:p@", "a secret is never in an error")
	}
}

func TestALoginInClearTextIsWarnedOf(t *testing.T) {
	login := []string{
		"--kafka-brokers=a:1", "--kafka-sasl-mechanism=PLAIN", "--kafka-sasl-username=u", "--kafka-sasl-password=hunter2",
	}
	cfg, err := parse(t, "", login...)
	require.NoError(t, err)
	require.Len(t, cfg.Kafka.Warnings(), 1)
	require.Contains(t, cfg.Kafka.Warnings()[0], "clear text")
	require.NotContains(t, fmt.Sprintf("%+v", cfg), "hunter2")

	cfg, err = parse(t, "", append(login, "--kafka-tls")...)
	require.NoError(t, err)
	require.Empty(t, cfg.Kafka.Warnings())
}

func TestSecretsAreHiddenWhereverTheConfigurationIsPrinted(t *testing.T) {
	address := "=postgres://u:hunter2@h:5432/db"
	cfg, err := parse(
		t, "", "--postgres-url"+address, "--postgres-direct-url"+address, "--postgres-replica-url"+address,
	)
	require.NoError(t, err)
	require.Contains(t, cfg.Postgres.URL.Reveal(), "hunter2")

	asJSON, err := json.Marshal(cfg)
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("configuration", "config", cfg, "url", cfg.Postgres.URL)
	for _, text := range []string{string(asJSON), fmt.Sprintf("%v %+v %s", cfg, cfg, cfg.Postgres.URL), logged.String()} {
		require.NotContains(t, text, "hunter2")
	}
}

func TestMetricsAreForThisMachineUnlessConfigured(t *testing.T) {
	for listen, want := range map[string]struct{ enabled, exposed bool }{
		"127.0.0.1:9464": {true, false}, "localhost:0": {true, false}, "[::1]:9464": {true, false},
		"0.0.0.0:9464": {true, true}, ":9464": {true, true}, "10.1.2.3:9464": {true, true},
		"metrics.internal:9464": {true, true},
		"off":                   {}, "": {},
	} {
		cfg, err := parse(t, "", "--metrics-listen="+listen)
		require.NoError(t, err, listen)
		require.Equal(t, want.enabled, cfg.Metrics.Enabled(), listen)
		require.Equal(t, want.exposed, cfg.Metrics.Exposed(), listen)
	}
}

func TestTLSSettingsThatContradictTheAddressAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--tls-cert=a.pem":                           "--tls-cert: goes together with --tls-key",
		"--tls-key=a.key":                            "--tls-cert: goes together with --tls-key",
		"--redis-tls-ca=a.pem":                       "--redis-url as rediss://",
		"--redis-url=redis://h --redis-tls-ca=a.pem": "--redis-url as rediss://",
		"--redis-url=rediss://h --redis-tls-cert=a.pem": "--redis-tls-cert: goes together with " +
			"--redis-tls-key",
		"--clickhouse-url=clickhouse://h --clickhouse-tls-ca=a.pem":      "clickhouse://…?secure=true or https://",
		"--clickhouse-url=clickhouse://h?secure=0 --clickhouse-tls-ca=a": "clickhouse://…?secure=true or https://",
		"--clickhouse-url=https://h?skip_verify=true": "--clickhouse-url: skip_verify is not taken: name " +
			"the server's CA, or its own certificate, in --clickhouse-tls-ca",
		"--clickhouse-url=https://h?tls_server_name=x":                        "use --clickhouse-tls-server-name",
		"--redis-url=rediss://h?skip_verify=true":                             "--redis-tls-ca",
		"--redis-url=redis-cluster://h1:1,h2:2 --redis-tls-ca=a.pem":          "rediss-cluster://",
		"--redis-url=redis-sentinel://:s3cret@h1:1,h2:2":                      "must have the name of the primary",
		"--redis-url=redis://:s3cret@h1:1,h2:2":                               "--redis-url: names several servers",
		"--redis-url=redis-cluster://h --redis-sentinel-password=s3cret":      "is for --redis-url as redis-sentinel://",
		"--redis-sentinel-password=s3cret":                                    "is for --redis-url as redis-sentinel://",
		"--redis-url=redis-sentinel://h?master=m --redis-sentinel-username=u": "goes together with --redis-sentinel-password",
		"--milvus-address=h:1 --milvus-tls-server-name=x":                     "--milvus-address as https://host:port",
		"--milvus-address=root:s3cret@h:1": "--milvus-address: takes no user and password: they go into " +
			"--milvus-token",
		"--milvus-address=https://h": "is not host:port or https://host:port",
		"--milvus-address=tcp://h:1": "is not host:port or https://host:port",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, args := range []string{
		"--redis-url=rediss://h --redis-tls-ca=a.pem --redis-tls-cert=b --redis-tls-key=c --redis-tls-server-name=d",
		"--redis-url=rediss-cluster://h1:1,h2:2 --redis-tls-ca=a.pem",
		"--redis-url=rediss-sentinel://u:p@h1:1,h2/0?master=m --redis-tls-ca=a.pem --redis-sentinel-password=x " +
			"--redis-sentinel-username=u",
		"--clickhouse-url=clickhouse://h?secure=true --clickhouse-tls-ca=a.pem",
		"--clickhouse-url=clickhouse://h?secure --clickhouse-tls-ca=a.pem",
		"--clickhouse-url=https://h --clickhouse-tls-ca=a.pem",
		"--milvus-address=https://h:1/database --milvus-tls-ca=a.pem --milvus-token=root:x",
		"--milvus-address=h:1/database",
	} {
		_, err := parse(t, "", strings.Fields(args)...)
		require.NoError(t, err, args)
	}
}

func TestEachEngineHasItsOwnTLSVariables(t *testing.T) {
	t.Setenv("LIVEGRAPH_REDIS_URL", "rediss://h")
	t.Setenv("LIVEGRAPH_REDIS_TLS_CA", "redis.pem")
	t.Setenv("LIVEGRAPH_MILVUS_ADDRESS", "https://h:1")
	t.Setenv("LIVEGRAPH_MILVUS_TLS_SERVER_NAME", "vectors")
	t.Setenv("LIVEGRAPH_MILVUS_TOKEN", "root:s3cret")
	t.Setenv("LIVEGRAPH_CLICKHOUSE_URL", "https://h")
	t.Setenv("LIVEGRAPH_CLICKHOUSE_TLS_CERT", "c.pem")
	t.Setenv("LIVEGRAPH_CLICKHOUSE_TLS_KEY", "c.key")
	t.Setenv("LIVEGRAPH_TLS_CERT", "own.pem")
	t.Setenv("LIVEGRAPH_TLS_KEY", "own.key")
	cfg, err := parse(t, "")
	require.NoError(t, err)
	require.Equal(t, config.EngineTLS{CA: "redis.pem"}, cfg.Redis.TLS)
	require.Equal(t, config.EngineTLS{ServerName: "vectors"}, cfg.Milvus.TLS)
	require.Equal(t, config.EngineTLS{Cert: "c.pem", Key: "c.key"}, cfg.ClickHouse.TLS)
	require.Equal(t, config.TLS{Cert: "own.pem", Key: "own.key"}, cfg.TLS)
	require.NotContains(t, fmt.Sprintf("%v %+v", cfg, cfg), "s3cret")
}
