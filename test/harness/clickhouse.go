package harness

import (
	"net/url"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// RunFile returns the run file of the running server, which contains the addresses of its engines.
func (s *Server) RunFile() runfile.Server {
	s.t.Helper()
	running, err := runfile.Read(s.DataDir)
	require.NoError(s.t, err)
	return running
}

// Kafka returns the Kafka of the running server, with its login.
func (s *Server) Kafka() *kafkatest.Broker {
	s.t.Helper()
	running := s.RunFile()
	return kafkatest.BrokerAt(running.KafkaBrokers, running.KafkaLogin())
}

// PostgresSuperuser returns the superuser's URL of a database of the server's embedded
// Postgres, for statements that the server's role may not execute.
func (s *Server) PostgresSuperuser(database string) string {
	s.t.Helper()
	address, err := embedded.PostgresSuperuser(filepath.Join(s.DataDir, "postgres"))
	require.NoError(s.t, err)
	u, err := url.Parse(address)
	require.NoError(s.t, err)
	u.Path = "/" + database
	return u.String()
}

// AskClickHouse runs a statement directly on the server's embedded ClickHouse, and returns
// the result, tab-separated.
func (s *Server) AskClickHouse(statement string) string {
	s.t.Helper()
	return testenv.QueryClickHouse(s.t, s.RunFile().ClickHouseURL, statement)
}
