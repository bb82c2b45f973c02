package harness

import (
	"net/url"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/test/testenv"
)

// Control is the note of the running server: where its engines are.
func (s *Server) Control() runfile.Server {
	s.t.Helper()
	running, err := runfile.Read(s.DataDir)
	require.NoError(s.t, err)
	return running
}

// Kafka is the log of the running server, with the login to it.
func (s *Server) Kafka() *testenv.Broker {
	s.t.Helper()
	running := s.Control()
	return testenv.BrokerAt(running.KafkaBrokers, running.KafkaLogin())
}

// PostgresSuperuser is the address of a database of the server's own embedded Postgres, for
// what the server itself may not do.
func (s *Server) PostgresSuperuser(database string) string {
	s.t.Helper()
	address, err := embedded.PostgresSuperuser(filepath.Join(s.DataDir, "postgres"))
	require.NoError(s.t, err)
	u, err := url.Parse(address)
	require.NoError(s.t, err)
	u.Path = "/" + database
	return u.String()
}

// AskClickHouse runs a statement on the server's own embedded ClickHouse, past
// the server, and gives the answer, tab-separated.
func (s *Server) AskClickHouse(statement string) string {
	s.t.Helper()
	return testenv.AskClickHouse(s.t, s.Control().ClickHouseURL, statement)
}
