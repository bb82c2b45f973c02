package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/route"
)

// Graph is the group of the routes that read the graph.
type Graph struct {
	Feed *queries.Feed // set by Group
	// Change, when set, changes the dependencies of the routes.
	Change func(*queries.Deps)
}

// GraphReads is the group Graph with its defaults.
func GraphReads(t testing.TB, s *Server) []route.Route {
	t.Helper()
	return (&Graph{}).Group(t, s)
}

// Group creates the routes.
func (g *Graph) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	g.Feed = queries.NewFeed(s.DB)
	background(t, g.Feed.Run)
	deps := queries.Deps{
		Graph: s.DB, Journal: s.DB, Feed: g.Feed, TokenKey: installation.CheckpointKey, QueryTimeout: 10 * time.Second,
	}
	if g.Change != nil {
		g.Change(&deps)
	}
	return queries.Routes(deps)
}
