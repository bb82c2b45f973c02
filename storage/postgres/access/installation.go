package access

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Installation is this installation's identity and the keys that derived data
// depends on. They never change: series fingerprints and checkpoints handed out
// would lose their meaning.
type Installation struct {
	ID             uuid.UUID
	FingerprintKey [16]byte // of series fingerprints
	CheckpointKey  [32]byte // signs checkpoints
}

// Installation reads the installation's row, and makes it at the first call.
func (db *Store) Installation(ctx context.Context) (Installation, error) {
	var fresh Installation
	_, _ = rand.Read(fresh.FingerprintKey[:]) // never fails: crypto/rand ends the process instead
	_, _ = rand.Read(fresh.CheckpointKey[:])
	_, err := db.pool.Exec(ctx, `
		INSERT INTO installation (fingerprint_key, checkpoint_key) VALUES ($1, $2)
		ON CONFLICT DO NOTHING`, fresh.FingerprintKey[:], fresh.CheckpointKey[:])
	if err != nil {
		return Installation{}, postgres.Classify(fmt.Errorf("making the installation's row: %w", err))
	}
	var (
		stored                  Installation
		fingerprint, checkpoint []byte
	)
	err = db.pool.QueryRow(ctx, `SELECT id, fingerprint_key, checkpoint_key FROM installation`).
		Scan(&stored.ID, &fingerprint, &checkpoint)
	if err != nil {
		return Installation{}, postgres.Classify(fmt.Errorf("reading the installation's row: %w", err))
	}
	copy(stored.FingerprintKey[:], fingerprint)
	copy(stored.CheckpointKey[:], checkpoint)
	return stored, nil
}
