package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// AnalysisState is the state of an analysis.
type AnalysisState string

// The states. The last three are final.
const (
	AnalysisQueued    AnalysisState = "queued"
	AnalysisRunning   AnalysisState = "running"
	AnalysisDone      AnalysisState = "done"
	AnalysisFailed    AnalysisState = "failed"
	AnalysisCancelled AnalysisState = "cancelled"
)

// AnalysisPhase is what the run of an analysis does.
type AnalysisPhase string

// The phases, in their order.
const (
	PhaseReading   AnalysisPhase = "reading"
	PhaseComputing AnalysisPhase = "computing"
	PhaseWriting   AnalysisPhase = "writing"
)

// Limits of the analyses of a workspace.
const (
	// MaxOpenAnalyses is the maximum number of analyses that are queued or running.
	MaxOpenAnalyses = 10
	// KeptAnalyses is the number of finished analyses that are kept: the newest.
	KeptAnalyses = 100
)

// Analysis is a job that computes a measure of a workspace's graph.
type Analysis struct {
	Workspace uuid.UUID
	ID        uuid.UUID
	State     AnalysisState
	Spec      analysis.Spec
	// Origin is who requested it: the results are written with this authority.
	Origin graph.Origin
	Runs   int // number of runs that began and were not stopped in order
	AnalysisProgress
	Error      *string
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	UpdatedAt  time.Time
}

// AnalysisProgress is the progress of the current run, or of the last one.
type AnalysisProgress struct {
	Phase    *AnalysisPhase // nil: no run began
	Sequence *int64         // of the graph that was read; nil: not known yet
	Nodes    int64          // that were read
	Edges    int64
	// Written, Unchanged and Skipped are the numbers of nodes whose property was written, had the value already, and
	// that were changed or deleted after they were read.
	Written, Unchanged, Skipped int64
	Result                      *analysis.Result // nil: not computed yet
}

func errNoAnalysis() error { return fault.New(fault.NotFound, "No such analysis") }

// CreateAnalysis queues an analysis and returns it. It uses Workspace, ID, Spec and Origin of job, and removes the
// oldest finished analyses beyond KeptAnalyses. The error is a Conflict if MaxOpenAnalyses are queued or running. If
// key is not nil, the response to the request is stored under it in the same transaction.
func (db *Store) CreateAnalysis(
	ctx context.Context, job *Analysis, key *access.IdempotencyClaim, response func(*Analysis) ([]byte, error),
) (created Analysis, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		// The lock makes the limit exact, and orders this before or after the deletion of the workspace.
		if err := access.RequireWorkspace(ctx, tx, job.Workspace); err != nil {
			return err
		}
		if err := makeRoomForAnalysis(ctx, tx, job.Workspace); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `INSERT INTO analyses (workspace_id, id, spec, actor_id, scopes, request_id)
			VALUES ($1, $2, $3, $4, $5, $6) RETURNING `+analysisColumns,
			job.Workspace, job.ID, &job.Spec, job.Origin.Actor, job.Origin.Scopes, job.Origin.RequestID)
		if err == nil {
			created, err = pgx.CollectExactlyOneRow(rows, scanAnalysis)
		}
		if err != nil || key == nil {
			return err
		}
		encoded, err := response(&created)
		if err != nil {
			return err
		}
		return access.AnswerHeldKey(ctx, tx, *key, encoded)
	})
	if postgres.Violates(err, "analyses_pkey") {
		return Analysis{}, fault.New(fault.Conflict, "An analysis with this id exists").With("reason", "already_exists")
	}
	return created, postgres.Classify(err)
}

// makeRoomForAnalysis removes old analyses of a workspace, and checks that one more may be queued.
func makeRoomForAnalysis(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) error {
	var open int
	err := tx.QueryRow(
		ctx, `SELECT count(*) FROM analyses WHERE workspace_id = $1 AND finished_at IS NULL`, workspace,
	).Scan(&open)
	if err != nil {
		return fmt.Errorf("counting analyses: %w", err)
	}
	if open >= MaxOpenAnalyses {
		return fault.Newf(fault.Conflict, "The workspace has %d analyses that are queued or running", open).
			With("reason", "too_many_analyses").With("limit", MaxOpenAnalyses)
	}
	_, err = tx.Exec(ctx, `DELETE FROM analyses WHERE workspace_id = $1 AND id IN (SELECT id FROM analyses
		WHERE workspace_id = $1 AND finished_at IS NOT NULL ORDER BY created_at DESC, id DESC OFFSET $2)`,
		workspace, KeptAnalyses-1)
	if err != nil {
		return fmt.Errorf("removing old analyses: %w", err)
	}
	return nil
}

const analysisColumns = `workspace_id, id, state, spec, actor_id, scopes, request_id, runs, phase, sequence, nodes,
	edges, written, unchanged, skipped, result, error, created_at, started_at, finished_at, updated_at`

func scanAnalysis(row pgx.CollectableRow) (a Analysis, err error) {
	err = row.Scan(
		&a.Workspace, &a.ID, &a.State, &a.Spec, &a.Origin.Actor, &a.Origin.Scopes, &a.Origin.RequestID, &a.Runs, &a.Phase,
		&a.Sequence, &a.Nodes, &a.Edges, &a.Written, &a.Unchanged, &a.Skipped, &a.Result, &a.Error, &a.CreatedAt,
		&a.StartedAt, &a.FinishedAt, &a.UpdatedAt,
	)
	a.CreatedAt, a.UpdatedAt = a.CreatedAt.UTC(), a.UpdatedAt.UTC()
	a.Origin.AcceptedAt = a.CreatedAt
	for _, t := range []*time.Time{a.StartedAt, a.FinishedAt} {
		if t != nil {
			*t = t.UTC()
		}
	}
	return a, err
}

func (db *Store) analyses(ctx context.Context, sql string, args ...any) ([]Analysis, error) {
	rows, err := db.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanAnalysis)
}

// Analysis returns an analysis of a workspace. The error is NotFound if there is none with the id.
func (db *Store) Analysis(ctx context.Context, workspace, id uuid.UUID) (Analysis, error) {
	list, err := db.analyses(
		ctx, `SELECT `+analysisColumns+` FROM analyses WHERE workspace_id = $1 AND id = $2`, workspace, id,
	)
	if err == nil && len(list) == 0 {
		err = errNoAnalysis()
	}
	if err != nil {
		return Analysis{}, postgres.Classify(fmt.Errorf("reading an analysis: %w", err))
	}
	return list[0], nil
}

// Analyses returns up to limit analyses of a workspace from offset, newest first, and the number of all.
func (db *Store) Analyses(ctx context.Context, workspace uuid.UUID, limit, offset int) ([]Analysis, int64, error) {
	var total int64
	err := db.pool.QueryRow(ctx, `SELECT count(*) FROM analyses WHERE workspace_id = $1`, workspace).Scan(&total)
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("counting analyses: %w", err))
	}
	list, err := db.analyses(ctx, `SELECT `+analysisColumns+` FROM analyses WHERE workspace_id = $1
		ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`, workspace, limit, offset)
	if err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing analyses: %w", err))
	}
	return list, total, nil
}

// CancelAnalysis cancels an analysis and returns it. Its run loses its claim, and stops when it finds that. An analysis
// that is cancelled already stays unchanged; the error is a Conflict if it is done or failed.
func (db *Store) CancelAnalysis(ctx context.Context, workspace, id uuid.UUID) (Analysis, error) {
	tag, err := db.pool.Exec(ctx, `UPDATE analyses SET state = 'cancelled', finished_at = now(), updated_at = now(),
			claim = NULL, lease_until = NULL
		WHERE workspace_id = $1 AND id = $2 AND finished_at IS NULL`, workspace, id)
	if err != nil {
		return Analysis{}, postgres.Classify(fmt.Errorf("cancelling an analysis: %w", err))
	}
	job, err := db.Analysis(ctx, workspace, id)
	if err == nil && tag.RowsAffected() == 0 && job.State != AnalysisCancelled {
		return job, fault.Newf(fault.Conflict, "The analysis is %s already", job.State).With("reason", "already_finished")
	}
	return job, err
}

// ErrAnalysisTaken reports that another run has claimed the analysis, or that it is in a final state or deleted. The
// run must stop without changing it.
var ErrAnalysisTaken = errors.New("the analysis is another run's, or over")

// ClaimAnalysis claims an analysis that no run has for the time of lease, which SaveAnalysis extends.
// It returns false if there is none. A workspace has one run at a time; of several workspaces, the one that had none
// for the longest time is next. The progress of an earlier run is reset, except for the number of nodes that were
// written, which is the sum over all runs.
func (db *Store) ClaimAnalysis(
	ctx context.Context, claim uuid.UUID, lease time.Duration,
) (job Analysis, ok bool, err error) {
	list, err := db.analyses(
		ctx, `UPDATE analyses SET state = 'running', claim = $1, lease_until = now() + make_interval(secs => $2),
			runs = runs + 1, started_at = COALESCE(started_at, now()), updated_at = now(), phase = 'reading',
			sequence = NULL, nodes = 0, edges = 0, unchanged = 0, skipped = 0, result = NULL
		WHERE (workspace_id, id) = (SELECT a.workspace_id, a.id FROM analyses a
			WHERE a.finished_at IS NULL AND (a.lease_until IS NULL OR a.lease_until <= now()) AND NOT EXISTS (
				SELECT FROM analyses r WHERE r.workspace_id = a.workspace_id AND r.state = 'running' AND r.id <> a.id)
			ORDER BY (SELECT max(s.started_at) FROM analyses s WHERE s.workspace_id = a.workspace_id) NULLS FIRST,
				a.created_at, a.id LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING `+analysisColumns, claim, lease.Seconds(),
	)
	switch {
	case postgres.Violates(err, "analyses_running"): // another process claimed one of the workspace at the same time
		return Analysis{}, false, nil
	case err != nil:
		return Analysis{}, false, postgres.Classify(fmt.Errorf("claiming an analysis: %w", err))
	case len(list) == 0:
		return Analysis{}, false, nil
	}
	return list[0], true, nil
}

// AnalysisClaim identifies a run of an analysis.
type AnalysisClaim struct{ Workspace, ID, Claim uuid.UUID }

// SaveAnalysis stores the progress of a run, and extends its claim to lease from now. It returns ErrAnalysisTaken, and
// stores nothing, if the claim is lost.
func (db *Store) SaveAnalysis(ctx context.Context, c AnalysisClaim, p *AnalysisProgress, lease time.Duration) error {
	return db.updateAnalysis(
		ctx, c, progressColumns+`, lease_until = now() + make_interval(secs => $12)`,
		append(progressArgs(p), lease.Seconds())...,
	)
}

const progressColumns = `updated_at = now(), phase = $4, sequence = $5, nodes = $6, edges = $7, written = $8,
	unchanged = $9, skipped = $10, result = $11`

func progressArgs(p *AnalysisProgress) []any {
	return []any{p.Phase, p.Sequence, p.Nodes, p.Edges, p.Written, p.Unchanged, p.Skipped, p.Result}
}

// FinishAnalysis ends an analysis: it is done if problem is empty, and otherwise has failed for this reason. It returns
// ErrAnalysisTaken, and stores nothing, if the claim is lost.
func (db *Store) FinishAnalysis(ctx context.Context, c AnalysisClaim, p *AnalysisProgress, problem string) error {
	state, text := AnalysisDone, (*string)(nil)
	if problem != "" {
		state, text = AnalysisFailed, &problem
	}
	return db.updateAnalysis(
		ctx, c, progressColumns+`, state = $12, error = $13, finished_at = now(), claim = NULL, lease_until = NULL`,
		append(progressArgs(p), string(state), text)...,
	)
}

// ReleaseAnalysis releases an analysis that is not finished, so that another run can claim it immediately. The run does
// not count. It returns ErrAnalysisTaken if the claim is lost.
func (db *Store) ReleaseAnalysis(ctx context.Context, c AnalysisClaim) error {
	return db.updateAnalysis(
		ctx, c, `state = 'queued', runs = runs - 1, claim = NULL, lease_until = NULL, updated_at = now()`,
	)
}

func (db *Store) updateAnalysis(ctx context.Context, c AnalysisClaim, set string, args ...any) error {
	tag, err := db.pool.Exec(ctx, `UPDATE analyses SET `+set+`
		WHERE workspace_id = $1 AND id = $2 AND claim = $3 AND finished_at IS NULL`,
		append([]any{c.Workspace, c.ID, c.Claim}, args...)...)
	if err != nil {
		return postgres.Classify(fmt.Errorf("storing the progress of an analysis: %w", err))
	}
	if tag.RowsAffected() == 0 {
		return ErrAnalysisTaken
	}
	return nil
}

// CountAnalyses returns the number of analyses of all workspaces that are queued and running.
func (db *Store) CountAnalyses(ctx context.Context) (queued, running int64, err error) {
	err = db.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'running')
		FROM analyses WHERE finished_at IS NULL`).Scan(&queued, &running)
	return queued, running, postgres.Classify(err)
}
