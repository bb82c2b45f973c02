package embeddings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// catchUpRounds is how often what changed meanwhile is looked up before a new index is
// live: after that it is as far behind as any.
const catchUpRounds = 3

// build builds an index and makes it the live one, going on where it was left. The live
// index is looked after meanwhile. One that this process cannot build is given up,
// unless a process that was started later builds it.
func (k *indexManager) build(ctx context.Context, index textindex.SearchIndex) error {
	if index.Model != k.deps.Embedder.Model() {
		if index.CreatedAt.Before(k.began) {
			return k.giveUp(ctx, index, "another model is configured")
		}
		return errors.New("a search index of another model is being built, by a process that was started later")
	}
	if err := k.prepare(ctx, &index); err != nil {
		return err
	}
	if k.resumed != index.ID {
		if err := k.deps.Graph.ResumeIndex(ctx, index.ID); err != nil {
			return err
		}
		k.resumed = index.ID
	}
	err := k.beside(ctx, func(ctx context.Context) error {
		if err := k.fill(ctx, index); err != nil {
			return err
		}
		return k.verify(ctx, index)
	})
	if errors.Is(err, milvus.ErrNoCollection) || errors.Is(err, errLost) {
		return errors.Join(err, k.giveUp(ctx, index, "Milvus lost it while it was built"))
	}
	if err != nil {
		return err
	}
	return k.makeLive(ctx, index)
}

// beside runs work, which takes as long as it takes, and looks after the live index
// until it is over. What fails of that is tried again and does not end the work.
func (k *indexManager) beside(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	failing := false
	for {
		select {
		case err := <-done:
			return err
		case <-k.wakeUp:
			k.checked = time.Time{}
		case <-time.After(keepEvery):
		}
		err := k.tend(ctx)
		if err != nil && ctx.Err() == nil {
			k.metrics.failures.Inc()
			if !failing {
				k.logger.Warn("the live search index cannot be kept while another is built; it is tried again", "error", err)
			}
		}
		failing = err != nil
	}
}

// tend does for the live index what can be done while another is built. That it is
// lost is nothing to be done about: the other takes its place.
func (k *indexManager) tend(ctx context.Context) error {
	if err := k.tidy(ctx); err != nil {
		return err
	}
	live, _, err := k.indexes(ctx)
	if err != nil || live == nil {
		return err
	}
	lost, err := k.lost(ctx, live)
	if err != nil || lost {
		return err
	}
	return k.upToDate(ctx, *live)
}

// prepare makes the index's collection.
func (k *indexManager) prepare(ctx context.Context, index *textindex.SearchIndex) error {
	if index.Prepared {
		return nil
	}
	if err := k.deps.Vectors.CreateCollection(ctx, index.Collection, index.Model.Dimensions); err != nil {
		return err
	}
	index.Prepared = true
	return k.deps.Graph.PreparedIndex(ctx, index.ID)
}

// fill writes every workspace to the index, and then what changed meanwhile.
func (k *indexManager) fill(ctx context.Context, index textindex.SearchIndex) error {
	for {
		if err := k.proceed(ctx); err != nil {
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
		if err := k.catchUpWith(ctx, index, 0); err != nil {
			return err
		}
	}
	return nil
}

// fillWorkspace writes a workspace to the index. That the building has begun is noted
// before a node is read: what changes from then on is known to be missing or written.
// Nodes that are created from then on are not read here, so that the building ends
// however many they are.
func (k *indexManager) fillWorkspace(
	ctx context.Context, index textindex.SearchIndex, w textindex.WorkspaceBuild,
) error {
	sequence, err := k.deps.Graph.BeginBuild(ctx, index.ID, w.Workspace)
	if err != nil {
		return err
	}
	for after := w.After; ; {
		if err := k.proceed(ctx); err != nil {
			return err
		}
		ids, err := k.deps.Graph.StandingNodes(ctx, w.Workspace, sequence, after, nodesAtOnce)
		if err != nil {
			return err
		}
		t := task{index: index, refs: refsOf(w.Workspace, ids), unsure: map[indexedRef]bool{}}
		if err := k.indexer.write(ctx, t); err != nil {
			return err
		}
		if len(ids) < nodesAtOnce {
			return k.deps.Graph.EndBuild(ctx, index.ID, w.Workspace)
		}
		after = &ids[len(ids)-1]
		if err := k.deps.Graph.ContinueBuild(ctx, index.ID, w.Workspace, *after); err != nil {
			return err
		}
	}
}

// verify has what was written flushed, and makes sure that it is there.
func (k *indexManager) verify(ctx context.Context, index textindex.SearchIndex) error {
	there, err := k.deps.Vectors.HasCollection(ctx, index.Collection)
	if err != nil {
		return err
	}
	if !there {
		return errLost
	}
	if err := k.deps.Vectors.Flush(ctx, index.Collection); err != nil {
		return err
	}
	given, held, err := k.counts(ctx, index)
	if err == nil && k.tooFew(index, given, held) {
		err = errLost
	}
	return err
}

// makeLive has the index searched from now on. Postgres decides that; the alias is for
// who looks into Milvus, and is set again after a crash in between (see lost). The old
// collection is dropped when both are done.
func (k *indexManager) makeLive(ctx context.Context, index textindex.SearchIndex) error {
	if err := k.proceed(ctx); err != nil {
		return err
	}
	if err := k.deps.Graph.SwitchIndex(ctx, index.ID); err != nil {
		return err
	}
	k.logger.Info("a new search index is live", "model", index.Model.String(), "collection", index.Collection)
	k.resumed, k.suspect = uuid.Nil, uuid.Nil
	if err := k.deps.Vectors.SetAlias(ctx, k.cfg.Collections, index.Collection); err != nil {
		return fmt.Errorf("naming the new search index: %w", err)
	}
	k.named = index.ID
	return nil
}

func (k *indexManager) giveUp(ctx context.Context, index textindex.SearchIndex, reason string) error {
	k.logger.Warn("a search index that was being built is given up", "collection", index.Collection, "reason", reason)
	k.resumed = uuid.Nil
	return k.deps.Graph.FailIndex(ctx, index.ID, reason)
}
