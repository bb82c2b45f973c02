package contract

import (
	"log/slog"
	"testing"
	"time"

	"github.com/livegraph/livegraph/api/analyses"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/route"
	runner "github.com/livegraph/livegraph/consumers/analyses"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/storage/kafka"
)

// Analyses is the group of the routes of analyses. No analysis runs without RunAnalyses.
func Analyses(_ testing.TB, s *Server) []route.Route {
	return analyses.Routes(analyses.Deps{Store: s.DB, Keys: idempotency.New(s.DB, slog.Default(), nil)})
}

// RunAnalyses runs analyses until the test ends.
func RunAnalyses(t testing.TB, s *Server, log *kafka.Client) {
	t.Helper()
	background(t, runner.New(runner.Deps{Log: log, Store: s.DB, Config: runner.Config{
		Graph: analysis.Limits{Nodes: 1000, Edges: 1000}, Timeout: time.Minute, Interval: 10 * time.Millisecond,
	}}).Run)
}
