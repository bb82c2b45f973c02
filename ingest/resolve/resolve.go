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
	// SourcesByID returns those of the ids that are sources of the workspace, not
	// deleted.
	SourcesByID(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error)
	// SourcesByName does the same by name.
	SourcesByName(ctx context.Context, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error)
	// CreateSources creates sources with these names, in their order, as far as the
	// workspace's limit goes, and returns the ids of all that exist with them then,
	// anyone who created them. Those that the limit refuses are left out.
	CreateSources(ctx context.Context, workspace uuid.UUID, names []string) (map[string]uuid.UUID, error)
}

// SeriesRegistry assigns ids to series.
type SeriesRegistry interface {
	// RegisterSeries returns, index for index, the id of each identity, new or
	// known. Not ok are those that the workspace's limit refuses, or whose source
	// has gone.
	RegisterSeries(
		ctx context.Context, workspace uuid.UUID, identities []pointblock.Identity, fingerprints []pointblock.Fingerprint,
	) (ids []uint64, ok []bool, err error)
}

// Router returns the route by which points are divided among the partitions of their topic.
type Router interface {
	// Route returns the route by which points that are accepted now are sent.
	Route(ctx context.Context) (pointblock.Route, error)
}

// Deps is what a Resolver works with.
type Deps struct {
	Sources        SourceDirectory
	Registry       SeriesRegistry
	Routes         Router
	Retention      RetentionDirectory // nil: points of any age are accepted
	FingerprintKey [16]byte           // the installation's
	RouteTimeout   time.Duration      // for the topic's partitions
	CacheSize      int                // series that are remembered
	SourceTTL      time.Duration      // for which sources are believed to exist; zero: a second
	RetentionTTL   time.Duration      // for which retention is believed; zero: a second
}

// Metrics count what a Resolver does, once a request each.
type Metrics struct {
	Created                    prometheus.Counter // sources
	SeriesHits, SeriesMisses   prometheus.Counter
	SourcesHits, SourcesMisses prometheus.Counter
}

// Resolver finds the sources and the series of batches. It may be used by many goroutines
// at once.
type Resolver struct {
	deps      Deps
	metrics   Metrics
	sources   *sourceCache
	series    *seriesCache
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

// SeriesLen returns how many series are remembered.
func (r *Resolver) SeriesLen() int { return r.series.len() }

// SourcesLen returns how many sources are remembered.
func (r *Resolver) SourcesLen() int { return r.sources.len() }

// Forget drops what is remembered of a workspace's sources.
func (r *Resolver) Forget(workspace uuid.UUID) {
	r.sources.forget(workspace)
	r.retention.forget(workspace)
}

// AwaitOthers returns when no process resolves any more by what it knew of sources before
// a change that was committed at the latest at the given time, or when the context ends.
func AwaitOthers(ctx context.Context, committed time.Time) {
	sleep.For(ctx, time.Until(committed.Add(sourceTTL+clockGrace)))
}
