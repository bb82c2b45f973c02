package commands

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// outcomeRetention is how long outcomes are kept, and therefore how long a command without
// an outcome is reported as pending.
const outcomeRetention = 24 * time.Hour

// issuer creates the ids of commands and batches: UUIDs of version 7 whose last four bytes
// are a signature, bound to the workspace. So each process can verify without a store that
// an id was issued, and when: the command of an issued id is pending, any other id is unknown.
type issuer struct{ key [32]byte }

const signatureOffset = 12 // the bytes before it are the time and random bits

// issue creates an id.
func (s *issuer) issue(workspace uuid.UUID) uuid.UUID {
	id := newID()
	copy(id[signatureOffset:], s.sign(workspace, id))
	return id
}

// nth returns the id with an index of those that follow from an id. The first is the id itself.
func (s *issuer) nth(workspace, first uuid.UUID, index int) uuid.UUID {
	id := first
	id[signatureOffset-1] += byte(index)
	copy(id[signatureOffset:], s.sign(workspace, id))
	return id
}

// issued reports whether, and when, an id was issued.
func (s *issuer) issued(workspace, id uuid.UUID) (at time.Time, ok bool) {
	if !hmac.Equal(id[signatureOffset:], s.sign(workspace, id)) {
		return time.Time{}, false
	}
	milliseconds := binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...))
	return time.UnixMilli(int64(milliseconds)), true
}

func (s *issuer) sign(workspace, id uuid.UUID) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte("command id"))
	mac.Write(workspace[:])
	mac.Write(id[:signatureOffset])
	return mac.Sum(nil)[:len(id)-signatureOffset]
}
