package process

import (
	analysisroutes "github.com/livegraph/livegraph/api/analyses"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/consumers/analyses"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// addAnalyses adds the runner of analyses of graphs.
func (b *builder) addAnalyses() error {
	cfg := &b.Config.Analyses
	b.add("analyses", analyses.New(analyses.Deps{
		Log: b.Kafka, Store: b.Postgres, Logger: b.Logger, Metrics: b.Metrics,
		Config: analyses.Config{
			Graph: analysis.Limits{Nodes: cfg.MaxNodes, Edges: cfg.MaxEdges}, Timeout: cfg.Timeout,
		},
	}).Run)
	return nil
}

// AnalysisRoutes creates the routes of analyses of graphs.
func AnalysisRoutes(db *pgstores.DB, keys *idempotency.Manager) []route.Route {
	return analysisroutes.Routes(analysisroutes.Deps{Store: db, Keys: keys})
}
