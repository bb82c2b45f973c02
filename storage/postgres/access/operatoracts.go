package access

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// OperatorAct is a logged action: of an operator in the admin UI, of the command line, or a
// rejected login.
type OperatorAct struct {
	ID           int64       `json:"id"`
	At           time.Time   `json:"timestamp"`
	RequestID    string      `json:"requestId"`
	Operator     *uuid.UUID  `json:"operatorId"` // nil: not a known operator
	OperatorName string      `json:"operatorName"`
	Workspace    *uuid.UUID  `json:"workspaceId"` // nil: of none
	Method       string      `json:"method"`
	Route        string      `json:"route"`
	Subject      string      `json:"subject"` // the ids in the path; may be empty
	Status       *int16      `json:"status"`  // nil: unknown, or not complete yet
	IP           *netip.Addr `json:"ip"`
	UserAgent    string      `json:"userAgent"`
	Results      []string    `json:"results"` // ids of created resources
	Fields       []string    `json:"fields"`  // names of the fields that were set
}

// BeginOperatorAct records an action before it is executed, and returns its id.
func (db *Store) BeginOperatorAct(ctx context.Context, a OperatorAct) (id int64, err error) {
	err = db.pool.QueryRow(ctx, `INSERT INTO operator_acts
		(request_id, operator_id, operator_name, workspace_id, method, route, subject, status, ip, user_agent)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		a.RequestID, a.Operator, a.OperatorName, a.Workspace, a.Method, a.Route, a.Subject, a.Status, a.IP,
		a.UserAgent).Scan(&id)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("recording an operator's act: %w", err))
	}
	return id, nil
}

// EndOperatorAct records the status of an action, the ids of the resources that it created,
// and the names of the fields that it set.
func (db *Store) EndOperatorAct(ctx context.Context, id int64, status int16, results, fields []string) error {
	_, err := db.pool.Exec(
		ctx,
		`UPDATE operator_acts SET status = $2, results = COALESCE($3::text[], '{}'), fields = COALESCE($4::text[], '{}')
			WHERE id = $1`,
		id, status, results, fields,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("recording the end of an operator's act: %w", err))
	}
	return nil
}

// OperatorActFilter selects actions. Fields that are nil or zero match all.
type OperatorActFilter struct {
	Operator  *uuid.UUID
	Workspace *uuid.UUID
	From, To  time.Time // To is exclusive
	Before    int64     // only actions with a lower id
}

// OperatorActs returns up to limit actions that match a filter, newest first.
func (db *Store) OperatorActs(ctx context.Context, f OperatorActFilter, limit int) ([]OperatorAct, error) {
	nullTime := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	rows, err := db.pool.Query(ctx, `
		SELECT id, at, request_id, operator_id, operator_name, workspace_id, method, route, subject, status, ip, user_agent,
		results, fields
		FROM operator_acts
		WHERE ($1::uuid IS NULL OR operator_id = $1) AND ($2::uuid IS NULL OR workspace_id = $2)
			AND ($3::timestamptz IS NULL OR at >= $3) AND ($4::timestamptz IS NULL OR at < $4) AND ($5::bigint = 0 OR id < $5)
		ORDER BY id DESC LIMIT $6`, f.Operator, f.Workspace, nullTime(f.From), nullTime(f.To), f.Before, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing operators' acts: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (OperatorAct, error) {
		var a OperatorAct
		err := row.Scan(
			&a.ID, &a.At, &a.RequestID, &a.Operator, &a.OperatorName, &a.Workspace, &a.Method, &a.Route, &a.Subject, &a.Status,
			&a.IP, &a.UserAgent, &a.Results, &a.Fields,
		)
		a.At = a.At.UTC()
		return a, err
	})
	return list, postgres.Classify(err)
}

// PruneOperatorActs deletes up to limit actions older than maxAge and returns their number.
func (db *Store) PruneOperatorActs(ctx context.Context, maxAge time.Duration, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM operator_acts WHERE id = ANY (ARRAY (
		SELECT id FROM operator_acts WHERE at < now() - $1::interval ORDER BY at LIMIT $2))`, maxAge, limit)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("pruning operators' acts: %w", err))
	}
	return tag.RowsAffected(), nil
}
