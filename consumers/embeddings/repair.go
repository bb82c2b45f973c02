package embeddings

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

const (
	workspacePageSize = 1000 // IDs that are read at once; the workspaces are checked one by one
	// maxPageChunks is half of the number that can be listed at once. The other half is for
	// surplus chunks.
	maxPageChunks = 8000
	// stableChecks and differingChecks are the numbers of consecutive checks with a difference
	// in the same direction after which an index is repaired: stableChecks if neither number
	// changed, and differingChecks if they changed, as under constant load.
	stableChecks    = 2
	differingChecks = 4
	// maxBackoff limits the factor by which these numbers grow after repairs that found
	// nothing.
	maxBackoff = 16
)

// difference tracks the numbers of expected and stored vectors over consecutive checks. Writes
// in progress cause differences, too.
type difference struct {
	expected, stored int64
	checks           int // consecutive checks with a difference in the same direction
	unchanged        int // the last of these checks that had the same numbers
	backoff          int // factor of the required checks
}

// observe adds the result of a check and reports whether the index has to be repaired.
func (d *difference) observe(expected, stored int64) bool {
	if expected == stored {
		*d = difference{}
		return false
	}
	if d.checks == 0 || (stored < expected) != (d.stored < d.expected) {
		d.checks, d.unchanged = 0, 0
	}
	if expected != d.expected || stored != d.stored {
		d.unchanged = 0
	}
	d.expected, d.stored, d.checks, d.unchanged = expected, stored, d.checks+1, d.unchanged+1
	wait := max(d.backoff, 1)
	return d.unchanged >= stableChecks*wait || d.checks >= differingChecks*wait
}

// reset restarts the checks after a repair. If no workspace was repaired, it doubles the backoff, up
// to maxBackoff. Otherwise it sets the backoff to 1.
func (d *difference) reset(repaired int) {
	wait := 1
	if repaired == 0 {
		wait = min(2*max(d.backoff, 1), maxBackoff)
	}
	*d = difference{backoff: wait}
}

// repair compares an index with the recorded state and repairs differences. Milvus may lose
// acknowledged writes and deletions when it crashes.
func (k *indexManager) repair(ctx context.Context, live textindex.SearchIndex) error {
	repaired := 0
	for after := (*uuid.UUID)(nil); ; {
		ids, err := k.deps.Graph.WorkspaceIDs(ctx, after, workspacePageSize)
		if err != nil {
			return err
		}
		for _, id := range ids {
			differs, err := k.checkWorkspace(ctx, live, id)
			if err != nil {
				return err
			}
			if differs {
				repaired++
			}
		}
		if len(ids) < workspacePageSize {
			k.difference.reset(repaired)
			return nil
		}
		after = &ids[len(ids)-1]
	}
}

// checkWorkspace counts the vectors of a workspace in an index, under the lock of its writers, and
// repairs the workspace if the number is wrong. It reports whether it was.
func (k *indexManager) checkWorkspace(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID,
) (differs bool, err error) {
	if err := k.checkContext(ctx); err != nil {
		return false, err
	}
	expected, stored, err := k.countWorkspace(ctx, live, workspace)
	if err != nil || expected == stored {
		return false, err
	}
	var lost, surplus int
	for after := (*uuid.UUID)(nil); ; {
		if err := k.checkContext(ctx); err != nil {
			return true, err
		}
		page, err := k.compareNodes(ctx, live, workspace, after)
		if err != nil {
			return true, err
		}
		t := task{index: live, refs: page.lost, unsure: map[indexedRef]bool{}}
		for _, ref := range page.lost {
			t.unsure[indexedRef{live.ID, ref}] = true
		}
		if err := k.indexer.write(ctx, t); err != nil {
			return true, err
		}
		lost, surplus = lost+len(page.lost), surplus+page.surplus
		if after = page.last; after == nil {
			break
		}
	}
	k.metrics.recordRepair(lost, surplus)
	k.logger.Warn("Milvus held something else of a workspace than it was given; it is put right", "workspace", workspace,
		"given", expected, "held", stored, "nodesWrittenAgain", lost, "vectorsRemoved", surplus)
	return true, nil
}

func (k *indexManager) countWorkspace(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID,
) (expected, stored int64, err error) {
	count := func(ctx context.Context, w *textindex.IndexWriter) (err error) {
		if expected, err = w.Vectors(ctx, workspace); err != nil {
			return err
		}
		stored, err = k.deps.Vectors.CountWorkspace(ctx, live.Collection, workspace)
		return err
	}
	err = k.deps.Graph.WriteIndex(ctx, live.ID, []uuid.UUID{workspace}, count)
	return expected, stored, err
}

// nodeComparison is the result of comparing a page of nodes of a workspace.
type nodeComparison struct {
	lost    []textindex.NodeRef // nodes with missing vectors
	surplus int                 // number of removed vectors
	last    *uuid.UUID          // last node of the page; nil: there are no more nodes
}

// nextNodes returns the recorded state of the next nodes of a workspace, limited to those whose
// vectors can be listed at once, and whether there may be more.
func nextNodes(
	ctx context.Context, w *textindex.IndexWriter, workspace uuid.UUID, after *uuid.UUID,
) (nodes []textindex.IndexedNode, more bool, err error) {
	if nodes, err = w.Nodes(ctx, workspace, after, nodePageSize); err != nil {
		return nil, false, err
	}
	chunks := 0
	for i, n := range nodes {
		if chunks += n.Chunks; chunks > maxPageChunks && i > 0 {
			return nodes[:i], true, nil
		}
	}
	return nodes, len(nodes) == nodePageSize, nil
}

// compareNodes compares the vectors of the next nodes in Milvus with the recorded state, under the
// lock of their writers, and removes surplus vectors.
func (k *indexManager) compareNodes(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID, after *uuid.UUID,
) (page nodeComparison, err error) {
	err = k.deps.Graph.WriteIndex(
		ctx, live.ID, []uuid.UUID{workspace}, func(ctx context.Context, w *textindex.IndexWriter) (err error) {
			page, err = k.compareLocked(ctx, w, live, workspace, after)
			return err
		},
	)
	return page, err
}

// compareLocked implements compareNodes under the lock.
func (k *indexManager) compareLocked(
	ctx context.Context, w *textindex.IndexWriter, live textindex.SearchIndex, workspace uuid.UUID, after *uuid.UUID,
) (page nodeComparison, err error) {
	nodes, more, err := nextNodes(ctx, w, workspace, after)
	if err != nil {
		return page, err
	}
	if more {
		page.last = &nodes[len(nodes)-1].Node
	}
	stored, err := k.deps.Vectors.ListIDs(ctx, live.Collection, workspace, after, page.last)
	if fault.Is(err, fault.TooLarge) { // so many differences that a rebuild is better
		_, err = k.deps.Graph.RequestReindex(ctx, "the search index itself")
		return page, err
	}
	if err != nil {
		return page, err
	}
	indexed, storedChunks := map[uuid.UUID]textindex.IndexedNode{}, map[uuid.UUID]int{}
	for _, n := range nodes {
		indexed[n.Node] = n
	}
	var surplus []milvus.EntryID
	for _, id := range stored {
		if n, ok := indexed[id.Node]; ok && id.Chunk < n.Chunks {
			storedChunks[id.Node]++
		} else {
			surplus = append(surplus, id)
		}
	}
	for _, n := range nodes {
		if n.Intent || storedChunks[n.Node] != n.Vectors {
			page.lost = append(page.lost, n.NodeRef)
		}
	}
	page.surplus = len(surplus)
	return page, k.deps.Vectors.Delete(ctx, live.Collection, surplus)
}
