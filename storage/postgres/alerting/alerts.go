package alerting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Alert is an alert that fires. File, Group and Fingerprint identify it within its workspace.
type Alert struct {
	File        string
	Group       string
	Fingerprint uint64 // of the labels
	Labels      map[string]string
	Annotations map[string]string
	Value       float64
	ActiveAt    time.Time
	FiredAt     time.Time
}

const alertColumns = "file, rule_group, fingerprint, labels, annotations, value, active_at, fired_at"

func scanAlert(row pgx.CollectableRow) (a Alert, err error) {
	var fingerprint int64
	err = row.Scan(&a.File, &a.Group, &fingerprint, &a.Labels, &a.Annotations, &a.Value, &a.ActiveAt, &a.FiredAt)
	a.Fingerprint = uint64(fingerprint)
	a.ActiveAt, a.FiredAt = a.ActiveAt.UTC(), a.FiredAt.UTC()
	return a, err
}

// FiringAlerts returns the alerts of a workspace of which it is recorded that they fire.
func (db *Store) FiringAlerts(ctx context.Context, workspace uuid.UUID) ([]Alert, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+alertColumns+` FROM firing_alerts WHERE workspace_id = $1`, workspace)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading alerts: %w", err))
	}
	alerts, err := pgx.CollectRows(rows, scanAlert)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading alerts: %w", err))
	}
	return alerts, nil
}

// RecordAlerts records alerts that fire and alerts that are resolved. It calls notify, in the same transaction, with
// those whose record it changed, so that each change is notified once even if two processes record it.
func (db *Store) RecordAlerts(
	ctx context.Context, workspace uuid.UUID, fired, resolved []Alert,
	notify func(ctx context.Context, tx pgx.Tx, fired, resolved []Alert) error,
) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		var firedNow, resolvedNow []Alert
		batch := &pgx.Batch{}
		for i := range fired {
			a := &fired[i]
			batch.Queue(`INSERT INTO firing_alerts (workspace_id, `+alertColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
				ON CONFLICT DO NOTHING RETURNING `+alertColumns,
				workspace, a.File, a.Group, int64(a.Fingerprint),
				a.Labels, a.Annotations, a.Value, a.ActiveAt, a.FiredAt).Query(collect(&firedNow))
		}
		for i := range resolved {
			a := &resolved[i]
			batch.Queue(`DELETE FROM firing_alerts
				WHERE workspace_id = $1 AND file = $2 AND rule_group = $3 AND fingerprint = $4 RETURNING `+alertColumns,
				workspace, a.File, a.Group, int64(a.Fingerprint)).Query(collect(&resolvedNow))
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("recording alerts: %w", err)
		}
		if len(firedNow)+len(resolvedNow) == 0 {
			return nil
		}
		return notify(ctx, tx, firedNow, resolvedNow)
	})
}

// collect returns a function that appends the alert of a row, if there is one.
func collect(into *[]Alert) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		alerts, err := pgx.CollectRows(rows, scanAlert)
		*into = append(*into, alerts...)
		return err
	}
}

// SaveRuleState stores the state of a workspace's rules; nil: there are none.
func (db *Store) SaveRuleState(ctx context.Context, workspace uuid.UUID, state []byte) error {
	if state == nil {
		_, err := db.pool.Exec(ctx, `DELETE FROM rule_states WHERE workspace_id = $1`, workspace)
		if err != nil {
			return postgres.Classify(fmt.Errorf("removing the state of rules: %w", err))
		}
		return nil
	}
	_, err := db.pool.Exec(ctx, `INSERT INTO rule_states (workspace_id, state)
		SELECT id, $2 FROM workspaces WHERE id = $1 AND deleted_at IS NULL
		ON CONFLICT (workspace_id) DO UPDATE SET state = excluded.state, updated_at = now()`, workspace, state)
	if err != nil {
		return postgres.Classify(fmt.Errorf("storing the state of rules: %w", err))
	}
	return nil
}

// RuleState returns the state of a workspace's rules, nil if they were not evaluated yet.
func (db *Store) RuleState(ctx context.Context, workspace uuid.UUID) (state []byte, err error) {
	err = db.pool.QueryRow(ctx, `SELECT state FROM rule_states WHERE workspace_id = $1`, workspace).Scan(&state)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, postgres.Classify(fmt.Errorf("reading the state of rules: %w", err))
	}
	return state, nil
}
