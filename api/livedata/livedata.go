// Package livedata serves the live-data routes. Its own are those that write: sources, points
// in all formats, deletions of points. Package query reads points and lists series, package
// stream sends points as they arrive. What the packages need of the stores is in the
// interfaces beside each handler.
//
// It owns the sender that writes the deletions of sources to the log.
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

// Deps is what the routes are made of.
type Deps struct {
	Sources   sourceStore
	Series    query.SeriesStore
	Points    pointStore
	Marks     query.WatermarkStore
	Dead      query.DeadRecordStore
	Pipeline  pipeline
	Deletions *DeletionSender
	// Streams gives points as they arrive.
	Streams *tail.Hub
	// Keys are those of requests that clients may repeat.
	Keys *idempotency.Keeper
	// TopicID gives the id of topic points, as it is now.
	TopicID func() [16]byte
	// TokenKey signs checkpoints and cursors: the installation's, the same in
	// every process.
	TokenKey [32]byte
	// Bodies bounds the bytes of all ingest bodies that are worked on.
	Bodies *request.Budget
	// MaxBodyBytes is the largest ingest body, decoded.
	MaxBodyBytes int64
	// QueryTimeout is the longest time of a query; beyond, 504.
	QueryTimeout time.Duration
	// CheckpointWait is how long a query waits for its checkpoint; zero: 5 s.
	CheckpointWait time.Duration
	// Patience is how long a reader of a stream may take for what is sent at once;
	// zero: 10 s.
	Patience time.Duration
	// Metrics registers what queries measure; nil: nowhere.
	Metrics prometheus.Registerer
}

// keyHold is how long a request may take until a repetition goes on in its place.
const keyHold = 30 * time.Second

type api struct {
	Deps
	sealer token.Sealer
}

// pointStore is where points are.
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
	one := func(method, pattern string, scope request.Scope, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Scopes: []request.Scope{scope}, Handle: handle}
	}
	points := func(pattern string, handle route.Handler) route.Route {
		rt := one(http.MethodPost, pattern, request.WriteLiveData, handle)
		rt.Work, rt.Room = route.WritesPoints, a.Bodies.Room
		return rt
	}
	routes := append(a.influxRoutes(),
		one(http.MethodGet, sourcesPath, request.ReadLiveData, a.listSources),
		one(http.MethodPost, sourcesPath, request.WriteLiveData, a.createSource),
		one(http.MethodGet, sourcePath, request.ReadLiveData, a.getSource),
		one(http.MethodPatch, sourcePath, request.WriteLiveData, a.patchSource),
		one(http.MethodDelete, sourcePath, request.Admin, a.deleteSource),
		points(ingestPath, a.ingest),
		points(remoteWritePath, a.remoteWrite),
		one(http.MethodDelete, pointsPath, request.Admin, a.deletePoints),
	)
	routes = append(routes, query.Routes(query.Deps{
		Series: deps.Series, Points: deps.Points, Marks: deps.Marks, Dead: deps.Dead, TopicID: deps.TopicID,
		TokenKey: deps.TokenKey, QueryTimeout: deps.QueryTimeout, CheckpointWait: deps.CheckpointWait,
		Metrics: deps.Metrics,
	})...)
	return append(routes, stream.Routes(stream.Deps{
		Streams: deps.Streams, TokenKey: deps.TokenKey, Patience: deps.Patience,
	})...)
}
