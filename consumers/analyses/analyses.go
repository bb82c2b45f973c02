// Package analyses runs analyses of graphs: jobs in Postgres that compute a measure of the nodes of a workspace, and
// may write it to a property of them.
//
// A [Runner] claims a job with a lease, reads the graph in one snapshot, computes the values (see
// internal/graph/analysis), and writes those that differ as commands to topic graph.commands. Each of these commands
// requires the version that the node had in the snapshot. So a node that was changed or deleted since is left alone,
// and the commands of a run that died, or that continues after it lost its claim, have no effect on nodes that a later
// run has written. A run that follows another begins with a new snapshot.
package analyses

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// commandLog is the topic of commands.
type commandLog interface {
	ProduceCommand(ctx context.Context, record kafka.Record) error
}

// Deps are the dependencies of a Runner. All are required except Logger and Metrics.
type Deps struct {
	Log     commandLog
	Store   *stores.DB
	Config  Config
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: the metrics are not registered
}

// Config sets the limits of analyses.
type Config struct {
	// Graph bounds the nodes and edges that an analysis reads.
	Graph analysis.Limits
	// Timeout bounds the duration of a run.
	Timeout time.Duration
	// Lease is the time after which another run takes over the analysis of a run that died; 0: 10 s.
	Lease time.Duration
	// Interval is how often analyses are polled; 0: a second.
	Interval time.Duration
	// BatchNodes is the number of nodes that are written by one command batch; 0: the maximum.
	BatchNodes int
}

const (
	defaultLease    = 10 * time.Second
	defaultInterval = time.Second
	// savesPerLease is how often the progress is stored and the claim is extended within the duration of the lease. A
	// run whose analysis is cancelled stops after such an interval.
	savesPerLease = 10
	// maxRuns is the number of runs after which an analysis has failed, so that one that kills its process, such as by
	// its memory, does not do so permanently. Runs that end with their process in order do not count.
	maxRuns = 3
	// maxAge is the time after its first run after which an analysis has failed. A store may be unavailable for long.
	maxAge = 24 * time.Hour
	// retryInterval is the pause after a run that a store interrupted.
	retryInterval = 5 * time.Second
	// endTimeout limits the last update of an analysis by a run that ends.
	endTimeout = 3 * time.Second
)

// Runner runs analyses, one at a time.
type Runner struct {
	deps    Deps
	logger  *slog.Logger
	metrics *metrics
}

// New creates a Runner.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Config.Lease <= 0 {
		deps.Config.Lease = defaultLease
	}
	if deps.Config.Interval <= 0 {
		deps.Config.Interval = defaultInterval
	}
	if deps.Config.BatchNodes <= 0 {
		deps.Config.BatchNodes = maxBatchNodes
	}
	return &Runner{
		deps: deps, logger: deps.Logger.With("component", "analyses"), metrics: newMetrics(deps.Metrics),
	}
}

// Run runs analyses until ctx is done. It then leaves an unfinished one to another process and returns nil.
func (r *Runner) Run(ctx context.Context) error {
	outages := outage.Log{Failed: "analyses cannot be looked up", Recovered: "analyses are looked up again"}
	for {
		claim := uuid.New()
		job, claimed, err := r.deps.Store.ClaimAnalysis(ctx, claim, r.deps.Config.Lease)
		outages.Note(ctx, r.logger, err)
		pause := sleep.Jitter(r.deps.Config.Interval)
		if claimed {
			if interrupted := r.runJob(ctx, &job, claim); !interrupted {
				pause = 0
			} else {
				pause = retryInterval
			}
		} else if err == nil {
			r.observeQueue(ctx)
		}
		if !sleep.For(ctx, pause) {
			return nil
		}
	}
}

// observeQueue sets the metric of the number of analyses. Processes without work set it.
func (r *Runner) observeQueue(ctx context.Context) {
	queued, running, err := r.deps.Store.CountAnalyses(ctx)
	if err == nil {
		r.metrics.open.WithLabelValues("queued").Set(float64(queued))
		r.metrics.open.WithLabelValues("running").Set(float64(running))
	}
}
