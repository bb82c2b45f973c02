package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Store is a store that contains data of workspaces. Every such store must be in Deps.Stores.
type Store struct {
	Name   string // name for operators
	Eraser eraser
	// Forget removes an index that the store keeps until the end, by which a repeated EraseWorkspace
	// finds the rows to remove. nil: there is none.
	Forget func(ctx context.Context, workspace uuid.UUID) error
}

// eraser removes the data of a closed workspace, for which no more requests are accepted.
type eraser interface {
	// WorkspaceRows returns the number of rows of a workspace.
	WorkspaceRows(ctx context.Context, workspace uuid.UUID) (int64, error)
	// EraseWorkspace removes the rows of a workspace and calls removed with their number as it
	// proceeds. It may be repeated, also after an interruption.
	EraseWorkspace(ctx context.Context, workspace uuid.UUID, removed func(rows int64) error) error
}

// logStore is the first entry of the progress of a deletion. The deletion is written to the log,
// which keeps its records until they are trimmed.
const logStore = "log"

// saveInterval is how often the progress is stored while rows are removed.
const saveInterval = 500 * time.Millisecond

// hasDueErasures reports whether the deletion of a workspace is due, and sets the metric of
// pending ones.
func (u *Runner) hasDueErasures(ctx context.Context) (bool, error) {
	open, err := u.Registry.OpenWorkspaceDeletions(ctx)
	u.metrics.deletions.Set(float64(len(open)))
	for i := range open {
		if u.isDue(&open[i]) {
			return true, err
		}
	}
	return false, err
}

func (u *Runner) isDue(d *jobs.WorkspaceDeletion) bool {
	return d.RemovedAt == nil || u.Config.Now().Sub(*d.RemovedAt) >= u.Config.SweepAfter
}

// eraseWorkspaces continues every deletion that is due. A failed deletion does not prevent the
// others.
func (u *Runner) eraseWorkspaces(ctx context.Context) error {
	open, err := u.Registry.OpenWorkspaceDeletions(ctx)
	if err != nil {
		return err
	}
	for i := range open {
		if !u.isDue(&open[i]) {
			continue
		}
		e := erasure{Runner: u, d: open[i]}
		if failed := e.run(ctx); failed != nil && ctx.Err() == nil {
			err = fmt.Errorf("deleting workspace %s: %w", e.d.Workspace, failed)
			problem := failed.Error()
			e.d.Problem = &problem
			_ = u.Registry.SaveWorkspaceDeletion(ctx, e.d) // only informs operators
		}
	}
	return err
}

// erasure is a deletion of a workspace in progress.
type erasure struct {
	*Runner
	d     jobs.WorkspaceDeletion
	saved time.Time
}

// run removes the workspace from one store after the other. Writes that were in flight when the
// workspace was closed may be stored afterwards, so the removal is repeated when none can be in
// flight. Then the deletion is finished.
func (e *erasure) run(ctx context.Context) error {
	sweep := e.d.RemovedAt != nil
	if !sweep {
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
	for i, store := range e.Stores {
		p := &e.d.Progress[i+1]
		if p.Done && !sweep {
			continue
		}
		err := store.Eraser.EraseWorkspace(ctx, e.d.Workspace, func(rows int64) error {
			e.metrics.erased.Add(float64(rows))
			p.Left = max(p.Left-rows, 0)
			if time.Since(e.saved) < saveInterval {
				return ctx.Err()
			}
			return e.save(ctx)
		})
		if err != nil {
			return fmt.Errorf("emptying %s: %w", store.Name, err)
		}
		if store.Forget != nil && sweep {
			if err := store.Forget(ctx, e.d.Workspace); err != nil {
				return fmt.Errorf("emptying %s: %w", store.Name, err)
			}
		}
		p.Left, p.Done = 0, true
		if err := e.save(ctx); err != nil {
			return err
		}
	}
	return e.end(ctx, sweep)
}

// begin counts the rows of all stores and writes the deletion to the log, each unless that was
// done before.
func (e *erasure) begin(ctx context.Context) error {
	if len(e.d.Progress) != len(e.Stores)+1 { // first call, or progress of another version
		e.d.Progress = make([]jobs.StoreProgress, len(e.Stores)+1)
		e.d.Progress[0] = jobs.StoreProgress{
			Store: logStore, Found: int64(e.Log.Partitions()), Left: int64(e.Log.Partitions()),
		}
		for i, store := range e.Stores {
			rows, err := store.Eraser.WorkspaceRows(ctx, e.d.Workspace)
			if err != nil { // the store is emptied nevertheless
				e.Logger.Warn("a deleted workspace could not be counted", "store", store.Name, "error", err)
			}
			e.d.Progress[i+1] = jobs.StoreProgress{Store: store.Name, Found: rows, Left: rows}
		}
	}
	if logProgress := &e.d.Progress[0]; !logProgress.Done {
		if err := e.writeToLog(ctx); err != nil {
			return err
		}
		logProgress.Left, logProgress.Done = 0, true
	}
	return e.save(ctx)
}

// writeToLog writes the deletion to every partition, so that the consumer of any partition reads
// it. Writing it twice changes nothing.
func (e *erasure) writeToLog(ctx context.Context) error {
	value := pointblock.EncodeDeletions(
		e.d.Workspace, e.d.RequestedAt.UnixMicro(), []pointblock.Deletion{{WholeWorkspace: true}},
	)
	messages := make([]pointblock.Message, e.Log.Partitions())
	for i := range messages {
		messages[i] = pointblock.Message{Partition: int32(i), Key: e.d.Workspace[:], Value: value}
	}
	if _, err := e.Log.ProducePoints(ctx, e.d.RequestID, messages); err != nil {
		return fmt.Errorf("telling the log: %w", err)
	}
	return nil
}

func (e *erasure) end(ctx context.Context, swept bool) error {
	now := e.Config.Now().UTC()
	if swept {
		e.d.FinishedAt = &now
	} else {
		e.d.RemovedAt = &now
	}
	if err := e.save(ctx); err != nil {
		return err
	}
	e.Logger.Info("a deleted workspace is removed", "workspace", e.d.Workspace, "finally", swept)
	return nil
}

func (e *erasure) save(ctx context.Context) error {
	e.saved, e.d.Problem = time.Now(), nil
	return e.Registry.SaveWorkspaceDeletion(ctx, e.d)
}
