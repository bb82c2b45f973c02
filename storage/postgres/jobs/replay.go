package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// ReplayState is the state of a replay.
type ReplayState string

// The states. The last three are final.
const (
	ReplayQueued    ReplayState = "queued"
	ReplayRunning   ReplayState = "running"
	ReplayDone      ReplayState = "done"
	ReplayFailed    ReplayState = "failed"
	ReplayCancelled ReplayState = "cancelled"
)

// Final reports whether the state is final.
func (s ReplayState) Final() bool {
	return s == ReplayDone || s == ReplayFailed || s == ReplayCancelled
}

// Replay is a job in which a consumer reads ranges of its topic's log again.
type Replay struct {
	ID              uuid.UUID         `json:"id"`
	Consumer        string            `json:"consumer"`
	Topic           string            `json:"topic"` // without the prefix
	TopicID         [16]byte          `json:"-"`
	Workspace       *uuid.UUID        `json:"workspaceId"` // nil: all
	State           ReplayState       `json:"state"`
	RequestedBy     string            `json:"requestedBy"`
	MaxRows         *int64            `json:"maxRowsPerSecond"` // nil: unbounded
	CancelRequested bool              `json:"cancelRequested"`
	Runs            int               `json:"runs"` // number of times that a process claimed it
	Rows            int64             `json:"rows"`
	Refused         int64             `json:"refused"` // records that could not be read or stored
	RecordsRate     float64           `json:"recordsPerSecond"`
	RowsRate        float64           `json:"rowsPerSecond"`
	Error           *string           `json:"error"`
	CreatedAt       time.Time         `json:"createdAt"`
	StartedAt       *time.Time        `json:"startedAt"`
	FinishedAt      *time.Time        `json:"finishedAt"`
	UpdatedAt       time.Time         `json:"updatedAt"`
	Partitions      []ReplayPartition `json:"partitions"`
}

// ReplayPartition is a job's range of one partition, and its progress.
type ReplayPartition struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	To        int64 `json:"to"` // exclusive
	Next      int64 `json:"next"`
	Trimmed   int64 `json:"trimmed"` // number of records of the range that the log no longer contained
}

// Progress returns sums over the partitions: the records to read, those that are done, and
// those that the log no longer contained.
func (r *Replay) Progress() (total, done, trimmed int64) {
	for _, p := range r.Partitions {
		total += p.To - p.From
		done += p.Next - p.From
		trimmed += p.Trimmed
	}
	return total, done, trimmed
}

// errNoReplay returns the error for an id that no job has.
func errNoReplay(id uuid.UUID) error {
	return fault.Newf(fault.NotFound, "there is no replay %s", id)
}

// CreateReplay queues a job and returns it. It uses ID, Consumer, Topic, TopicID, Workspace,
// RequestedBy, MaxRows and the ranges of job.
func (db *Store) CreateReplay(ctx context.Context, job Replay) (Replay, error) {
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO replay_jobs (id, consumer, topic, topic_id, workspace_id, requested_by, max_rows)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			job.ID, job.Consumer, job.Topic, job.TopicID[:], job.Workspace, job.RequestedBy, job.MaxRows)
		if err != nil {
			return fmt.Errorf("queueing a replay: %w", err)
		}
		for _, p := range job.Partitions {
			_, err := tx.Exec(ctx, `INSERT INTO replay_partitions (job_id, partition, from_offset, to_offset, next_offset)
				VALUES ($1, $2, $3, $4, $3)`, job.ID, p.Partition, p.From, p.To)
			if err != nil {
				return fmt.Errorf("queueing a replay: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return Replay{}, err
	}
	return db.Replay(ctx, job.ID)
}

const selectReplays = `SELECT id, consumer, topic, topic_id, workspace_id, state, requested_by, max_rows,
	cancel_requested, runs,
	rows, refused, records_rate, rows_rate, error, created_at, started_at, finished_at, updated_at FROM replay_jobs`

func scanReplay(row pgx.CollectableRow) (Replay, error) {
	var r Replay
	var id []byte
	err := row.Scan(
		&r.ID, &r.Consumer, &r.Topic, &id, &r.Workspace, &r.State, &r.RequestedBy, &r.MaxRows, &r.CancelRequested, &r.Runs,
		&r.Rows, &r.Refused, &r.RecordsRate, &r.RowsRate, &r.Error, &r.CreatedAt, &r.StartedAt, &r.FinishedAt, &r.UpdatedAt,
	)
	copy(r.TopicID[:], id)
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	for _, at := range []*time.Time{r.StartedAt, r.FinishedAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return r, err
}

// Replay returns a job, or fault.NotFound if there is none with that id.
func (db *Store) Replay(ctx context.Context, id uuid.UUID) (Replay, error) {
	list, err := db.replays(ctx, ` WHERE id = $1`, id)
	if err == nil && len(list) == 0 {
		err = errNoReplay(id)
	}
	if err != nil {
		return Replay{}, err
	}
	return list[0], nil
}

// Replays returns up to limit jobs from offset, newest first.
func (db *Store) Replays(ctx context.Context, offset, limit int) ([]Replay, error) {
	return db.replays(ctx, ` ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2`, limit, offset)
}

// CountReplays returns the number of all jobs.
func (db *Store) CountReplays(ctx context.Context) (n int64, err error) {
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM replay_jobs`).Scan(&n)
	return n, postgres.Classify(err)
}

func (db *Store) replays(ctx context.Context, clause string, args ...any) ([]Replay, error) {
	rows, err := db.pool.Query(ctx, selectReplays+clause, args...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading replays: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanReplay)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading replays: %w", err))
	}
	return list, postgres.Classify(db.readReplayPartitions(ctx, list))
}

func (db *Store) readReplayPartitions(ctx context.Context, jobs []Replay) error {
	ids, byID := make([]uuid.UUID, len(jobs)), make(map[uuid.UUID]*Replay, len(jobs))
	for i := range jobs {
		ids[i], byID[jobs[i].ID] = jobs[i].ID, &jobs[i]
	}
	rows, err := db.pool.Query(ctx, `SELECT job_id, partition, from_offset, to_offset, next_offset, trimmed
		FROM replay_partitions WHERE job_id = ANY($1) ORDER BY job_id, partition`, ids)
	if err != nil {
		return fmt.Errorf("reading replays: %w", err)
	}
	var id uuid.UUID
	var p ReplayPartition
	_, err = pgx.ForEachRow(rows, []any{&id, &p.Partition, &p.From, &p.To, &p.Next, &p.Trimmed}, func() error {
		byID[id].Partitions = append(byID[id].Partitions, p)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading replays: %w", err)
	}
	return nil
}

// CancelReplay requests the cancellation of a job and returns the job. A job that was never
// claimed is cancelled immediately. Otherwise its current run cancels it, or the next run if
// there is none, because an interrupted run may require a cleanup. A job in a final state
// stays unchanged; unless it is cancelled, CancelReplay returns fault.Conflict.
func (db *Store) CancelReplay(ctx context.Context, id uuid.UUID) (Replay, error) {
	tag, err := db.pool.Exec(ctx, `UPDATE replay_jobs SET cancel_requested = true, updated_at = now(),
			state = CASE WHEN runs > 0 THEN state ELSE 'cancelled' END,
			finished_at = CASE WHEN runs > 0 THEN NULL ELSE now() END
		WHERE id = $1 AND finished_at IS NULL`, id)
	if err != nil {
		return Replay{}, postgres.Classify(fmt.Errorf("cancelling a replay: %w", err))
	}
	job, err := db.Replay(ctx, id)
	if err == nil && tag.RowsAffected() == 0 && job.State != ReplayCancelled {
		return job, fault.Newf(fault.Conflict, "replay %s is %s already", id, job.State)
	}
	return job, err
}

// ErrReplayTaken reports that another run has claimed the job, or that the job is in a final
// state. The run must stop without changing it.
var ErrReplayTaken = errors.New("the replay is another run's, or over")

// ClaimReplay claims the oldest unclaimed job of the consumers for the time of lease, which
// RenewReplay extends. It returns false if there is none. The job may have a cancellation
// request if its last run died. The later calls for the job require the claim's id.
func (db *Store) ClaimReplay(
	ctx context.Context, consumers []string, claim uuid.UUID, lease time.Duration,
) (job Replay, ok bool, err error) {
	var id uuid.UUID
	err = db.pool.QueryRow(
		ctx, `UPDATE replay_jobs SET state = 'running', claim = $2, lease_until = now() + make_interval(secs => $3),
			runs = runs + 1, started_at = COALESCE(started_at, now()), updated_at = now()
		WHERE id = (SELECT id FROM replay_jobs
			WHERE finished_at IS NULL AND consumer = ANY($1) AND (lease_until IS NULL OR lease_until <= now())
			ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING id`, consumers, claim, lease.Seconds(),
	).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Replay{}, false, nil
	}
	if err != nil {
		return Replay{}, false, postgres.Classify(fmt.Errorf("claiming a replay: %w", err))
	}
	job, err = db.Replay(ctx, id)
	return job, err == nil, err
}

// RenewReplay extends a claim to lease from now, and reports whether the cancellation of the
// job is requested. It returns ErrReplayTaken if the claim is lost.
func (db *Store) RenewReplay(ctx context.Context, id, claim uuid.UUID, lease time.Duration) (cancel bool, err error) {
	err = db.pool.QueryRow(ctx, `UPDATE replay_jobs SET lease_until = now() + make_interval(secs => $3)
		WHERE id = $1 AND claim = $2 AND finished_at IS NULL RETURNING cancel_requested`,
		id, claim, lease.Seconds()).Scan(&cancel)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, ErrReplayTaken
	}
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("renewing the claim on a replay: %w", err))
	}
	return cancel, nil
}

// ReplayProgress is the progress of a run: that of its partitions, and sums over all runs of
// the job.
type ReplayProgress struct {
	Partitions            []ReplayPartition // Next and Trimmed of each that changed
	Rows, Refused         int64
	RecordsRate, RowsRate float64
}

// AdvanceReplay stores the progress of a job. It returns ErrReplayTaken, and stores nothing,
// if the claim is lost.
func (db *Store) AdvanceReplay(ctx context.Context, id, claim uuid.UUID, p ReplayProgress) error {
	return db.updateReplay(ctx, id, claim, p, `updated_at = now()`)
}

// FinishReplay ends a job in a final state. problem is the reason for ReplayFailed. It
// returns ErrReplayTaken, and stores nothing, if the claim is lost.
func (db *Store) FinishReplay(
	ctx context.Context, id, claim uuid.UUID, p ReplayProgress, state ReplayState, problem string,
) error {
	var text *string
	if problem != "" {
		text = &problem
	}
	return db.updateReplay(
		ctx, id, claim, p,
		`updated_at = now(), finished_at = now(), claim = NULL, lease_until = NULL, state = $7, error = $8`, string(state),
		text,
	)
}

// ReleaseReplay releases a job that is not in a final state, so that another run can claim
// it immediately. If its cancellation is requested, the job is cancelled.
func (db *Store) ReleaseReplay(ctx context.Context, id, claim uuid.UUID) error {
	_, err := db.pool.Exec(ctx, `UPDATE replay_jobs SET claim = NULL, lease_until = NULL, updated_at = now(),
			state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
			finished_at = CASE WHEN cancel_requested THEN now() END
		WHERE id = $1 AND claim = $2 AND finished_at IS NULL`, id, claim)
	if err != nil {
		return postgres.Classify(fmt.Errorf("releasing a replay: %w", err))
	}
	return nil
}

func (db *Store) updateReplay(
	ctx context.Context, id, claim uuid.UUID, p ReplayProgress, set string, args ...any,
) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE replay_jobs SET rows = $3, refused = $4, records_rate = $5, rows_rate = $6, `+set+`
			WHERE id = $1 AND claim = $2 AND finished_at IS NULL`,
			append([]any{id, claim, p.Rows, p.Refused, p.RecordsRate, p.RowsRate}, args...)...)
		if err != nil {
			return fmt.Errorf("storing the progress of a replay: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ErrReplayTaken
		}
		for _, part := range p.Partitions {
			_, err := tx.Exec(ctx, `UPDATE replay_partitions SET next_offset = GREATEST(next_offset, $3), trimmed = $4
				WHERE job_id = $1 AND partition = $2`, id, part.Partition, part.Next, part.Trimmed)
			if err != nil {
				return fmt.Errorf("storing the progress of a replay: %w", err)
			}
		}
		return nil
	})
}
