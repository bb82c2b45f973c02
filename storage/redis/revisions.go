package redis

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

const (
	revisionChannel = "livegraph:auth:" // and the installation
	revisionBytes   = 16                // a number and a time
	revisionTag     = 16                // of the HMAC-SHA256
)

// Revisions carry the number of the last change to keys and workspaces from processes
// that have read it to those that cannot. Keys are believed by it, so it is signed: who
// can write to Redis cannot keep a revoked key alive.
type Revisions struct {
	db      *DB
	channel string
	key     [32]byte
	log     *slog.Logger
}

// NewRevisions creates the revisions of an installation, signed by its key.
func (db *DB) NewRevisions(installation uuid.UUID, key [32]byte, log *slog.Logger) *Revisions {
	return &Revisions{db: db, channel: revisionChannel + installation.String(), key: key, log: log}
}

// Send tells all who listen that the revision was this one at a time of Postgres.
func (r *Revisions) Send(ctx context.Context, revision int64, at time.Time) error {
	message := binary.BigEndian.AppendUint64(nil, uint64(revision))
	message = binary.BigEndian.AppendUint64(message, uint64(at.UnixMicro()))
	if err := r.db.client.Publish(ctx, r.channel, append(message, r.sign(message)...)).Err(); err != nil {
		return fmt.Errorf("sending the auth revision through Redis: %w", err)
	}
	return nil
}

// Hear listens until ctx is done, and connects again when the connection is lost. What
// is not signed by the key is passed over.
func (r *Revisions) Hear(ctx context.Context, hear func(revision int64, at time.Time)) error {
	s := subscription{
		db: r.db, channel: r.channel, begun: func() {}, ended: func() {},
		lost: func(err error) {
			r.log.Warn(
				"the auth revision's connection to Redis is lost; keys are checked by Postgres alone until it is back", "error",
				err,
			)
		},
		hear: func(message string) {
			payload := []byte(message)
			if len(payload) != revisionBytes+revisionTag ||
				!hmac.Equal(payload[revisionBytes:], r.sign(payload[:revisionBytes])) {
				return
			}
			hear(int64(binary.BigEndian.Uint64(payload)), time.UnixMicro(int64(binary.BigEndian.Uint64(payload[8:]))))
		},
	}
	return s.run(ctx)
}

func (r *Revisions) sign(message []byte) []byte {
	mac := hmac.New(sha256.New, r.key[:])
	mac.Write([]byte(r.channel)) // nothing else is signed so
	mac.Write(message)
	return mac.Sum(nil)[:revisionTag]
}
