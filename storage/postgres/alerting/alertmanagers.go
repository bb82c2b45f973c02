package alerting

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Auth is the way in which requests to an Alertmanager are authenticated.
type Auth string

// The ways of authentication.
const (
	NoAuth Auth = ""
	Basic  Auth = "basic"
	Bearer Auth = "bearer"
)

// Alertmanager is an Alertmanager to which the alerts of a workspace are sent. Its URL identifies it within the
// workspace.
type Alertmanager struct {
	URL       string
	Auth      Auth
	Username  string                   // of Basic
	Secret    config.Secret            // the password of Basic, the token of Bearer
	Headers   map[string]config.Secret // further headers of requests, by name
	UpdatedAt time.Time                // when any of this was changed last
	Result    Result
}

// Result is the result of requests to an Alertmanager since it was changed last.
type Result struct {
	SentAt   *time.Time // when it last accepted alerts, also before the change; nil: never
	FailedAt *time.Time // when a request last failed; nil: none has
	Failure  string     // why the last request failed; empty: it did not
}

// Alertmanagers returns the Alertmanagers of a workspace with their secrets, in the order of their URLs.
func (db *Store) Alertmanagers(ctx context.Context, workspace uuid.UUID) ([]Alertmanager, error) {
	all, err := readAlertmanagers(ctx, db.pool, workspace)
	if err != nil {
		return nil, postgres.Classify(err)
	}
	return all, nil
}

func readAlertmanagers(ctx context.Context, q postgres.Querier, workspace uuid.UUID) ([]Alertmanager, error) {
	rows, err := q.Query(ctx, `SELECT url, auth, username, secret, headers, updated_at, sent_at, failed_at, failure
		FROM alertmanagers WHERE workspace_id = $1 ORDER BY url`, workspace)
	if err != nil {
		return nil, fmt.Errorf("reading Alertmanagers: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanAlertmanager)
	if err != nil {
		return nil, fmt.Errorf("reading Alertmanagers: %w", err)
	}
	return all, nil
}

func scanAlertmanager(row pgx.CollectableRow) (a Alertmanager, err error) {
	err = row.Scan(
		&a.URL, &a.Auth, &a.Username, &a.Secret, &a.Headers, &a.UpdatedAt,
		&a.Result.SentAt, &a.Result.FailedAt, &a.Result.Failure,
	)
	a.UpdatedAt = a.UpdatedAt.UTC()
	for _, at := range []*time.Time{a.Result.SentAt, a.Result.FailedAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return a, err
}

// RecordResult records that a request to an Alertmanager succeeded, or with failure, that it failed. It does nothing if
// the Alertmanager was changed or removed since to was read.
func (db *Store) RecordResult(ctx context.Context, workspace uuid.UUID, to *Alertmanager, failure string) error {
	_, err := db.pool.Exec(ctx, `UPDATE alertmanagers SET failure = $4,
			sent_at = CASE WHEN $4 = '' THEN now() ELSE sent_at END,
			failed_at = CASE WHEN $4 = '' THEN failed_at ELSE now() END
		WHERE workspace_id = $1 AND url = $2 AND updated_at = $3`, workspace, to.URL, to.UpdatedAt, failure)
	if err != nil {
		return postgres.Classify(fmt.Errorf("recording the result of a request to an Alertmanager: %w", err))
	}
	return nil
}

// SetAlertmanagers replaces the Alertmanagers of a workspace by those that change returns. It calls change with the
// current ones, with their secrets. An error of change is returned, and nothing changes. SetAlertmanagers returns the
// Alertmanagers as stored; the time of those that stayed the same did not change.
func (db *Store) SetAlertmanagers(
	ctx context.Context, workspace uuid.UUID, change func(current []Alertmanager) ([]Alertmanager, error),
) (stored []Alertmanager, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		// Changes wait for each other, so that none is made on a list that another one replaces.
		if _, err := access.LockWorkspace(ctx, tx, workspace); err != nil {
			return err
		}
		current, err := readAlertmanagers(ctx, tx, workspace)
		if err != nil {
			return err
		}
		next, err := change(current)
		if err != nil {
			return err
		}
		if err := replaceAlertmanagers(ctx, tx, workspace, next); err != nil {
			return fmt.Errorf("storing Alertmanagers: %w", err)
		}
		stored, err = readAlertmanagers(ctx, tx, workspace)
		return err
	})
	return stored, err
}

func replaceAlertmanagers(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, next []Alertmanager) error {
	urls := make([]string, len(next))
	for i := range next {
		urls[i] = next[i].URL
	}
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM alertmanagers WHERE workspace_id = $1 AND NOT url = ANY($2)`, workspace, urls)
	for i := range next {
		a := &next[i]
		headers := make(map[string]string, len(a.Headers))
		for name, value := range a.Headers {
			headers[name] = value.Reveal()
		}
		// The time of this transaction may be before that of the change for which it waited.
		batch.Queue(`INSERT INTO alertmanagers AS a (workspace_id, url, auth, username, secret, headers, updated_at)
			SELECT id, $2, $3, $4, $5, $6, clock_timestamp() FROM workspaces WHERE id = $1 AND deleted_at IS NULL
			ON CONFLICT (workspace_id, url) DO UPDATE SET auth = excluded.auth, username = excluded.username,
				secret = excluded.secret, headers = excluded.headers, updated_at = excluded.updated_at,
				failed_at = NULL, failure = ''
			WHERE (a.auth, a.username, a.secret, a.headers)
				IS DISTINCT FROM (excluded.auth, excluded.username, excluded.secret, excluded.headers)`,
			workspace, a.URL, string(a.Auth), a.Username, a.Secret.Reveal(), headers)
	}
	return tx.SendBatch(ctx, batch).Close()
}
