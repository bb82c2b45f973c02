package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Operator is a user of the admin UI, without the password.
type Operator struct {
	ID          uuid.UUID   `json:"id"`
	Name        string      `json:"name"`
	CreatedAt   time.Time   `json:"createdAt"`
	UpdatedAt   time.Time   `json:"updatedAt"` // when the password was last changed
	LastLoginAt *time.Time  `json:"lastLoginAt"`
	LastLoginIP *netip.Addr `json:"lastLoginIp"`
	Sessions    int         `json:"sessions"` // number of open sessions
}

// OperatorSecret has the fields of an operator that a login is checked against.
type OperatorSecret struct {
	ID           uuid.UUID
	Name         string
	PasswordHash string      // see internal/platform/password
	LastLoginIP  *netip.Addr // nil: no login yet
}

const operatorColumns = `o.id, o.name, o.created_at, o.updated_at, o.last_login_at, o.last_login_ip,
	(SELECT count(*) FROM operator_sessions s WHERE s.operator_id = o.id AND s.expires_at > now())`

// Operators returns all operators, sorted by name.
func (db *Store) Operators(ctx context.Context) ([]Operator, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+operatorColumns+` FROM operators o ORDER BY o.name`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing operators: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanOperator)
	return list, postgres.Classify(err)
}

// CreateOperator adds an operator. It returns fault.Conflict if the name is taken.
func (db *Store) CreateOperator(ctx context.Context, name, passwordHash string) (Operator, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Operator{}, fmt.Errorf("making an operator id: %w", err)
	}
	var created Operator
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, `INSERT INTO operators (id, name, password_hash) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`,
			id, name, passwordHash,
		)
		if err != nil {
			return fmt.Errorf("adding operator: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.Newf(
				fault.Conflict, "There is an operator %s already", name,
			).With("field", "name").With("reason", "already_exists")
		}
		created, err = readOperator(ctx, tx, id)
		return err
	})
	return created, err
}

// DeleteOperator deletes an operator and ends its sessions. It returns fault.Conflict for
// the last operator, because no one could log in to the admin UI afterwards.
func (db *Store) DeleteOperator(ctx context.Context, id uuid.UUID) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		// Lock all rows, so that only one of two operators that delete each other succeeds.
		rows, err := tx.Query(ctx, `SELECT id FROM operators ORDER BY id FOR UPDATE`)
		if err != nil {
			return fmt.Errorf("reading operators: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return fmt.Errorf("reading operators: %w", err)
		}
		found := false
		for _, other := range ids {
			found = found || other == id
		}
		switch {
		case !found:
			return operatorNotFound(id.String())
		case len(ids) == 1:
			return fault.New(fault.Conflict, "The last operator cannot be deleted").With("reason", "last_operator")
		}
		if _, err := tx.Exec(ctx, `DELETE FROM operators WHERE id = $1`, id); err != nil {
			return fmt.Errorf("deleting operator: %w", err)
		}
		return nil
	})
}

// SetOperatorPassword changes an operator's password, ends all its sessions and returns
// the changed operator.
func (db *Store) SetOperatorPassword(ctx context.Context, id uuid.UUID, passwordHash string) (Operator, error) {
	var changed Operator
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, `UPDATE operators SET password_hash = $2, updated_at = now() WHERE id = $1`, id, passwordHash,
		)
		if err != nil {
			return fmt.Errorf("changing a password: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return operatorNotFound(id.String())
		}
		if _, err := tx.Exec(ctx, `DELETE FROM operator_sessions WHERE operator_id = $1`, id); err != nil {
			return fmt.Errorf("ending sessions: %w", err)
		}
		changed, err = readOperator(ctx, tx, id)
		return err
	})
	return changed, err
}

// OperatorByName returns the secret of the operator with a name, or fault.NotFound if there
// is none.
func (db *Store) OperatorByName(ctx context.Context, name string) (OperatorSecret, error) {
	var s OperatorSecret
	err := db.pool.QueryRow(ctx, `SELECT id, name, password_hash, last_login_ip FROM operators WHERE name = $1`, name).
		Scan(&s.ID, &s.Name, &s.PasswordHash, &s.LastLoginIP)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, operatorNotFound(name)
	}
	if err != nil {
		return s, postgres.Classify(fmt.Errorf("looking up an operator: %w", err))
	}
	return s, nil
}

func readOperator(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Operator, error) {
	rows, err := tx.Query(ctx, `SELECT `+operatorColumns+` FROM operators o WHERE o.id = $1`, id)
	if err != nil {
		return Operator{}, fmt.Errorf("reading operator: %w", err)
	}
	return pgx.CollectExactlyOneRow(rows, scanOperator)
}

func scanOperator(row pgx.CollectableRow) (Operator, error) {
	var o Operator
	err := row.Scan(&o.ID, &o.Name, &o.CreatedAt, &o.UpdatedAt, &o.LastLoginAt, &o.LastLoginIP, &o.Sessions)
	o.CreatedAt, o.UpdatedAt = o.CreatedAt.UTC(), o.UpdatedAt.UTC()
	if o.LastLoginAt != nil {
		*o.LastLoginAt = o.LastLoginAt.UTC()
	}
	return o, err
}

func operatorNotFound(nameOrID string) error {
	return fault.Newf(fault.NotFound, "No operator %s", nameOrID)
}
