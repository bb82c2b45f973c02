// Package rules evaluates the recording and alerting rules of all workspaces, with Prometheus' own rule manager: one
// manager a workspace, in one process at a time, which has a lease. Recorded series and the series of alerts
// (ALERTS, ALERTS_FOR_STATE) are written through the ordinary ingest, as remote write would.
//
// What fires is recorded in Postgres, in the transaction that queues the notifications, so that each change is
// notified once whatever ends in between. Alertmanagers get alerts again and again while they fire, as from
// Prometheus.
package rules

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

const (
	pollInterval = time.Second      // of the revisions of files
	leaseFor     = 15 * time.Second // after which another process takes over
	heldWait     = 5 * time.Second  // before a lease that another process has is requested again
	failedWait   = 5 * time.Second  // before work that failed is begun again
)

// Store has the files and alerts; see storage/postgres/alerting.
type Store interface {
	lease.Store
	RuleRevisions(ctx context.Context) (map[uuid.UUID]alerting.Revision, error)
	RuleFiles(ctx context.Context, workspace uuid.UUID) ([]alerting.RuleFile, error)
	FiringAlerts(ctx context.Context, workspace uuid.UUID) ([]alerting.Alert, error)
	RecordAlerts(
		ctx context.Context, workspace uuid.UUID, fired, resolved []alerting.Alert,
		notify func(ctx context.Context, tx pgx.Tx, fired, resolved []alerting.Alert) error,
	) error
	SaveRuleState(ctx context.Context, workspace uuid.UUID, state []byte) error
	Alertmanagers(ctx context.Context, workspace uuid.UUID) ([]alerting.Alertmanager, error)
	RecordResult(ctx context.Context, workspace uuid.UUID, to *alerting.Alertmanager, failure string) error
}

// Written is the result of writing points.
type Written struct {
	Accepted, Rejected int
	Reason             string                // why the first of the rejected points were
	Positions          []pointblock.Position // of the records of the log
}

// Watermarks reports which records of the log are visible; see storage/postgres/registry.
type Watermarks interface {
	Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error)
}

// Deps are the dependencies and settings of a Runner.
type Deps struct {
	Store  Store
	Series *promstore.Store
	// Write writes a request of remote write, decoded, through the ordinary ingest.
	Write      func(ctx context.Context, workspace uuid.UUID, body []byte) (Written, error)
	Watermarks Watermarks
	TopicID    func() [16]byte
	// Notify queues the notifications of changes of alerts, in the transaction that records them; nil: there are none.
	Notify func(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, fired, resolved []alerting.Alert) error
	// Client sends to Alertmanagers.
	Client *http.Client
	Engine promengine.Options
	// Interval is that of groups without one.
	Interval time.Duration
	// QueryOffset is how long before an evaluation its queries look, for groups that do not say it.
	QueryOffset time.Duration
	// Concurrency is the maximum number of groups that are evaluated at the same time.
	Concurrency int
	Logger      *slog.Logger          // nil: slog.Default()
	Metrics     prometheus.Registerer // nil: metrics are not registered
}

// Runner evaluates rules. It does nothing until Run is called.
type Runner struct {
	Deps
	engine  *promql.Engine
	slots   chan struct{} // has an element for each group that is being evaluated
	metrics *metrics
	outages outage.Log
}

// New creates a Runner.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	deps.Logger = deps.Logger.With("component", "rules")
	deps.Engine.Logger = deps.Logger
	return &Runner{
		Deps: deps, engine: promengine.New(deps.Engine), slots: make(chan struct{}, max(deps.Concurrency, 1)),
		metrics: newMetrics(deps.Metrics),
		outages: outage.Log{Failed: "files of rules cannot be read", Recovered: "files of rules are read again"},
	}
}

// owner is the goroutine that evaluates the rules of a workspace, or waits for its lease.
type owner struct {
	changes chan struct{} // has an element if the files changed
	current alerting.Revision
	cancel  context.CancelFunc
}

// Run evaluates rules until ctx is done. It then returns nil.
func (r *Runner) Run(ctx context.Context) error {
	owners := map[uuid.UUID]*owner{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		revisions, err := r.Store.RuleRevisions(ctx)
		r.outages.Note(ctx, r.Logger, err)
		if err == nil {
			r.update(ctx, owners, revisions, &running)
		}
		if !sleep.For(ctx, sleep.Jitter(pollInterval)) {
			return nil
		}
	}
}

// update starts, notifies and stops the owners of workspaces.
func (r *Runner) update(
	ctx context.Context, owners map[uuid.UUID]*owner, revisions map[uuid.UUID]alerting.Revision, running *sync.WaitGroup,
) {
	for workspace, o := range owners {
		if _, ok := revisions[workspace]; !ok {
			o.cancel()
			delete(owners, workspace)
		}
	}
	for workspace, revision := range revisions {
		o := owners[workspace]
		if o == nil {
			ownerCtx, cancel := context.WithCancel(ctx)
			o = &owner{changes: make(chan struct{}, 1), current: revision, cancel: cancel}
			owners[workspace] = o
			running.Go(func() {
				defer cancel()
				r.own(ownerCtx, workspace, o.changes)
			})
		}
		if o.current != revision {
			o.current = revision
			select {
			case o.changes <- struct{}{}:
			default: // it has not yet seen the change before
			}
		}
	}
	r.metrics.workspaces.Set(float64(len(owners)))
}

// own evaluates the rules of a workspace while it has the lease, until ctx is done.
func (r *Runner) own(ctx context.Context, workspace uuid.UUID, changes <-chan struct{}) {
	logger := r.Logger.With("workspace", workspace)
	right := lease.New(r.Store, "rules "+workspace.String(), leaseFor)
	defer func() { _ = right.Release(ctx) }() // otherwise it expires
	log := outage.Log{Failed: "rules are not evaluated", Recovered: "rules are evaluated again"}
	for ctx.Err() == nil {
		err := right.Run(ctx, func(ctx context.Context) error {
			log.Note(ctx, logger, nil)
			r.metrics.owned.Inc()
			defer r.metrics.owned.Dec()
			return r.newEvaluator(workspace, logger).run(ctx, changes)
		})
		wait := failedWait
		if errors.Is(err, lease.ErrHeld) {
			wait, err = heldWait, nil
		}
		log.Note(ctx, logger, err)
		sleep.For(ctx, sleep.Jitter(wait))
	}
}
