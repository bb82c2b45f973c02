// Package livedata serves the live-data routes. It contains the routes that write: sources,
// points in all formats, deletions of points. Package query reads points and lists series,
// package stream sends points as they arrive. The interfaces beside each handler define the
// methods that it calls on the stores.
//
// The package also contains the sender that writes the deletions of sources to the log.
package livedata

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata/query"
	"github.com/livegraph/livegraph/api/livedata/stream"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
)

// Deps are the dependencies of the routes.
type Deps struct {
	Sources     sourceStore
	Series      query.SeriesStore
	Points      pointStore
	Watermarks  query.WatermarkStore
	DeadRecords query.DeadRecordStore
	Pipeline    pipeline
	Deletions   *DeletionSender
	// Streams delivers points as they arrive.
	Streams *tail.Hub
	// Keys stores the idempotency keys of requests.
	Keys *idempotency.Manager
	// TopicID returns the current id of topic points.
	TopicID func() [16]byte
	// TokenKey signs checkpoints and cursors. All processes of an installation must use the
	// same.
	TokenKey [32]byte
	// Bodies bounds the total bytes of the bodies of concurrent ingest requests.
	Bodies *request.Budget
	// MaxBodyBytes is the maximum size of an ingest body, decoded.
	MaxBodyBytes int64
	// QueryTimeout is the maximum duration of a query; beyond, 504.
	QueryTimeout time.Duration
	// CheckpointWait is how long a query waits for its checkpoint; zero: 5 s.
	CheckpointWait time.Duration
	// WriteTimeout is the timeout of each write to the reader of a stream; zero: 10 s.
	WriteTimeout time.Duration
	// Metrics registers the metrics of queries; nil: none are registered.
	Metrics prometheus.Registerer
}

type api struct {
	Deps
	sealer token.Sealer
}

// pointStore reads points.
type pointStore interface {
	query.PointStore
	SourceActivity(ctx context.Context, workspace uuid.UUID, sources []uuid.UUID) (map[uuid.UUID]time.Time, error)
}

// Paths of the group.
const (
	sourcesPath = "/api/live-data/sources"
	sourcePath  = sourcesPath + "/{id}"
	ingestPath  = "/api/live-data/ingest"
	pointsPath  = "/api/live-data/points"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	newRoute := func(method, pattern string, scope request.Scope, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Scopes: []request.Scope{scope}, Handle: handle}
	}
	points := func(pattern string, handle route.Handler) route.Route {
		rt := newRoute(http.MethodPost, pattern, request.WriteLiveData, handle)
		rt.Work, rt.CheckCapacity = route.WritesPoints, a.Bodies.CheckCapacity
		return rt
	}
	routes := append(a.influxRoutes(),
		newRoute(http.MethodGet, sourcesPath, request.ReadLiveData, a.listSources),
		newRoute(http.MethodPost, sourcesPath, request.WriteLiveData, a.createSource),
		newRoute(http.MethodGet, sourcePath, request.ReadLiveData, a.getSource),
		newRoute(http.MethodPatch, sourcePath, request.WriteLiveData, a.patchSource),
		newRoute(http.MethodDelete, sourcePath, request.Admin, a.deleteSource),
		points(ingestPath, a.ingest),
		points(remoteWritePath, a.remoteWrite),
		a.otlpRoute(),
		newRoute(http.MethodDelete, pointsPath, request.Admin, a.deletePoints),
	)
	routes = append(routes, query.Routes(query.Deps{
		Series: deps.Series, Points: deps.Points, Watermarks: deps.Watermarks, DeadRecords: deps.DeadRecords,
		TopicID:  deps.TopicID,
		TokenKey: deps.TokenKey, QueryTimeout: deps.QueryTimeout, CheckpointWait: deps.CheckpointWait,
		Metrics: deps.Metrics,
	})...)
	return append(routes, stream.Routes(stream.Deps{
		Streams: deps.Streams, TokenKey: deps.TokenKey, WriteTimeout: deps.WriteTimeout,
	})...)
}
