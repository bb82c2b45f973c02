package doctor_test

import (
	"crypto/tls"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

func healthyTarget(t *testing.T) doctor.Target {
	t.Helper()
	kafka := kafkatest.NewKFake(t)
	return doctor.Target{
		KafkaBrokers: kafka.Brokers(), KafkaSecurity: kafka.Login(), ClickHouseURL: testenv.ClickHouse(t),
		PostgresURL: testenv.Postgres(t),
		RedisURL:    testenv.Redis(t), MilvusAddress: testenv.Milvus(t),
		PointsTopic: "points", PointsGroup: "livegraph-points", LogFullThreshold: 0.8, DataDir: t.TempDir(),
	}
}

// brokerOf returns the Kafka broker of the target.
func brokerOf(target doctor.Target) *kafkatest.Broker {
	return kafkatest.BrokerAt(target.KafkaBrokers, target.KafkaSecurity)
}

func byName(t *testing.T, results []doctor.Result) map[string]doctor.Result {
	t.Helper()
	found := map[string]doctor.Result{}
	for _, r := range results {
		require.NotContains(t, found, r.Name)
		found[r.Name] = r
	}
	return found
}

func TestEnginesThatAnswerAreReportedWithVersionLatencyAndDisk(t *testing.T) {
	target := healthyTarget(t)
	client, err := kgo.NewClient(brokerOf(target).Opts(kgo.DefaultProduceTopic("points"))...)
	require.NoError(t, err)
	defer client.Close()
	limit := "1000000"
	_, err = kadm.NewClient(client).CreateTopic(
		t.Context(), 2, -1, map[string]*string{"retention.bytes": &limit}, "points",
	)
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("r")).FirstErr())

	results := doctor.Check(t.Context(), target)
	found := byName(t, results)
	for name, version := range map[string]string{
		"postgres": "18.", "clickhouse": "26.", "kafka": "", "redis": "Valkey 9.", "milvus": "",
	} {
		r := found[name]
		require.Contains(t, []doctor.Status{doctor.OK, doctor.Warning}, r.Status, "%s: %s", name, r.Detail)
		require.True(t, strings.HasPrefix(r.Version, version), "%s: %s", name, r.Version)
		require.NotEmpty(t, r.Version, name)
		require.Positive(t, r.LatencyMS, name)
		if name != "milvus" {
			require.NotNil(t, r.DiskBytes, name)
		}
	}
	require.Contains(t, found["retention"].Detail, "1 records behind")
	require.Contains(t, found["postgres"].Detail, "fsync is off", "testenv's is")
	require.Equal(t, doctor.Warning, found["postgres"].Status)
	require.True(t, doctor.Healthy(results))
	requireNoSecrets(t, target, results)
}

// TestTheOutageThatTheLogRidesOutIsThatOfItsBusiestPartition checks that the largest
// partition is used, because the first full partition stops ingest.
func TestTheOutageThatTheLogRidesOutIsThatOfItsBusiestPartition(t *testing.T) {
	target := healthyTarget(t)
	client, err := kgo.NewClient(brokerOf(target).Opts(kgo.DefaultProduceTopic("points"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	require.NoError(t, err)
	defer client.Close()
	limit := "10000000"
	_, err = kadm.NewClient(client).CreateTopic(
		t.Context(), 8, -1, map[string]*string{"retention.bytes": &limit}, "points",
	)
	require.NoError(t, err)
	hourAgo := time.Now().Add(-time.Hour)
	record := &kgo.Record{Partition: 3, Value: make([]byte, 800_000), Timestamp: hourAgo}
	require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())

	found := byName(t, doctor.Check(t.Context(), target))["retention"]
	require.Regexp(
		t, `an outage of (9h5\dm|10h0m)\d+s is ridden out`, found.Detail,
		"0.8 of 10 MB at 0.8 MB an hour, in one of 8 partitions",
	)
}

// TestTheEmbeddedLogIsFullByItsRecordsToo checks that the limit of 1,600,000 records of points
// counts, too.
func TestTheEmbeddedLogIsFullByItsRecordsToo(t *testing.T) {
	target := healthyTarget(t)
	broker, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.SeedTopics(8, "points"),
	)
	require.NoError(t, err)
	defer broker.Close()
	target.KafkaBrokers, target.KafkaSecurity = broker.ListenAddrs(), config.KafkaSecurity{}
	target.Capabilities.Kafka.BatchesInMemory = true
	client, err := kgo.NewClient(brokerOf(target).Opts(kgo.DefaultProduceTopic("points"))...)
	require.NoError(t, err)
	defer client.Close()
	limit := "268435456"
	_, err = kadm.NewClient(client).AlterTopicConfigs(
		t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.bytes", Value: &limit}}, "points",
	)
	require.NoError(t, err)
	records := make([]*kgo.Record, 160_000) // a tenth
	for i := range records {
		records[i] = &kgo.Record{Value: []byte("x"), Timestamp: time.Now().Add(-5 * time.Minute)}
	}
	require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())

	found := byName(t, doctor.Check(t.Context(), target))["retention"]
	require.Regexp(t, `an outage of (39m5\ds|40m\ds) is ridden out`, found.Detail, "0.8 of ten times five minutes")
	require.Contains(t, found.Advice, "more points a request")
}

func TestEnginesThatDoNotAnswerAreReportedWithWhatToDo(t *testing.T) {
	const closed = "127.0.0.1:1"
	target := doctor.Target{
		KafkaBrokers: []string{closed}, ClickHouseURL: "http://default:s3cret@" + closed + "/default",
		PostgresURL: "postgres://u:s3cret@" + closed + "/d", RedisURL: "redis://:s3cret@" + closed + "/0",
		MilvusAddress: closed,
	}
	results := doctor.Check(t.Context(), target)
	require.Len(t, results, 5)
	for _, r := range results {
		require.Equal(t, doctor.Failed, r.Status, r.Name)
		require.NotEmpty(t, r.Advice, r.Name)
		require.NotEmpty(t, r.Detail, r.Name)
		require.NotContains(t, r.Advice, "logs/the", r.Name)
	}
	require.False(t, doctor.Healthy(results))
	requireNoSecrets(t, target, results)
}

func TestWrongPasswordsAreDistinguishedFromOutages(t *testing.T) {
	target := healthyTarget(t)
	for _, address := range []*string{&target.PostgresURL, &target.ClickHouseURL, &target.RedisURL} {
		u, err := url.Parse(*address)
		require.NoError(t, err)
		u.User = url.UserPassword(u.User.Username(), "wrong")
		*address = u.String()
	}
	found := byName(t, doctor.Check(t.Context(), target))
	for _, name := range []string{"postgres", "clickhouse", "redis"} {
		require.Equal(t, doctor.Failed, found[name].Status)
		require.Contains(t, found[name].Advice, "password", name)
	}
	require.NotEqual(t, doctor.Failed, found["milvus"].Status)
}

func TestAPasswordSentToKafkaInClearTextIsWarnedAbout(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "s3cret"))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	target := doctor.Target{
		KafkaBrokers:  broker.ListenAddrs(),
		KafkaSecurity: config.KafkaSecurity{SASLMechanism: "PLAIN", SASLUsername: "u", SASLPassword: "s3cret"},
	}
	found := byName(t, doctor.Check(t.Context(), target))["kafka"]
	require.Equal(t, doctor.Warning, found.Status, found.Detail)
	require.Contains(t, found.Advice, "clear text")

	target.KafkaSecurity.SASLPassword = "another"
	found = byName(t, doctor.Check(t.Context(), target))["kafka"]
	require.Equal(t, doctor.Failed, found.Status)
	require.Contains(t, found.Advice, "LIVEGRAPH_KAFKA_SASL_MECHANISM")
	require.NotContains(t, found.Detail+found.Advice, "another")
}

func TestEnginesWithoutAnAddressAndLeftoversOfTheFirstRunAreReported(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first-run.json"), []byte("{}"), 0o600))
	found := byName(t, doctor.Check(t.Context(), doctor.Target{DataDir: dir}))
	require.Contains(t, found["kafka"].Advice, "LIVEGRAPH_KAFKA_BROKERS")
	require.Equal(t, doctor.Warning, found["first-run.json"].Status)
	require.Contains(t, found, "disk")
}

// requireNoSecrets checks that no result contains a password.
func requireNoSecrets(t *testing.T, target doctor.Target, results []doctor.Result) {
	t.Helper()
	raw, err := json.Marshal(results)
	require.NoError(t, err)
	for _, address := range []string{target.PostgresURL, target.ClickHouseURL, target.RedisURL} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		password, _ := u.User.Password()
		require.NotEmpty(t, password)
		require.NotContains(t, string(raw), password)
	}
}

func TestErrorsOfTLSAreReportedWithWhatToDo(t *testing.T) {
	plain := healthyTarget(t)
	authority, unknownAuthority := testenv.NewAuthority(t), testenv.NewAuthority(t)
	secured := func(t *testing.T, server *tls.Config, ca string) doctor.Target {
		target := plain
		files := config.EngineTLS{CA: ca}
		front := testenv.NewTLSProxy(t, testenv.Host(t, plain.ClickHouseURL), server)
		target.ClickHouseURL, target.ClickHouseTLS = front.URL(plain.ClickHouseURL, "https", ""), files
		front = testenv.NewTLSProxy(t, testenv.Host(t, plain.RedisURL), server)
		target.RedisURL, target.RedisTLS = front.URL(plain.RedisURL, "rediss", ""), files
		front = testenv.NewTLSProxy(t, plain.MilvusAddress, server)
		target.MilvusAddress, target.MilvusTLS = "https://"+front.Address, files
		front = testenv.NewPostgresProxy(t, testenv.Host(t, plain.PostgresURL), server)
		target.PostgresURL = front.URL(
			plain.PostgresURL, "postgres", url.Values{"sslmode": {"verify-full"}, "sslrootcert": {ca}}.Encode(),
		)
		return target
	}
	clientAuth := authority.ServerConfig("localhost")
	clientAuth.ClientAuth = tls.RequireAnyClientCert
	for name, c := range map[string]struct {
		server *tls.Config
		ca     string
		advice map[string]string // by engine, "" for all others; nil: no problem
	}{
		"all right": {authority.ServerConfig("localhost"), authority.File, nil},
		"unknown CA": {
			unknownAuthority.ServerConfig("localhost"), authority.File,
			map[string]string{"postgres": "sslrootcert", "": "_TLS_CA"},
		},
		"other name": {authority.ServerConfig("elsewhere"), authority.File, map[string]string{
			"postgres": "LIVEGRAPH_POSTGRES_URL", "": "_TLS_SERVER_NAME",
		}},
		"expired": {
			&tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{
				authority.Sign("localhost", -time.Hour).Pair,
			}},
			authority.File, map[string]string{"": "renew"},
		},
		"no own":     {clientAuth, authority.File, map[string]string{"postgres": "sslcert and sslkey", "": "_TLS_CERT"}},
		"no CA file": {authority.ServerConfig("localhost"), "/no/such.pem", map[string]string{"": "or the file"}},
	} {
		t.Run(name, func(t *testing.T) {
			target := secured(t, c.server, c.ca)
			results := doctor.Check(t.Context(), target)
			requireNoSecrets(t, target, results)
			found := byName(t, results)
			for _, engine := range []string{"postgres", "clickhouse", "redis", "milvus"} {
				if c.advice == nil {
					require.NotEqual(t, doctor.Failed, found[engine].Status, "%s: %s", engine, found[engine].Detail)
					continue
				}
				want, special := c.advice[engine]
				if !special {
					want = c.advice[""]
				}
				require.Equal(t, doctor.Failed, found[engine].Status, engine)
				require.Contains(t, found[engine].Advice, want, "%s: %s", engine, found[engine].Detail)
			}
		})
	}
}

func TestTheListenersCertificateIsLookedAt(t *testing.T) {
	authority := testenv.NewAuthority(t)
	for name, c := range map[string]struct {
		validity time.Duration
		status   doctor.Status
		detail   string
	}{
		"long":  {60*24*time.Hour + time.Minute, doctor.OK, "for localhost, 127.0.0.1, ::1, valid for 60 days"},
		"short": {48*time.Hour + time.Minute, doctor.Warning, "valid for 2 days"},
		"over":  {-time.Hour, doctor.Failed, "ended on"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := authority.Sign("localhost", c.validity)
			found := byName(t, doctor.Check(t.Context(), doctor.Target{Listener: config.TLS{Cert: pair.Cert, Key: pair.Key}}))
			require.Equal(t, c.status, found["certificate"].Status)
			require.Contains(t, found["certificate"].Detail, c.detail)
			require.Equal(t, c.status != doctor.OK, found["certificate"].Advice != "")
		})
	}
	found := byName(t, doctor.Check(t.Context(), doctor.Target{Listener: config.TLS{
		Cert: "/no/such.pem", Key: "/no/such.key",
	}}))
	require.Equal(t, doctor.Failed, found["certificate"].Status)
	require.Contains(t, found["certificate"].Detail, "--tls-cert: stat /no/such.pem")
	require.NotContains(t, byName(t, doctor.Check(t.Context(), doctor.Target{})), "certificate")
}
