package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// AcquireLease acquires or renews the named lease for duration. It returns false if another
// holder has it.
func (db *Store) AcquireLease(
	ctx context.Context, name string, holder uuid.UUID, duration time.Duration,
) (bool, error) {
	tag, err := db.pool.Exec(ctx, `
		INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, now() + make_interval(secs => $3))
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE l.holder = excluded.holder OR l.until <= now()`, name, holder, duration.Seconds())
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("acquiring the lease %s: %w", name, err))
	}
	return tag.RowsAffected() == 1, nil
}

// ReleaseLease releases a lease, so that another holder need not wait until it expires.
func (db *Store) ReleaseLease(ctx context.Context, name string, holder uuid.UUID) error {
	if _, err := db.pool.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder); err != nil {
		return postgres.Classify(fmt.Errorf("releasing the lease %s: %w", name, err))
	}
	return nil
}
