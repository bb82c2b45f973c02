// Package links creates the edges of type "mentions" that follow from the texts of nodes, and deletes
// those that no longer do.
//
// The writer of the text index queues nodes whose text changed, and names that nodes got or lost (see
// storage/postgres/textindex). The linker takes them from the queue, compares the mentions in the
// current text of a node with its links, and writes the difference as commands to topic
// "graph.commands". A node stays queued until a later comparison finds no difference. So a crash at
// any point, a command that fails and a repeated command have no lasting effect.
//
// One process links at a time. It holds a lease.
package links

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Deps are the dependencies of the linker. All are required except Logger and Metrics.
type Deps struct {
	Log     *kafka.Client
	Graph   *stores.DB
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: the metrics are not registered
	// Interval is how often the queue is polled when it is empty; 0: a second.
	Interval time.Duration
}

const (
	leaseName       = "links"
	leaseFor        = 60 * time.Second
	defaultInterval = time.Second
	// keysPerRound and nodesPerRound bound the work between two checks of the lease.
	keysPerRound  = 200
	nodesPerRound = 100
	// settleDelay is how long the commands of a node are given before it is compared again. It grows with
	// the attempts.
	settleDelay = 500 * time.Millisecond
	// reportedAttempts is the number of attempts after which a node is logged.
	reportedAttempts = 10
)

// Linker links nodes.
type Linker struct {
	deps    Deps
	logger  *slog.Logger
	lease   *lease.Lease
	metrics metrics
}

type metrics struct {
	compared *prometheus.CounterVec
	changed  *prometheus.CounterVec
}

// New creates a Linker.
func New(deps Deps) *Linker {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Interval <= 0 {
		deps.Interval = defaultInterval
	}
	factory := promauto.With(deps.Metrics)
	l := &Linker{
		deps: deps, logger: deps.Logger.With("component", "links"), lease: lease.New(deps.Graph, leaseName, leaseFor),
		metrics: metrics{
			compared: factory.NewCounterVec(prometheus.CounterOpts{
				Name: "livegraph_links_nodes_total",
				Help: "Total number of nodes whose mentions were compared with their links by result: same, changed (commands " +
					"were sent).",
			}, []string{"result"}),
			changed: factory.NewCounterVec(prometheus.CounterOpts{
				Name: "livegraph_links_commands_total",
				Help: "Total number of commands on links that were sent by action: create, update, delete.",
			}, []string{"action"}),
		},
	}
	for _, result := range []string{resultSame, resultChanged} {
		l.metrics.compared.WithLabelValues(result)
	}
	for _, action := range []string{actionCreate, actionUpdate, actionDelete} {
		l.metrics.changed.WithLabelValues(action)
	}
	return l
}

// Values of metric labels.
const (
	resultSame    = "same"
	resultChanged = "changed"
	actionCreate  = "create"
	actionUpdate  = "update"
	actionDelete  = "delete"
)

// Run links until ctx is done.
func (l *Linker) Run(ctx context.Context) error {
	outages := outage.Log{Failed: "links cannot be updated yet", Recovered: "links are updated again"}
	for ctx.Err() == nil {
		more, err := l.round(ctx)
		if errors.Is(err, lease.ErrLost) {
			err = nil
		}
		if ctx.Err() == nil {
			outages.Note(ctx, l.logger, err)
		}
		if !more || err != nil {
			sleep.For(ctx, sleep.Jitter(l.deps.Interval))
		}
	}
	if err := l.lease.Release(context.WithoutCancel(ctx)); err != nil {
		l.logger.Debug("the lease was not given back", "error", err)
	}
	return nil
}

// round takes some names and nodes from the queue, and reports whether there may be more.
func (l *Linker) round(ctx context.Context) (more bool, err error) {
	if held, err := l.lease.Acquire(ctx); err != nil || !held {
		return false, err
	}
	expanded, err := l.deps.Graph.ExpandLinkKeys(ctx, keysPerRound)
	if err != nil || expanded == keysPerRound { // names first: they queue nodes, which are then compared once
		return err == nil, err
	}
	due, err := l.deps.Graph.DueLinkNodes(ctx, nodesPerRound)
	if err != nil {
		return false, err
	}
	byWorkspace := map[uuid.UUID][]linkstore.Node{}
	var order []uuid.UUID
	for _, n := range due {
		if byWorkspace[n.Workspace] == nil {
			order = append(order, n.Workspace)
		}
		byWorkspace[n.Workspace] = append(byWorkspace[n.Workspace], n)
	}
	var failed error
	for _, id := range order {
		if err := l.lease.Check(ctx); err != nil {
			return false, err
		}
		if err := l.link(ctx, id, byWorkspace[id]); err != nil {
			failed = errors.Join(failed, err) // one workspace must not stop the others
		}
	}
	return expanded > 0 || len(due) == nodesPerRound, failed
}
