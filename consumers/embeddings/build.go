package embeddings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// catchUpRounds is how often a new index catches up with changes before it becomes live. After
// that it is no further behind than a live index.
const catchUpRounds = 3

// build builds an index, or continues an interrupted build, and makes it the live index. The
// current live index is maintained in the meantime. build abandons an index of another model,
// unless a process that was started later builds it.
func (k *indexManager) build(ctx context.Context, index textindex.SearchIndex) error {
	if index.Model != k.deps.Embedder.Model() {
		if index.CreatedAt.Before(k.startedAt) {
			return k.abandonBuild(ctx, index, "another model is configured")
		}
		return errors.New("a search index of another model is being built, by a process that was started later")
	}
	if err := k.createCollection(ctx, &index); err != nil {
		return err
	}
	if k.resumedID != index.ID {
		if err := k.deps.Graph.ResumeIndex(ctx, index.ID); err != nil {
			return err
		}
		k.resumedID = index.ID
	}
	err := k.maintainDuring(ctx, func(ctx context.Context) error {
		if err := k.fill(ctx, index); err != nil {
			return err
		}
		return k.verify(ctx, index)
	})
	if errors.Is(err, milvus.ErrNoCollection) || errors.Is(err, errLost) {
		return errors.Join(err, k.abandonBuild(ctx, index, "Milvus lost it while it was built"))
	}
	if err != nil {
		return err
	}
	return k.makeLive(ctx, index)
}

// maintainDuring runs work, without a time limit, and maintains the live index until it ends.
// Failures of the maintenance are retried and do not end the work.
func (k *indexManager) maintainDuring(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	outages := outage.Log{
		Failed:    "the live search index cannot be kept while another is built; it is tried again",
		Recovered: "the live search index is kept again",
	}
	for {
		select {
		case err := <-done:
			return err
		case <-k.wakeUp:
			k.checkedAt = time.Time{}
		case <-time.After(reconcileInterval):
		}
		err := k.maintainLive(ctx)
		if err != nil && ctx.Err() == nil {
			k.metrics.failures.Inc()
		}
		outages.Note(ctx, k.logger, err)
	}
}

// maintainLive maintains the live index while another is built. If the live index is lost, it
// does nothing, because the other index will replace it.
func (k *indexManager) maintainLive(ctx context.Context) error {
	if err := k.dropRetired(ctx); err != nil {
		return err
	}
	live, _, err := k.indexes(ctx)
	if err != nil || live == nil {
		return err
	}
	lost, err := k.isLost(ctx, live)
	if err != nil || lost {
		return err
	}
	return k.updateLive(ctx, *live)
}

// createCollection creates the collection of the index, unless the index is already prepared.
func (k *indexManager) createCollection(ctx context.Context, index *textindex.SearchIndex) error {
	if index.Prepared {
		return nil
	}
	if err := k.deps.Vectors.CreateCollection(ctx, index.Collection, index.Model.Dimensions); err != nil {
		return err
	}
	index.Prepared = true
	return k.deps.Graph.PreparedIndex(ctx, index.ID)
}

// fill writes every workspace to the index, and then the changes made in the meantime.
func (k *indexManager) fill(ctx context.Context, index textindex.SearchIndex) error {
	for {
		if err := k.checkContext(ctx); err != nil {
			return err
		}
		next, found, err := k.deps.Graph.NextToBuild(ctx, index.ID)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if err := k.fillWorkspace(ctx, index, next); err != nil {
			return err
		}
	}
	for range catchUpRounds {
		if err := k.catchUpWorkspaces(ctx, index, 0); err != nil {
			return err
		}
	}
	return nil
}

// fillWorkspace writes a workspace to the index. The start of the build is recorded before the
// first node is read, so that later changes are known to be either missing or written. Nodes
// created later are not read here, so the build ends however many are created.
func (k *indexManager) fillWorkspace(
	ctx context.Context, index textindex.SearchIndex, w textindex.WorkspaceBuild,
) error {
	sequence, err := k.deps.Graph.BeginBuild(ctx, index.ID, w.Workspace)
	if err != nil {
		return err
	}
	for after := w.After; ; {
		if err := k.checkContext(ctx); err != nil {
			return err
		}
		ids, err := k.deps.Graph.LiveNodes(ctx, w.Workspace, sequence, after, nodePageSize)
		if err != nil {
			return err
		}
		t := task{index: index, refs: refsOf(w.Workspace, ids), unsure: map[indexedRef]bool{}}
		if err := k.indexer.write(ctx, t); err != nil {
			return err
		}
		if len(ids) < nodePageSize {
			return k.deps.Graph.EndBuild(ctx, index.ID, w.Workspace)
		}
		after = &ids[len(ids)-1]
		if err := k.deps.Graph.ContinueBuild(ctx, index.ID, w.Workspace, *after); err != nil {
			return err
		}
	}
}

// verify flushes the collection and returns errLost if the collection or too many vectors are
// missing.
func (k *indexManager) verify(ctx context.Context, index textindex.SearchIndex) error {
	exists, err := k.deps.Vectors.HasCollection(ctx, index.Collection)
	if err != nil {
		return err
	}
	if !exists {
		return errLost
	}
	if err := k.deps.Vectors.Flush(ctx, index.Collection); err != nil {
		return err
	}
	expected, stored, err := k.counts(ctx, index)
	if err == nil && k.tooFew(index, expected, stored) {
		err = errLost
	}
	return err
}

// makeLive makes the index the one that is searched. Postgres decides that. The alias is for
// direct access to Milvus and is set again after a crash in between (see isLost). The old
// collection is dropped when both are done. A batch that read the index while it was being built
// may have left changes of a workspace to the build that was already past it; updateLive reads them.
func (k *indexManager) makeLive(ctx context.Context, index textindex.SearchIndex) error {
	if err := k.checkContext(ctx); err != nil {
		return err
	}
	if err := k.deps.Graph.SwitchIndex(ctx, index.ID); err != nil {
		return err
	}
	k.logger.Info("a new search index is live", "model", index.Model.String(), "collection", index.Collection)
	k.resumedID, k.suspectID, k.switchedID = uuid.Nil, uuid.Nil, index.ID
	if err := k.deps.Vectors.SetAlias(ctx, k.cfg.Collections, index.Collection); err != nil {
		return fmt.Errorf("naming the new search index: %w", err)
	}
	k.aliasedID = index.ID
	return nil
}

func (k *indexManager) abandonBuild(ctx context.Context, index textindex.SearchIndex, reason string) error {
	k.logger.Warn("a search index that was being built is given up", "collection", index.Collection, "reason", reason)
	k.resumedID = uuid.Nil
	return k.deps.Graph.FailIndex(ctx, index.ID, reason)
}
