package browser

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// startTLS starts a second API process on the same engines, with TLS and a certificate of a private
// authority, and returns its URL.
func startTLS(t *testing.T, s *harness.Server) (url string) {
	t.Helper()
	path, err := filepath.Abs(binary)
	require.NoError(t, err)
	engines := s.RunFile()
	second := harness.New(t, path, "--roles", "api")
	second.Env = append(s.Kafka().Settings(), "LIVEGRAPH_CLICKHOUSE_URL="+engines.ClickHouseURL,
		"LIVEGRAPH_POSTGRES_URL="+engines.PostgresURL, "LIVEGRAPH_REDIS_URL="+engines.RedisURL,
		"LIVEGRAPH_MILVUS_ADDRESS="+engines.MilvusAddress)
	authority := testenv.NewAuthority(t)
	pair := authority.Sign("livegraph.test", time.Hour)
	second.UseTLS(pair.Cert, pair.Key, authority.Pool())
	second.Launch()
	second.WaitReady()
	return second.URL()
}
