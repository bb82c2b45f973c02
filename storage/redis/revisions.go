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
	revisionChannel      = "livegraph:auth:" // prefix of the channel name; the installation's id follows
	revisionPayloadBytes = 16                // revision and time
	revisionMACBytes     = 16                // truncated HMAC-SHA256
)

// Revisions propagates the number of the last change to API keys and workspaces to processes that
// cannot read it from Postgres. Processes accept cached keys depending on it, so it is signed: an
// attacker with write access to Redis cannot keep a revoked key valid.
type Revisions struct {
	db      *DB
	channel string
	key     [32]byte
	log     *slog.Logger
}

// NewRevisions creates the Revisions of an installation. Messages are signed with key.
func (db *DB) NewRevisions(installation uuid.UUID, key [32]byte, log *slog.Logger) *Revisions {
	return &Revisions{db: db, channel: revisionChannel + installation.String(), key: key, log: log}
}

// Send publishes the revision that Postgres had at the given time, by the clock of Postgres.
func (r *Revisions) Send(ctx context.Context, revision int64, at time.Time) error {
	message := binary.BigEndian.AppendUint64(nil, uint64(revision))
	message = binary.BigEndian.AppendUint64(message, uint64(at.UnixMicro()))
	message = append(message, r.sign(message)...)
	if err := r.db.publish(ctx, r.db.client, r.channel, message).Err(); err != nil {
		return fmt.Errorf("sending the auth revision through Redis: %w", err)
	}
	return nil
}

// Listen calls onRevision for each received revision until ctx is done. It reconnects when the
// connection is lost, and ignores messages without a valid signature.
func (r *Revisions) Listen(ctx context.Context, onRevision func(revision int64, at time.Time)) error {
	s := subscription{
		db: r.db, channel: r.channel, onSubscribed: func() {}, onUnsubscribed: func() {},
		onLost: func(err error) {
			r.log.Warn(
				"the auth revision's connection to Redis is lost; keys are only checked with Postgres until it works again",
				"error", err,
			)
		},
		onMessage: func(message string) {
			payload := []byte(message)
			if len(payload) != revisionPayloadBytes+revisionMACBytes ||
				!hmac.Equal(payload[revisionPayloadBytes:], r.sign(payload[:revisionPayloadBytes])) {
				return
			}
			onRevision(int64(binary.BigEndian.Uint64(payload)), time.UnixMicro(int64(binary.BigEndian.Uint64(payload[8:]))))
		},
	}
	return s.run(ctx)
}

func (r *Revisions) sign(message []byte) []byte {
	mac := hmac.New(sha256.New, r.key[:])
	mac.Write([]byte(r.channel)) // binds the signature to this channel
	mac.Write(message)
	return mac.Sum(nil)[:revisionMACBytes]
}
