package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Store is a store that has something of a workspace. Anyone who keeps anything of a
// workspace in another store adds it to Deps.Stores.
type Store struct {
	Name string // as an operator knows it
	Of   eraser
}

// eraser removes a workspace that is closed: no request comes for it any more.
type eraser interface {
	// WorkspaceRows counts what there is.
	WorkspaceRows(ctx context.Context, workspace uuid.UUID) (int64, error)
	// EraseWorkspace removes it and tells of rows as they go. It may be repeated, and
	// be cut short and begun again.
	EraseWorkspace(ctx context.Context, workspace uuid.UUID, gone func(rows int64) error) error
}

// forgetter is a store that keeps something until the end, by which a repeated
// EraseWorkspace finds what it has to remove.
type forgetter interface {
	ForgetWorkspace(ctx context.Context, workspace uuid.UUID) error
}

// theLog is the first of the places that a deletion goes through: it is told, and
// keeps its records until they are trimmed.
const theLog = "log"

// saveEvery is how often the progress is noted while rows go.
const saveEvery = 500 * time.Millisecond

// anyToErase reports whether there is a deletion to go on with.
func (u *Runner) anyToErase(ctx context.Context) (bool, error) {
	open, err := u.Registry.OpenWorkspaceDeletions(ctx)
	u.metrics.deletions.Set(float64(len(open)))
	for i := range open {
		if u.dueNow(&open[i]) {
			return true, err
		}
	}
	return false, err
}

func (u *Runner) dueNow(d *jobs.WorkspaceDeletion) bool {
	return d.RemovedAt == nil || u.Config.Now().Sub(*d.RemovedAt) >= u.Config.SweepAfter
}

// eraseWorkspaces goes on with every deletion that is due. One that cannot go on
// does not hold up the others.
func (u *Runner) eraseWorkspaces(ctx context.Context) error {
	open, err := u.Registry.OpenWorkspaceDeletions(ctx)
	if err != nil {
		return err
	}
	for i := range open {
		if !u.dueNow(&open[i]) {
			continue
		}
		e := erasure{Runner: u, d: open[i]}
		if failed := e.run(ctx); failed != nil && ctx.Err() == nil {
			err = fmt.Errorf("deleting workspace %s: %w", e.d.Workspace, failed)
			problem := failed.Error()
			e.d.Problem = &problem
			_ = u.Registry.SaveWorkspaceDeletion(ctx, e.d) // it is only told
		}
	}
	return err
}

// erasure is one deletion that goes on.
type erasure struct {
	*Runner
	d     jobs.WorkspaceDeletion
	saved time.Time
}

// run removes the workspace from one store after the other. What was being written
// when the workspace was closed may come after that, so it is done once more when
// nothing can be under way any more; then the deletion is finished.
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
		err := store.Of.EraseWorkspace(ctx, e.d.Workspace, func(rows int64) error {
			e.metrics.erased.Add(float64(rows))
			p.Left = max(p.Left-rows, 0)
			if time.Since(e.saved) < saveEvery {
				return ctx.Err()
			}
			return e.save(ctx)
		})
		if err != nil {
			return fmt.Errorf("emptying %s: %w", store.Name, err)
		}
		if f, ok := store.Of.(forgetter); ok && sweep {
			if err := f.ForgetWorkspace(ctx, e.d.Workspace); err != nil {
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

// begin tells the log and counts what there is, each unless that was done before.
func (e *erasure) begin(ctx context.Context) error {
	if len(e.d.Progress) != len(e.Stores)+1 { // the first time, or another version's
		e.d.Progress = make([]jobs.StoreProgress, len(e.Stores)+1)
		e.d.Progress[0] = jobs.StoreProgress{
			Store: theLog, Found: int64(e.Log.Partitions()), Left: int64(e.Log.Partitions()),
		}
		for i, store := range e.Stores {
			rows, err := store.Of.WorkspaceRows(ctx, e.d.Workspace)
			if err != nil { // it is emptied all the same
				e.Logger.Warn("a deleted workspace could not be counted", "store", store.Name, "error", err)
			}
			e.d.Progress[i+1] = jobs.StoreProgress{Store: store.Name, Found: rows, Left: rows}
		}
	}
	if told := &e.d.Progress[0]; !told.Done {
		if err := e.tellLog(ctx); err != nil {
			return err
		}
		told.Left, told.Done = 0, true
	}
	return e.save(ctx)
}

// tellLog writes the deletion to every partition, so that anyone who reads one of them
// knows. To write it twice changes nothing.
func (e *erasure) tellLog(ctx context.Context) error {
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
