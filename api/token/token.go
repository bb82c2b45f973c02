// Package token creates and verifies tokens that are opaque to clients, such as cursors
// and checkpoints. Tokens are signed, so that clients cannot change them. The signature
// includes their purpose, so that a token cannot be used for another purpose.
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

// tagBytes is the length of the truncated HMAC-SHA256: 128 bits.
const tagBytes = 16

// Sealer signs and verifies tokens with the installation's key, which is the same in
// every process.
type Sealer struct{ Key [32]byte }

// Seal returns a token with the payload.
func (s *Sealer) Seal(p Purpose, payload []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(payload[:len(payload):len(payload)], s.sign(p, payload)...))
}

// Open returns a token's payload and whether the token is valid for the purpose.
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

// Scope identifies what a cursor is valid for: the list, the workspace, and all parameters
// that affect the items and their order.
type Scope [8]byte

// ScopeOf returns the scope of a list with its parameters. It panics if parameters cannot
// be encoded as JSON.
func ScopeOf(list string, workspace uuid.UUID, parameters any) Scope {
	text, err := json.Marshal([]any{list, workspace, parameters}, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return Scope(sum[:8])
}

// Cursor returns the token of a position in a list.
func (s *Sealer) Cursor(scope Scope, position any) (string, error) {
	text, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return s.Seal(ForCursor, append(scope[:], text...)), nil
}

// ReadCursor decodes a cursor's position. It returns a Malformed error if the token is not
// a valid cursor or has another scope.
func (s *Sealer) ReadCursor(token string, scope Scope, position any) error {
	payload, ok := s.Open(ForCursor, token)
	if !ok || len(payload) < len(scope) {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor")
	}
	if Scope(payload[:len(scope)]) != scope {
		return fault.Field(fault.Malformed, "cursor", "was made for another list, filter or sort")
	}
	if err := json.Unmarshal(payload[len(scope):], position); err != nil {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor").Because(err)
	}
	return nil
}
