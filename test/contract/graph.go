package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/route"
)

// GraphReads is the group of the graph's reads.
func GraphReads(t testing.TB, s *Server) []route.Route {
	t.Helper()
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	return queries.Routes(queries.Deps{Graph: s.DB, TokenKey: installation.CheckpointKey, QueryTimeout: 10 * time.Second})
}
