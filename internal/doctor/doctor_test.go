package doctor_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/internal/doctor"
	"github.com/livegraph/livegraph/internal/testenv"
)

func healthyTarget(t *testing.T) doctor.Target {
	t.Helper()
	return doctor.Target{
		KafkaBrokers: testenv.Kafka(t), ClickHouseURL: testenv.ClickHouse(t), PostgresURL: testenv.Postgres(t),
		RedisURL: testenv.Redis(t), MilvusAddress: testenv.Milvus(t),
		PointsTopic: "points", PointsGroup: "livegraph-points", LogFullThreshold: 0.8, DataDir: t.TempDir(),
	}
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
	client, err := kgo.NewClient(kgo.SeedBrokers(target.KafkaBrokers...), kgo.DefaultProduceTopic("points"))
	require.NoError(t, err)
	defer client.Close()
	bound := "1000000"
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 2, -1, map[string]*string{"retention.bytes": &bound}, "points")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("r")).FirstErr())

	results := doctor.Check(t.Context(), target)
	found := byName(t, results)
	for name, version := range map[string]string{"postgres": "18.", "clickhouse": "26.", "kafka": "", "redis": "Valkey 9.", "milvus": ""} {
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

func TestEnginesThatDoNotAnswerAreReportedWithWhatToDo(t *testing.T) {
	const nobody = "127.0.0.1:1"
	target := doctor.Target{
		KafkaBrokers: []string{nobody}, ClickHouseURL: "http://default:s3cret@" + nobody + "/default",
		PostgresURL: "postgres://u:s3cret@" + nobody + "/d", RedisURL: "redis://:s3cret@" + nobody + "/0", MilvusAddress: nobody,
	}
	results := doctor.Check(t.Context(), target)
	require.Len(t, results, 5)
	for _, r := range results {
		require.Equal(t, doctor.Failed, r.Status, r.Name)
		require.NotEmpty(t, r.Advice, r.Name)
		require.NotEmpty(t, r.Detail, r.Name)
	}
	require.False(t, doctor.Healthy(results))
	requireNoSecrets(t, target, results)
}

func TestWrongPasswordsAreToldFromOutages(t *testing.T) {
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

func TestAPasswordThatGoesToKafkaInClearTextIsWarnedOf(t *testing.T) {
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

// requireNoSecrets checks that no finding shows a password.
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
