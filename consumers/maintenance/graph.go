package maintenance

import (
	"context"
	"time"

	"github.com/google/uuid"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// graphBatch is the number of workspaces or nodes that are read at once.
const graphBatch = 100

// maintainGraphs removes unreachable entries of undo stacks, and requests the purge of nodes that
// were deleted longer ago than DeletedNodesFor.
func (u *Runner) maintainGraphs(ctx context.Context) error {
	var pruned int64
	for after := uuid.Nil; ; {
		list, err := u.Registry.PrunableGraphs(ctx, after, graphBatch)
		if err != nil {
			return err
		}
		for _, workspace := range list {
			n, err := u.pruneEntries(ctx, workspace)
			if pruned += n; err != nil {
				return err
			}
		}
		if len(list) < graphBatch {
			break
		}
		after = list[len(list)-1]
	}
	if pruned > 0 {
		u.Logger.Info("commands that can be neither undone nor redone any more are forgotten", "commands", pruned)
	}
	return u.markDeleted(ctx)
}

func (u *Runner) pruneEntries(ctx context.Context, workspace uuid.UUID) (pruned int64, err error) {
	for after, more := int64(0), true; more; more = after > 0 {
		began := time.Now()
		var n int64
		if n, after, err = u.Registry.PruneEntries(ctx, workspace, after); err != nil {
			return pruned, err
		}
		pruned += n
		u.metrics.entries.Add(float64(n))
		if err := pause(ctx, time.Since(began)); err != nil {
			return pruned, err
		}
	}
	return pruned, nil
}

// markDeleted requests the purge of nodes that were deleted longer ago than DeletedNodesFor.
func (u *Runner) markDeleted(ctx context.Context) error {
	if u.Config.DeletedNodesFor <= 0 {
		return nil
	}
	before := u.Config.Now().Add(-u.Config.DeletedNodesFor)
	for after := (graphstore.GraphNodeID{}); ; {
		began := time.Now()
		last, _, err := u.Registry.MarkDeletedNodes(ctx, after, before)
		if err != nil || last == nil {
			return err
		}
		after = *last
		if err := pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// hasPurges reports whether the purge of a node was requested.
func (u *Runner) hasPurges(ctx context.Context) (bool, error) {
	list, err := u.Registry.PurgingNodes(ctx, graphstore.GraphNodeID{}, 1)
	return len(list) > 0, err
}

// purgeNodes removes the contents of nodes whose purge was requested. A failed purge does not
// prevent the others.
func (u *Runner) purgeNodes(ctx context.Context) (failed error) {
	for after := (graphstore.GraphNodeID{}); ; {
		list, err := u.Registry.PurgingNodes(ctx, after, graphBatch)
		if err != nil {
			return err
		}
		for _, id := range list {
			if err := u.Registry.PurgeNode(ctx, id); err != nil {
				failed = err
				continue
			}
			u.metrics.purged.Inc()
		}
		if len(list) < graphBatch || ctx.Err() != nil {
			return failed
		}
		after = list[len(list)-1]
	}
}
