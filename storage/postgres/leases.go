package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/lease"
)

// AcquireLease acquires or renews the named lease for duration. It returns false if another
// holder has it. It implements lease.Store.
func (db *DB) AcquireLease(
	ctx context.Context, name string, holder uuid.UUID, duration time.Duration,
) (bool, error) {
	acquired, err := db.acquireLeases(ctx, []string{name}, holder, duration)
	return acquired == 1, err
}

// acquireLeases acquires or renews those of the named leases that no other holder has, and returns their
// number. It acquires them in the order of the names, so that concurrent calls do not deadlock.
func (db *DB) acquireLeases(
	ctx context.Context, names []string, holder uuid.UUID, duration time.Duration,
) (acquired int64, err error) {
	b := &pgx.Batch{}
	// A crash of the server may lose a lease that was just acquired. Work under it is then lost to another
	// holder, as if the lease had run out. So the commit need not wait for the disk.
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(`INSERT INTO leases AS l (name, holder, until)
		SELECT name, $2, now() + make_interval(secs => $3) FROM unnest($1::text[]) AS t (name) ORDER BY name
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE l.holder = excluded.holder OR l.until <= now()`, names, holder, duration.Seconds()).
		Exec(func(tag CommandTag) error {
			acquired = tag.RowsAffected()
			return nil
		})
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return 0, Classify(fmt.Errorf("acquiring the lease %s: %w", names[0], err))
	}
	return acquired, nil
}

// ReleaseLease releases a lease, so that another holder need not wait until it expires.
func (db *DB) ReleaseLease(ctx context.Context, name string, holder uuid.UUID) error {
	return db.releaseLeases(ctx, []string{name}, holder)
}

func (db *DB) releaseLeases(ctx context.Context, names []string, holder uuid.UUID) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(`DELETE FROM leases WHERE name = ANY($1) AND holder = $2`, names, holder)
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return Classify(fmt.Errorf("releasing the lease %s: %w", names[0], err))
	}
	return nil
}

// LeaseSet acquires and releases several leases together. It implements lease.Store: a lease of this store
// consists of the leases with the names of the set, and its own name does not matter.
type LeaseSet struct {
	db    *DB
	names []string
}

// NewLeaseSet returns the set of the leases with the names, at least one.
func (db *DB) NewLeaseSet(names []string) *LeaseSet {
	return &LeaseSet{db: db, names: slices.Compact(slices.Sorted(slices.Values(names)))}
}

// AcquireLease acquires or renews all leases of the set, or none.
func (s *LeaseSet) AcquireLease(ctx context.Context, _ string, holder uuid.UUID, hold time.Duration) (bool, error) {
	acquired, err := s.db.acquireLeases(ctx, s.names, holder, hold)
	if err != nil || acquired == int64(len(s.names)) {
		return err == nil, err
	}
	if acquired > 0 {
		err = s.db.releaseLeases(ctx, s.names, holder)
	}
	return false, err
}

// ReleaseLease releases the leases of the set that the holder has.
func (s *LeaseSet) ReleaseLease(ctx context.Context, _ string, holder uuid.UUID) error {
	return s.db.releaseLeases(ctx, s.names, holder)
}

// Lock locks the leases of the set until the end of a transaction, so that no other holder acquires one
// before. It returns lease.ErrLost if the holder has lost one.
func (s *LeaseSet) Lock(ctx context.Context, tx pgx.Tx, holder uuid.UUID) error {
	held := 0
	err := tx.QueryRow(ctx, `SELECT count(*) FROM (
		SELECT name FROM leases WHERE name = ANY($1) AND holder = $2 ORDER BY name FOR SHARE) held`,
		s.names, holder).Scan(&held)
	if err == nil && held != len(s.names) {
		err = lease.ErrLost
	}
	return err
}
