// Package query serves the routes that read points: queries, and the list of series. It parses
// parameters, waits for a checkpoint, reads from the stores and writes the answer as JSON,
// NDJSON, CSV or columns. It bounds the concurrent queries in the stores and the memory of their answers.
package query

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/budget"
)

// Deps are the dependencies of the routes.
type Deps struct {
	Series         SeriesStore
	Points         PointStore
	Watermarks     WatermarkStore
	DeadRecords    DeadRecordStore
	TopicID        func() [16]byte // returns the current id of topic points
	TokenKey       [32]byte        // signs checkpoints and cursors
	QueryTimeout   time.Duration   // the maximum duration of a query; beyond, 504
	CheckpointWait time.Duration   // the maximum wait for a checkpoint; zero: 5 s
	Metrics        prometheus.Registerer
}

const defaultCheckpointWait = 5 * time.Second

type api struct {
	Deps
	sealer    token.Sealer
	watch     watcher
	values    *budget.Budget // bounds the values of concurrent answers
	admission *admission

	checkpointWaiters, checkpointTimeouts atomic.Int64 // queries with a checkpoint, see metrics.go
}

// Paths of the routes.
const (
	queryPath  = "/api/live-data/query"
	seriesPath = "/api/live-data/series"
)

// Routes returns the routes.
func Routes(deps Deps) []route.Route {
	if deps.CheckpointWait == 0 {
		deps.CheckpointWait = defaultCheckpointWait
	}
	a := &api{
		Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}, watch: watcher{store: deps.Watermarks},
		admission: newAdmission(), values: budget.New(maxValues),
	}
	a.register(deps.Metrics)
	scopes := []request.Scope{request.ReadLiveData}
	return []route.Route{
		{
			Method: http.MethodGet, Pattern: queryPath, Scopes: scopes, Handle: a.query,
			CheckCapacity: a.admission.checkCapacity,
		},
		{Method: http.MethodGet, Pattern: seriesPath, Scopes: scopes, Handle: a.listSeries},
	}
}
