package harness

import (
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/control"
	"github.com/livegraph/livegraph/internal/testenv"
)

// Control is the note of the running server: where its engines are.
func (s *Server) Control() control.Server {
	s.t.Helper()
	running, err := control.Read(s.DataDir)
	require.NoError(s.t, err)
	return running
}

// Kafka is the log of the running server, with the login to it.
func (s *Server) Kafka() *testenv.Broker {
	s.t.Helper()
	running := s.Control()
	return testenv.BrokerAt(running.KafkaBrokers, running.KafkaLogin())
}

// AskClickHouse runs a statement on the server's own embedded ClickHouse, past
// the server, and gives the answer, tab-separated.
func (s *Server) AskClickHouse(statement string) string {
	s.t.Helper()
	return testenv.AskClickHouse(s.t, s.Control().ClickHouseURL, statement)
}
