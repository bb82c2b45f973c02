package embeddings

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

const (
	workspacesAtOnce = 1000 // that are read at once, to be looked at one by one
	// chunksAtOnce is half of what can be listed at once: the rest is for what should
	// not be there.
	chunksAtOnce = 8000
	// looksStill and looksApart are after how many looks in a row an index that holds
	// another number of vectors than it was given is gone through: when nothing was
	// written in between, and when the two moved but were always apart in the same
	// direction, as they are under a load that never ends.
	looksStill = 2
	looksApart = 4
	// waitMost bounds how many times longer it is waited after there was nothing to be
	// put right.
	waitMost = 16
)

// difference is how far apart what Milvus holds and what it was given have been, look
// after look. What is being written makes them differ, too.
type difference struct {
	given, held int64
	looks       int // in a row, apart in the same direction
	still       int // of them, the last with the same numbers
	wait        int // times longer
}

// note takes what was seen at a look and reports whether the index is to be gone
// through.
func (d *difference) note(given, held int64) bool {
	if given == held {
		*d = difference{}
		return false
	}
	if d.looks == 0 || (held < given) != (d.held < d.given) {
		d.looks, d.still = 0, 0
	}
	if given != d.given || held != d.held {
		d.still = 0
	}
	d.given, d.held, d.looks, d.still = given, held, d.looks+1, d.still+1
	wait := max(d.wait, 1)
	return d.still >= looksStill*wait || d.looks >= looksApart*wait
}

// through notes how many workspaces were put right.
func (d *difference) through(repaired int) {
	wait := 1
	if repaired == 0 {
		wait = min(2*max(d.wait, 1), waitMost)
	}
	*d = difference{wait: wait}
}

// repair goes through an index and puts right what Milvus holds otherwise than it was
// told: it may lose what it has acknowledged when it dies, entries and deletions.
func (k *indexManager) repair(ctx context.Context, live textindex.SearchIndex) error {
	repaired := 0
	for after := (*uuid.UUID)(nil); ; {
		ids, err := k.deps.Graph.WorkspaceIDs(ctx, after, workspacesAtOnce)
		if err != nil {
			return err
		}
		for _, id := range ids {
			wrong, err := k.checkWorkspace(ctx, live, id)
			if err != nil {
				return err
			}
			if wrong {
				repaired++
			}
		}
		if len(ids) < workspacesAtOnce {
			k.apart.through(repaired)
			return nil
		}
		after = &ids[len(ids)-1]
	}
}

// checkWorkspace counts what an index has of a workspace while nobody writes to it, and
// puts it right if that is not what it should have. It reports whether it was wrong.
func (k *indexManager) checkWorkspace(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID,
) (wrong bool, err error) {
	if err := k.proceed(ctx); err != nil {
		return false, err
	}
	given, held, err := k.countWorkspace(ctx, live, workspace)
	if err != nil || given == held {
		return false, err
	}
	var lost, surplus int
	for after := (*uuid.UUID)(nil); ; {
		if err := k.proceed(ctx); err != nil {
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
	k.metrics.repaired(lost, surplus)
	k.logger.Warn("Milvus held something else of a workspace than it was given; it is put right", "workspace", workspace,
		"given", given, "held", held, "nodesWrittenAgain", lost, "vectorsRemoved", surplus)
	return true, nil
}

func (k *indexManager) countWorkspace(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID,
) (given, held int64, err error) {
	w, err := k.deps.Graph.WriteIndex(ctx, live.ID, []uuid.UUID{workspace})
	if err != nil {
		return 0, 0, err
	}
	defer w.Release(ctx)
	if given, err = w.Vectors(ctx, workspace); err != nil {
		return 0, 0, err
	}
	held, err = k.deps.Vectors.CountWorkspace(ctx, live.Collection, workspace)
	return given, held, err
}

// repairs is what was wrong with some of the nodes of a workspace.
type repairs struct {
	lost    []textindex.NodeRef // whose vectors are not all there
	surplus int                 // vectors that were removed
	last    *uuid.UUID          // after which there may be more nodes; nil: there are none
}

// nextNodes reads what an index was given of the next nodes of a workspace, as far as
// their vectors can be listed at once, and whether there are more.
func nextNodes(
	ctx context.Context, w *textindex.IndexWriter, workspace uuid.UUID, after *uuid.UUID,
) (nodes []textindex.IndexedNode, more bool, err error) {
	if nodes, err = w.Nodes(ctx, workspace, after, nodesAtOnce); err != nil {
		return nil, false, err
	}
	chunks := 0
	for i, n := range nodes {
		if chunks += n.Chunks; chunks > chunksAtOnce && i > 0 {
			return nodes[:i], true, nil
		}
	}
	return nodes, len(nodes) == nodesAtOnce, nil
}

// compareNodes compares what Milvus holds of the next nodes with what it was given,
// while nobody writes to them, and removes what it should not hold.
func (k *indexManager) compareNodes(
	ctx context.Context, live textindex.SearchIndex, workspace uuid.UUID, after *uuid.UUID,
) (page repairs, err error) {
	w, err := k.deps.Graph.WriteIndex(ctx, live.ID, []uuid.UUID{workspace})
	if err != nil {
		return page, err
	}
	defer w.Release(ctx)
	nodes, more, err := nextNodes(ctx, w, workspace, after)
	if err != nil {
		return page, err
	}
	if more {
		page.last = &nodes[len(nodes)-1].Node
	}
	held, err := k.deps.Vectors.Held(ctx, live.Collection, workspace, after, page.last)
	if fault.Is(err, fault.TooLarge) { // so much is wrong that it is better built again
		_, err = k.deps.Graph.RequestReindex(ctx, "the search index itself")
		return page, err
	}
	if err != nil {
		return page, err
	}
	known, there := map[uuid.UUID]textindex.IndexedNode{}, map[uuid.UUID]int{}
	for _, n := range nodes {
		known[n.Node] = n
	}
	var surplus []milvus.EntryID
	for _, id := range held {
		if n, ok := known[id.Node]; ok && id.Chunk < n.Chunks {
			there[id.Node]++
		} else {
			surplus = append(surplus, id)
		}
	}
	for _, n := range nodes {
		if n.Intent || there[n.Node] != n.Vectors {
			page.lost = append(page.lost, n.NodeRef)
		}
	}
	page.surplus = len(surplus)
	return page, k.deps.Vectors.Delete(ctx, live.Collection, surplus)
}
