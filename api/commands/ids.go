package commands

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// outcomeKept is how long outcomes are kept, and so how long a command whose outcome
// is not there may count as pending.
const outcomeKept = 24 * time.Hour

// issuer makes the ids of commands and batches: UUIDs of version 7 whose last four
// bytes are a signature, bound to the workspace. So each process can tell an id that
// was given out, and when, from one that somebody made up, without a store: of the
// one it says that the command is pending, the other is unknown.
type issuer struct{ key [32]byte }

const signedFrom = 12 // the bytes before are the time and random

// issue makes an id.
func (s *issuer) issue(workspace uuid.UUID) uuid.UUID {
	id := newID()
	copy(id[signedFrom:], s.sign(workspace, id))
	return id
}

// issued reports whether, and when, an id was given out.
func (s *issuer) issued(workspace, id uuid.UUID) (at time.Time, ok bool) {
	if !hmac.Equal(id[signedFrom:], s.sign(workspace, id)) {
		return time.Time{}, false
	}
	milliseconds := binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...))
	return time.UnixMilli(int64(milliseconds)), true
}

func (s *issuer) sign(workspace, id uuid.UUID) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte("command id"))
	mac.Write(workspace[:])
	mac.Write(id[:signedFrom])
	return mac.Sum(nil)[:len(id)-signedFrom]
}
