package e2e

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestALittleOfEverythingOverTLS requires that the service, its tools and the commands that it prints
// work with a certificate of a private authority.
func TestALittleOfEverythingOverTLS(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	authority := testenv.NewAuthority(t)
	pair := authority.Sign("livegraph.example.org", time.Hour)
	s.UseTLS(pair.Cert, pair.Key, authority.Pool())
	_, code := s.RunCLI("ready")
	require.Equal(t, 1, code, "nobody is there")
	s.Start()
	require.Equal(t, "https://"+s.Listen, s.First.URL)
	running, err := runfile.Read(s.DataDir)
	require.NoError(t, err)
	require.Equal(t, s.First.URL, running.URL)
	s.Env = append(s.Env, "LIVEGRAPH_LISTEN="+s.Listen)
	require.Equal(t, "ready\n", s.CLI("ready"))

	answer := s.Do("POST", "/api/live-data/sources", map[string]any{"name": "boiler"}, http.StatusCreated, nil)
	require.NotEmpty(t, answer.Header.Get("X-Request-Id"))
	require.Contains(t, s.CLI("doctor"), "livegraph.example.org, 127.0.0.1")

	requireCommands(t, s.CLI("demo", "--duration", "2s", "--plain", "--no-backfill"))

	// A certificate of another authority replaces the first one without a restart.
	next := testenv.NewAuthority(t)
	fresh := next.Sign("livegraph.example.org", time.Hour)
	for from, to := range map[string]string{fresh.Cert: pair.Cert, fresh.Key: pair.Key} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	s.TrustRoots(next.Pool())
	require.Eventually(t, func() bool {
		a, err := s.Try("GET", "/api/live-data/sources", nil)
		return err == nil && a.Status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "ready\n", s.CLI("ready"))
	require.Zero(t, s.Stop())
}

// requireCommands runs the commands in the output of a demo.
func requireCommands(t *testing.T, text string) {
	t.Helper()
	commands := regexp.MustCompile(`(?m)^.* --data-dir .* --workspace .*$`).FindAllString(text, -1)
	require.NotEmpty(t, commands, text)
	for _, command := range commands {
		output, err := exec.Command("sh", "-c", command).CombinedOutput()
		require.NoError(t, err, "%s: %s", command, output)
		require.Contains(t, string(output), "\n", command)
	}
}

func TestAStartWithAnUnusableCertificateNamesTheSetting(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	authority := testenv.NewAuthority(t)
	one, two := authority.Sign("one", time.Hour), authority.Sign("two", time.Hour)
	for flags, want := range map[string]string{
		"--tls-cert=" + one.Cert + " --tls-key=" + two.Key: "--tls-key: " + two.Key + ": it is not the key of " + one.Cert,
		"--tls-cert=/no/such.pem --tls-key=" + one.Key:     "--tls-cert: stat /no/such.pem",
		"--tls-cert=" + one.Cert:                           "--tls-cert: goes together with --tls-key",
	} {
		s.Args = strings.Fields(flags)
		output, code := s.RunServe()
		require.NotZero(t, code)
		require.Contains(t, output, want)
	}
	require.NoFileExists(t, filepath.Join(s.DataDir, "control.json"))
}

// TestAProcessReachesItsEnginesByTLS runs the service with every engine except for Kafka behind TLS
// and a private CA. Every connection uses these settings.
func TestAProcessReachesItsEnginesByTLS(t *testing.T) {
	t.Parallel()
	authority := testenv.NewAuthority(t)
	client := authority.Sign("livegraph", time.Hour)
	config := authority.ServerConfig("localhost")
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool()
	files := func(engine string) []string {
		prefix := "LIVEGRAPH_" + engine + "_TLS_"
		return []string{prefix + "CA=" + authority.File, prefix + "CERT=" + client.Cert, prefix + "KEY=" + client.Key}
	}
	clickhouse, redis, postgres, milvus := testenv.ClickHouse(t), testenv.Redis(t), testenv.Postgres(t), testenv.Milvus(t)
	host := func(engine string) string { return testenv.Host(t, engine) }
	points, counters := testenv.NewTLSProxy(t, host(clickhouse), config), testenv.NewTLSProxy(t, host(redis), config)
	registry, vectors := testenv.NewPostgresProxy(t, host(postgres), config), testenv.NewTLSProxy(t, milvus, config)

	s := newServer(t)
	s.Env = append(s.Env,
		"LIVEGRAPH_CLICKHOUSE_URL="+points.URL(clickhouse, "https", ""),
		"LIVEGRAPH_REDIS_URL="+counters.URL(redis, "rediss", ""),
		"LIVEGRAPH_POSTGRES_URL="+registry.URL(postgres, "postgres",
			"sslmode=verify-full&sslrootcert="+authority.File+"&sslcert="+client.Cert+"&sslkey="+client.Key),
		"LIVEGRAPH_MILVUS_ADDRESS=https://"+vectors.Address)
	for _, engine := range []string{"CLICKHOUSE", "REDIS", "MILVUS"} {
		s.Env = append(s.Env, files(engine)...)
	}
	s.Start()
	s.Do("POST", "/api/live-data/sources", map[string]any{"name": "boiler"}, http.StatusCreated, nil)
	var accepted struct{ Checkpoint string }
	s.Do("POST", "/api/live-data/ingest", map[string]any{
		"source": "boiler", "points": []any{map[string]any{"metric": "temperature", "value": 71.5}},
	}, http.StatusCreated, &accepted)
	s.Do("GET", "/api/live-data/query?source=boiler&checkpoint="+accepted.Checkpoint, nil, http.StatusOK, nil)
	s.CLI("migrate")

	// A tool without these settings reads all of them from the run file of the server.
	environment := s.Env
	s.Env = nil
	output := s.CLI("doctor")
	require.NotContains(t, output, "failed", output)
	s.Env = environment
	for name, front := range map[string]*testenv.TLSProxy{
		"clickhouse": points, "redis": counters, "postgres": registry, "milvus": vectors,
	} {
		require.Positive(t, front.Handshakes.Load(), name)
		_, port, err := net.SplitHostPort(front.Address)
		require.NoError(t, err)
		require.Contains(t, output, ":"+port, "%s is asked by TLS", name)
	}
	require.Zero(t, s.Stop())
}
