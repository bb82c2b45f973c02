package resolve

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// SourceDirectory looks up and creates sources of workspaces.
type SourceDirectory interface {
	// SourcesByID returns which of the ids are sources of the workspace that are not deleted.
	SourcesByID(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error)
	// SourcesByName returns the ids of the workspace's sources with these names that are not deleted.
	SourcesByName(ctx context.Context, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error)
	// CreateSources creates sources with these names, in the given order, up to the workspace's
	// limit, and with the tags of their names; nil: without tags. It returns the ids of all sources
	// that then exist with these names, including those that others created. Names beyond the limit
	// are omitted.
	CreateSources(
		ctx context.Context, workspace uuid.UUID, names []string, tags func(name string) map[string]string,
	) (map[string]uuid.UUID, error)
}

// SeriesRegistry assigns ids to series.
type SeriesRegistry interface {
	// RegisterSeries returns the id of each identity, new or existing, at the same index. ok is
	// false for an identity that exceeds the workspace's limit or whose source is deleted.
	RegisterSeries(
		ctx context.Context, workspace uuid.UUID, identities []pointblock.Identity, fingerprints []pointblock.Fingerprint,
	) (ids []uint64, ok []bool, err error)
}

// Router returns the route that assigns points to the partitions of their topic.
type Router interface {
	// Route returns the route for points that are accepted now. It waits a few seconds for one.
	Route(ctx context.Context) (pointblock.Route, error)
}

// Deps are the dependencies and settings of a Resolver.
type Deps struct {
	Sources        SourceDirectory
	Registry       SeriesRegistry
	Routes         Router
	Retention      RetentionDirectory // nil: points of any age are accepted
	FingerprintKey [16]byte           // key of the installation
	CacheSize      int                // maximum number of cached series
	SourceTTL      time.Duration      // how long the existence of sources is cached; zero: a second
	RetentionTTL   time.Duration      // how long retention is cached; zero: a second
}

// Metrics are the metrics of a Resolver. Each is updated once per request.
type Metrics struct {
	Created                    prometheus.Counter // created sources
	SeriesHits, SeriesMisses   prometheus.Counter
	SourcesHits, SourcesMisses prometheus.Counter
}

// Resolver finds the sources and the series of batches. It is safe for concurrent use.
type Resolver struct {
	deps      Deps
	metrics   Metrics
	sources   *sourceCache
	series    seriesCache
	retention *retentionCache
}

// New creates a resolver.
func New(deps Deps, metrics Metrics) *Resolver {
	deps.SourceTTL = cmp.Or(deps.SourceTTL, sourceTTL)
	deps.RetentionTTL = cmp.Or(deps.RetentionTTL, retentionTTL)
	return &Resolver{
		deps: deps, metrics: metrics,
		sources:   newSourceCache(deps.SourceTTL, MaxCachedSources),
		series:    newSeriesCache(deps.CacheSize),
		retention: newRetentionCache(deps.Retention, deps.RetentionTTL),
	}
}

// SeriesLen returns the number of cached series.
func (r *Resolver) SeriesLen() int { return r.series.len() }

// SourcesLen returns the number of cached sources.
func (r *Resolver) SourcesLen() int { return r.sources.len() }

// Forget removes the sources and the retention of a workspace from the caches.
func (r *Resolver) Forget(workspace uuid.UUID) {
	r.sources.forget(workspace)
	r.retention.forget(workspace)
}

// AwaitCacheExpiry waits until no process uses sources that it cached before the given time, which is when a change was
// committed or later. It also returns when ctx ends.
func AwaitCacheExpiry(ctx context.Context, committed time.Time) {
	sleep.For(ctx, time.Until(committed.Add(sourceTTL+clockGrace)))
}
