package access

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Installation has the identity of this installation and the keys that derived data
// depends on. They never change, because existing series fingerprints and checkpoints
// would become invalid.
type Installation struct {
	ID             uuid.UUID
	FingerprintKey [16]byte // of series fingerprints
	CheckpointKey  [32]byte // signs checkpoints
}

// Installation returns the installation. The first call creates it.
func (db *Store) Installation(ctx context.Context) (Installation, error) {
	var created Installation
	_, _ = rand.Read(created.FingerprintKey[:]) // never fails: crypto/rand ends the process instead
	_, _ = rand.Read(created.CheckpointKey[:])
	_, err := db.pool.Exec(ctx, `
		INSERT INTO installation (fingerprint_key, checkpoint_key) VALUES ($1, $2)
		ON CONFLICT DO NOTHING`, created.FingerprintKey[:], created.CheckpointKey[:])
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
