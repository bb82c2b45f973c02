package embeddings

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// leaseName is the name of the index manager's lease.
const leaseName = "search-index"

const (
	maxWorkspacesBehind = 1000 // maximum number of workspaces that catch up in one pass
	// An index is lost if Milvus has less than the share lostThreshold of its vectors in two
	// consecutive checks. The share is not checked for fewer than lostMinVectors vectors.
	lostThreshold  = 0.9
	lostMinVectors = 20
)

var errLost = errors.New("what was given to Milvus is not there")

// heldElsewhere reports whether work ended because another process has the lease.
func heldElsewhere(err error) bool {
	return errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrLost)
}

// indexManager ensures that there is a complete index of the configured model. A lease ensures
// that one process at a time does this.
type indexManager struct {
	*Consumer
	lease      *lease.Lease
	wakeUp     chan struct{}
	startedAt  time.Time  // start of this process, by the database's clock
	checkedAt  time.Time  // last check of Milvus
	suspectID  uuid.UUID  // the index that had too few vectors at that check
	difference difference // between expected and stored vectors, over consecutive checks
	repairDue  bool       // the live index has to be compared and repaired
	aliasedID  uuid.UUID  // the index that has the alias
	resumedID  uuid.UUID  // the index that this process builds
	switchedID uuid.UUID  // the live index, if it must catch up with all changes since its build
	outages    outage.Log
}

// wake makes run start a pass immediately.
func (k *indexManager) wake() {
	select {
	case k.wakeUp <- struct{}{}:
	default:
	}
}

// run manages the index until ctx is done.
func (k *indexManager) run(ctx context.Context) {
	defer k.releaseLease(ctx)
	for {
		err := k.lease.Run(ctx, k.reconcile)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.resumedID = uuid.Nil // another process may build it in the meantime
		}
		if err != nil && !heldElsewhere(err) {
			k.metrics.failures.Inc()
		}
		k.noteOutage(ctx, err)
		wait := sleep.Jitter(reconcileInterval)
		if err != nil {
			if !sleep.For(ctx, wait) { // also if woken
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wakeUp:
			k.checkedAt = time.Time{}
		case <-time.After(wait):
		}
	}
}

// noteOutage logs the first of consecutive failures, and the recovery.
func (k *indexManager) noteOutage(ctx context.Context, err error) {
	if heldElsewhere(err) {
		err = nil
	}
	k.outages.Note(ctx, k.logger, err)
}

// reconcile makes one pass: it drops retired indexes, builds an index if necessary and updates the
// live index.
func (k *indexManager) reconcile(ctx context.Context) error {
	if k.startedAt.IsZero() {
		now, err := k.deps.Graph.Now(ctx)
		if err != nil {
			return err
		}
		k.startedAt = now
	}
	if err := k.dropRetired(ctx); err != nil {
		return err
	}
	live, building, err := k.indexes(ctx)
	if err != nil {
		return err
	}
	if building == nil {
		cause, err := k.buildCause(ctx, live)
		if err != nil {
			return err
		}
		if cause != "" {
			begun, err := k.deps.Graph.BeginIndex(ctx, k.deps.Embedder.Model(), k.cfg.Collections, cause)
			if err != nil {
				return err
			}
			k.logger.Info(
				"a search index is built", "cause", cause, "model", begun.Model.String(), "collection", begun.Collection,
			)
			building = &begun
		}
	}
	if building != nil {
		if err := k.build(ctx, *building); err != nil {
			return err
		}
		if live, _, err = k.indexes(ctx); err != nil {
			return err
		}
	}
	if live == nil {
		return nil
	}
	return k.updateLive(ctx, *live)
}

// updateLive adds missing changes to the live index, indexes workspaces again as requested, and
// repairs differences between Milvus and the recorded state.
func (k *indexManager) updateLive(ctx context.Context, live textindex.SearchIndex) error {
	age := k.cfg.BehindAfter
	if live.ID == k.switchedID {
		age = 0
	}
	if err := k.catchUpWorkspaces(ctx, live, age); err != nil {
		return err
	}
	k.switchedID = uuid.Nil
	more, err := k.reindexWorkspaces(ctx, live)
	if more {
		defer k.wake()
	}
	if err != nil || !k.repairDue {
		return err
	}
	if err := k.repair(ctx, live); err != nil {
		return err
	}
	k.repairDue = false
	return nil
}

// checkContext is called before each unit of work. It returns the cause if ctx is done, as when
// another process has the lease.
func (*indexManager) checkContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// releaseLease releases the lease, so that another process can continue immediately.
func (k *indexManager) releaseLease(ctx context.Context) {
	if err := k.lease.Release(ctx); err != nil {
		k.logger.Info("the lease runs out by itself", "error", err)
	}
}

// indexes returns the live index and the one that is being built. Each is nil if there is none.
func (k *indexManager) indexes(ctx context.Context) (live, building *textindex.SearchIndex, err error) {
	open, err := k.deps.Graph.OpenIndexes(ctx)
	for i := range open {
		if open[i].State == textindex.IndexLive {
			live = &open[i]
		} else {
			building = &open[i]
		}
	}
	return live, building, err
}

// buildCause returns the reason why an index has to be built, or an empty string if none has.
func (k *indexManager) buildCause(ctx context.Context, live *textindex.SearchIndex) (string, error) {
	if live == nil {
		return textindex.CauseFirst, nil
	}
	if live.Model != k.deps.Embedder.Model() {
		if live.CreatedAt.Before(k.startedAt) {
			return textindex.CauseModel, nil
		}
		// The model of the process that was started last is used. Otherwise the two processes
		// would replace each other's index forever.
		return "", errors.New(
			"the search index is of the model " +
				live.Model.String() + ", chosen by a process that was started later; this one is to be restarted with that model",
		)
	}
	wanted, err := k.deps.Graph.ReindexRequested(ctx)
	if err != nil || wanted {
		return textindex.CauseRequested, err
	}
	lost, err := k.isLost(ctx, live)
	if err != nil || !lost {
		return "", err
	}
	return textindex.CauseLost, nil
}

// isLost reports whether Milvus has lost the live index. Otherwise it makes sure that the index
// can be searched, and checks its number of vectors.
func (k *indexManager) isLost(ctx context.Context, live *textindex.SearchIndex) (bool, error) {
	if time.Since(k.checkedAt) < k.cfg.CheckEvery && k.aliasedID == live.ID {
		return false, nil
	}
	exists, err := k.deps.Vectors.HasCollection(ctx, live.Collection)
	if err != nil || !exists {
		return !exists && err == nil, err
	}
	// A collection is not loaded after a restart of Milvus.
	if err := k.deps.Vectors.LoadCollection(ctx, live.Collection); err != nil {
		return false, err
	}
	if k.aliasedID != live.ID {
		if err := k.deps.Vectors.SetAlias(ctx, k.cfg.Collections, live.Collection); err != nil {
			return false, err
		}
		k.aliasedID = live.ID
		k.indexer.flusher.addRows(live.Collection, 1) // it is unknown whether earlier writes were flushed
	}
	expected, stored, err := k.counts(ctx, *live)
	if err != nil {
		return false, err
	}
	k.checkedAt = time.Now()
	few := k.tooFew(*live, expected, stored)
	again := few && k.suspectID == live.ID
	k.suspectID = uuid.Nil
	if few {
		k.suspectID = live.ID
	}
	k.repairDue = k.difference.observe(expected, stored)
	return again, nil
}

// counts returns the number of vectors recorded in Postgres and the number stored in Milvus.
func (k *indexManager) counts(ctx context.Context, index textindex.SearchIndex) (expected, stored int64, err error) {
	totals, err := k.deps.Graph.IndexTotals(ctx, index.ID)
	if err != nil {
		return 0, 0, err
	}
	stored, err = k.deps.Vectors.Count(ctx, index.Collection)
	return totals.Vectors, stored, err
}

// tooFew reports whether so many vectors are missing that the index has to be rebuilt rather than
// repaired.
func (k *indexManager) tooFew(index textindex.SearchIndex, expected, stored int64) bool {
	few := expected >= lostMinVectors && float64(stored) < lostThreshold*float64(expected)
	if few {
		k.logger.Warn(
			"Milvus holds less of the search index than it was given", "collection", index.Collection, "vectors", stored,
			"given", expected,
		)
	}
	return few
}

// dropRetired drops the indexes that were replaced or abandoned at least Config.KeepOld ago.
func (k *indexManager) dropRetired(ctx context.Context) error {
	ended, err := k.deps.Graph.EndedIndexes(ctx, k.cfg.KeepOld)
	if err != nil {
		return err
	}
	for _, index := range ended {
		if err := k.checkContext(ctx); err != nil {
			return err
		}
		if err := k.deps.Vectors.DropCollection(ctx, index.Collection); err != nil {
			return err
		}
		if err := k.deps.Graph.ForgetIndex(ctx, index.ID); err != nil {
			return err
		}
		k.logger.Info("an old search index is removed", "collection", index.Collection, "was", index.State)
	}
	return nil
}

// catchUpWorkspaces adds the changes that an index has missed for longer than age.
func (k *indexManager) catchUpWorkspaces(ctx context.Context, index textindex.SearchIndex, age time.Duration) error {
	if index.Model != k.deps.Embedder.Model() {
		return nil
	}
	behind, err := k.deps.Graph.WorkspacesBehind(ctx, index.ID, age, maxWorkspacesBehind)
	if err != nil {
		return err
	}
	for _, b := range behind {
		if err := k.checkContext(ctx); err != nil {
			return err
		}
		if err := k.indexer.catchUp(ctx, index, b.Workspace, b.Sequence); err != nil {
			return err
		}
	}
	return nil
}

// runMetrics updates the metrics of the index, in each process, until ctx is done.
func (k *indexManager) runMetrics(ctx context.Context) {
	for {
		k.measure(ctx)
		if !sleep.For(ctx, totalsInterval) {
			return
		}
	}
}

func (k *indexManager) measure(ctx context.Context) {
	live, building, err := k.indexes(ctx)
	if err != nil {
		return // the gauges keep their values; the metrics of the store show the failure
	}
	var totals textindex.IndexTotals
	if live != nil {
		if totals, err = k.deps.Graph.IndexTotals(ctx, live.ID); err != nil {
			return
		}
	}
	var progress textindex.BuildProgress
	if building != nil {
		if progress, err = k.deps.Graph.BuildProgress(ctx, building.ID); err != nil {
			return
		}
	}
	k.metrics.setState(totals, building != nil, progress)
}
