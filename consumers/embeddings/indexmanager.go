package embeddings

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// leaseName is what the keeping is called among the work that one process does.
const leaseName = "search-index"

const (
	behindMost = 1000 // workspaces that are caught up with in one look
	// An index that holds less of what it should than this, at two looks one after the
	// other, is lost. Below so many vectors nobody can tell.
	lostShare = 0.9
	lostLeast = 20
)

var errLost = errors.New("what was given to Milvus is not there")

// notOurs reports whether work ended because another process keeps the search index.
func notOurs(err error) bool {
	return errors.Is(err, lease.ErrElsewhere) || errors.Is(err, lease.ErrLost)
}

// indexManager sees to it that there is an index, of the right model, that holds what it
// should. One process at a time does.
type indexManager struct {
	*Consumer
	lease   *lease.Lease
	wakeUp  chan struct{}
	began   time.Time  // of this process, by the database's clock
	checked time.Time  // when Milvus was last compared
	suspect uuid.UUID  // the index that held too little then
	apart   difference // of what Milvus holds and was given, look after look
	repairs bool       // the live index is to be gone through
	named   uuid.UUID  // the index that has the alias
	resumed uuid.UUID  // the index that this process builds
	failing bool
}

// look has it looked at once whether something is to be done.
func (k *indexManager) look() {
	select {
	case k.wakeUp <- struct{}{}:
	default:
	}
}

// run keeps the index until ctx is done.
func (k *indexManager) run(ctx context.Context) {
	defer k.release(ctx)
	for {
		err := k.lease.While(ctx, k.turn)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.resumed = uuid.Nil // another may build meanwhile
		}
		if err != nil && !notOurs(err) {
			k.metrics.failures.Inc()
		}
		k.say(err)
		wait := sleep.Jitter(keepEvery)
		if err != nil {
			if !sleep.For(ctx, wait) { // whatever nudges
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wakeUp:
			k.checked = time.Time{}
		case <-time.After(wait):
		}
	}
}

// say logs the first of several failures, and their end.
func (k *indexManager) say(err error) {
	failing := err != nil && !notOurs(err)
	if failing == k.failing {
		return
	}
	if k.failing = failing; failing {
		k.logger.Warn("the search index cannot be kept; it is tried again", "error", err)
	} else {
		k.logger.Info("the search index is kept again")
	}
}

// turn does what is to be done.
func (k *indexManager) turn(ctx context.Context) error {
	if k.began.IsZero() {
		now, err := k.deps.Graph.Now(ctx)
		if err != nil {
			return err
		}
		k.began = now
	}
	if err := k.tidy(ctx); err != nil {
		return err
	}
	live, building, err := k.indexes(ctx)
	if err != nil {
		return err
	}
	if building == nil {
		cause, err := k.cause(ctx, live)
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
	return k.upToDate(ctx, *live)
}

// upToDate looks up what the live index misses, indexes again the workspaces that want
// it, and puts right what Milvus holds otherwise than it was told.
func (k *indexManager) upToDate(ctx context.Context, live textindex.SearchIndex) error {
	if err := k.catchUpWith(ctx, live, k.cfg.BehindAfter); err != nil {
		return err
	}
	more, err := k.reindexWorkspaces(ctx, live)
	if more {
		defer k.look()
	}
	if err != nil || !k.repairs {
		return err
	}
	if err := k.repair(ctx, live); err != nil {
		return err
	}
	k.repairs = false
	return nil
}

// proceed is asked before each piece of work: it fails when another process has it.
func (*indexManager) proceed(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// release lets another process go on at once.
func (k *indexManager) release(ctx context.Context) {
	if err := k.lease.Release(ctx); err != nil {
		k.logger.Info("the lease runs out by itself", "error", err)
	}
}

// indexes returns the live index and the one that is being built; nil: there is none.
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

// cause returns why an index has to be built; empty: it has not.
func (k *indexManager) cause(ctx context.Context, live *textindex.SearchIndex) (string, error) {
	if live == nil {
		return textindex.CauseFirst, nil
	}
	if live.Model != k.deps.Embedder.Model() {
		if live.CreatedAt.Before(k.began) {
			return textindex.CauseModel, nil
		}
		// Anyone who was started after us and chose another model has the say: else the two
		// would build in turns forever.
		return "", errors.New(
			"the search index is of the model " +
				live.Model.String() + ", chosen by a process that was started later; this one is to be restarted with that model",
		)
	}
	wanted, err := k.deps.Graph.ReindexWanted(ctx)
	if err != nil || wanted {
		return textindex.CauseAsked, err
	}
	lost, err := k.lost(ctx, live)
	if err != nil || !lost {
		return "", err
	}
	return textindex.CauseLost, nil
}

// lost reports whether Milvus does not hold the live index any more, and has it ready
// to be searched otherwise.
func (k *indexManager) lost(ctx context.Context, live *textindex.SearchIndex) (bool, error) {
	if time.Since(k.checked) < k.cfg.CheckEvery && k.named == live.ID {
		return false, nil
	}
	there, err := k.deps.Vectors.HasCollection(ctx, live.Collection)
	if err != nil || !there {
		return !there && err == nil, err
	}
	if err := k.deps.Vectors.LoadCollection(ctx, live.Collection); err != nil { // it is not, after a restart of Milvus
		return false, err
	}
	if k.named != live.ID {
		if err := k.deps.Vectors.SetAlias(ctx, k.cfg.Collections, live.Collection); err != nil {
			return false, err
		}
		k.named = live.ID
		k.indexer.flusher.wrote(live.Collection, 1) // nobody knows what was flushed before
	}
	given, held, err := k.counts(ctx, *live)
	if err != nil {
		return false, err
	}
	k.checked = time.Now()
	few := k.tooFew(*live, given, held)
	again := few && k.suspect == live.ID
	k.suspect = uuid.Nil
	if few {
		k.suspect = live.ID
	}
	k.repairs = k.apart.note(given, held)
	return again, nil
}

// counts returns how many vectors Milvus was given, and how many it has.
func (k *indexManager) counts(ctx context.Context, index textindex.SearchIndex) (given, held int64, err error) {
	totals, err := k.deps.Graph.IndexTotals(ctx, index.ID)
	if err != nil {
		return 0, 0, err
	}
	held, err = k.deps.Vectors.Count(ctx, index.Collection)
	return totals.Vectors, held, err
}

// tooFew reports whether Milvus has so much less than it was given that the index is
// rather built again than put right.
func (k *indexManager) tooFew(index textindex.SearchIndex, given, held int64) bool {
	few := given >= lostLeast && float64(held) < lostShare*float64(given)
	if few {
		k.logger.Warn(
			"Milvus holds less of the search index than it was given", "collection", index.Collection, "vectors", held, "given",
			given,
		)
	}
	return few
}

// tidy drops what was replaced or given up, once nobody searches it any more.
func (k *indexManager) tidy(ctx context.Context) error {
	ended, err := k.deps.Graph.EndedIndexes(ctx, k.cfg.KeepOld)
	if err != nil {
		return err
	}
	for _, index := range ended {
		if err := k.proceed(ctx); err != nil {
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

// catchUpWith looks up what an index misses whose events do not come.
func (k *indexManager) catchUpWith(ctx context.Context, index textindex.SearchIndex, age time.Duration) error {
	if index.Model != k.deps.Embedder.Model() {
		return nil
	}
	behind, err := k.deps.Graph.WorkspacesBehind(ctx, index.ID, age, behindMost)
	if err != nil {
		return err
	}
	for _, b := range behind {
		if err := k.proceed(ctx); err != nil {
			return err
		}
		if err := k.indexer.catchUp(ctx, index, b.Workspace, b.Sequence); err != nil {
			return err
		}
	}
	return nil
}

// watch has the metrics report how far the index is, in each process, until ctx is done.
func (k *indexManager) watch(ctx context.Context) {
	for {
		k.measure(ctx)
		if !sleep.For(ctx, totalsEvery) {
			return
		}
	}
}

func (k *indexManager) measure(ctx context.Context) {
	live, building, err := k.indexes(ctx)
	if err != nil {
		return // unchanged; the metrics of the store report that it is unavailable
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
	k.metrics.state(totals, building != nil, progress)
}
