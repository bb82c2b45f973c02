package embeddings

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// reindexPages is the number of pages of nodes that are embedded again, as requested by
// workspaces, before the index manager continues with its other work.
const reindexPages = 16

// reindexWorkspaces embeds the nodes of workspaces again, as requested by their administrators,
// into the live index, one page of one workspace at a time. Searches in the meantime find the
// old or the new vectors. more means that pages are left.
func (k *indexManager) reindexWorkspaces(ctx context.Context, live textindex.SearchIndex) (more bool, err error) {
	if live.Model != k.deps.Embedder.Model() {
		return false, nil // an index of the configured model has to be built first
	}
	for range reindexPages {
		if err := k.checkContext(ctx); err != nil {
			return false, err
		}
		next, err := k.deps.Graph.NextWorkspaceReindex(ctx)
		if err != nil || next == nil {
			return false, err
		}
		if err := k.reindexPage(ctx, live, next); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (k *indexManager) reindexPage(
	ctx context.Context, live textindex.SearchIndex, r *textindex.WorkspaceReindex,
) error {
	ids, err := k.deps.Graph.LiveNodes(ctx, r.Workspace, r.Sequence, r.After, nodePageSize)
	if err != nil {
		return err
	}
	t := task{index: live, refs: refsOf(r.Workspace, ids), unsure: map[indexedRef]bool{}}
	for _, ref := range t.refs {
		t.unsure[indexedRef{live.ID, ref}] = true // written whatever Postgres has recorded
	}
	if err := k.indexer.write(ctx, t); err != nil {
		return err
	}
	if len(ids) < nodePageSize {
		k.logger.Info("a workspace is reindexed", "workspace", r.Workspace, "nodes", r.Done+int64(len(ids)))
		return k.deps.Graph.EndWorkspaceReindex(ctx, r.ID)
	}
	return k.deps.Graph.ContinueWorkspaceReindex(ctx, r.ID, ids[len(ids)-1], len(ids))
}
