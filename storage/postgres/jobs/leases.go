package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// TakeLease makes the holder the one who does the named work until the time given
// is over, and reports whether it is: not while another holds it. To take one that
// one has is to renew it.
func (db *Store) TakeLease(ctx context.Context, name string, holder uuid.UUID, hold time.Duration) (bool, error) {
	tag, err := db.pool.Exec(ctx, `
		INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, now() + make_interval(secs => $3))
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE l.holder = excluded.holder OR l.until <= now()`, name, holder, hold.Seconds())
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("taking the lease %s: %w", name, err))
	}
	return tag.RowsAffected() == 1, nil
}

// GiveLease lets go of a lease, so that another need not wait until it runs out.
func (db *Store) GiveLease(ctx context.Context, name string, holder uuid.UUID) error {
	if _, err := db.pool.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder); err != nil {
		return postgres.Classify(fmt.Errorf("giving the lease %s back: %w", name, err))
	}
	return nil
}
