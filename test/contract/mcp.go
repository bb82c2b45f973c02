package contract

import (
	"net/http"
	"testing"
	"time"

	"github.com/livegraph/livegraph/api/mcp"
	"github.com/livegraph/livegraph/api/route"
)

// MCP is the group of the route of the Model Context Protocol, which calls the other routes of the server.
func MCP(_ testing.TB, s *Server) []route.Route {
	return []route.Route{mcp.Route(mcp.Deps{
		Version: Version, Timeout: 10 * time.Second, Handler: func() http.Handler { return s.API.Handler() },
	})}
}
