// Package token makes what a client carries for us and must not read or change,
// such as cursors and checkpoints. Tokens are signed, so that what comes back can
// be believed, and say what they are for, so that one kind cannot be used as
// another.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Purpose is what a token is for.
type Purpose byte

// The purposes.
const (
	ForCheckpoint Purpose = 1
	ForCursor     Purpose = 2
	ForStream     Purpose = 3
)

// tagBytes of the HMAC-SHA256 are kept: 128 bits.
const tagBytes = 16

// Sealer makes and opens tokens under the installation's key, which is the same in
// every process.
type Sealer struct{ Key [32]byte }

// Seal makes a token of a payload.
func (s *Sealer) Seal(p Purpose, payload []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(payload[:len(payload):len(payload)], s.sign(p, payload)...))
}

// Open returns a token's payload, and false for whatever is not a token of ours.
func (s *Sealer) Open(p Purpose, token string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < tagBytes {
		return nil, false
	}
	payload, tag := raw[:len(raw)-tagBytes], raw[len(raw)-tagBytes:]
	return payload, hmac.Equal(tag, s.sign(p, payload))
}

func (s *Sealer) sign(p Purpose, payload []byte) []byte {
	mac := hmac.New(sha256.New, s.Key[:])
	mac.Write([]byte{byte(p)})
	mac.Write(payload)
	return mac.Sum(nil)[:tagBytes]
}

// Scope is what a cursor was made for: the list, the workspace, and everything
// that decides which items come in which order.
type Scope [8]byte

// ScopeOf makes the scope of a list with its parameters, which are structs of ours
// that JSON can write.
func ScopeOf(list string, workspace uuid.UUID, parameters any) Scope {
	text, err := json.Marshal([]any{list, workspace, parameters}, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return Scope(sum[:8])
}

// Cursor makes the token of a position in a list.
func (s *Sealer) Cursor(of Scope, position any) (string, error) {
	text, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return s.Seal(ForCursor, append(of[:], text...)), nil
}

// ReadCursor reads a cursor's position; Malformed when the cursor is not one of
// ours, or was made for something else.
func (s *Sealer) ReadCursor(token string, of Scope, position any) error {
	payload, ok := s.Open(ForCursor, token)
	if !ok || len(payload) < len(of) {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor")
	}
	if Scope(payload[:len(of)]) != of {
		return fault.Field(fault.Malformed, "cursor", "was made for another list, filter or sort")
	}
	if err := json.Unmarshal(payload[len(of):], position); err != nil {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor").Because(err)
	}
	return nil
}
