package access

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Setup has the first workspace, key and operator of a new installation.
type Setup struct {
	Workspace    Workspace // with its id
	Key          NewKey
	OperatorName string
	PasswordHash string // see internal/platform/password
}

// SetUp creates the first workspace, key and operator of an installation in one
// transaction. It returns false, and creates nothing, if the installation is set up already.
func (db *Store) SetUp(ctx context.Context, s Setup) (bool, error) {
	if _, err := db.Installation(ctx); err != nil {
		return false, err
	}
	done := false
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE installation SET set_up_at = now() WHERE set_up_at IS NULL`)
		if err != nil {
			return fmt.Errorf("marking the installation: %w", err)
		}
		if done = tag.RowsAffected() > 0; !done {
			return nil
		}
		if _, err := createWorkspace(ctx, tx, s.Workspace); err != nil {
			return err
		}
		if _, err := createKey(ctx, tx, s.Key); err != nil {
			return err
		}
		operator, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("making an operator id: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO operators (id, name, password_hash) VALUES ($1, $2, $3)`,
			operator, s.OperatorName, s.PasswordHash)
		if err != nil {
			return fmt.Errorf("adding operator: %w", err)
		}
		return nil
	})
	return done && err == nil, err
}

// IsSetUp reports whether the installation is set up.
func (db *Store) IsSetUp(ctx context.Context) (bool, error) {
	var done bool
	err := db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM installation WHERE set_up_at IS NOT NULL)`).Scan(&done)
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("reading the installation's row: %w", err))
	}
	return done, nil
}
