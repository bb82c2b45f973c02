package livedata

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/fault"
)

// Tokens are what a client carries for us and must not read or change:
// checkpoints and cursors. They are signed, so that what comes back can be
// believed, and say what they are for, so that one kind cannot be used as
// another.
type purpose byte

const (
	forCheckpoint purpose = 1
	forCursor     purpose = 2
)

// tagBytes of the HMAC-SHA256 are kept: 128 bits.
const tagBytes = 16

// sealer makes and opens tokens under the installation's key.
type sealer struct{ key [32]byte }

func (s *sealer) seal(p purpose, payload []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(payload[:len(payload):len(payload)], s.sign(p, payload)...))
}

// open gives a token's payload, and false for whatever is not a token of ours.
func (s *sealer) open(p purpose, token string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < tagBytes {
		return nil, false
	}
	payload, tag := raw[:len(raw)-tagBytes], raw[len(raw)-tagBytes:]
	return payload, hmac.Equal(tag, s.sign(p, payload))
}

func (s *sealer) sign(p purpose, payload []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte{byte(p)})
	mac.Write(payload)
	return mac.Sum(nil)[:tagBytes]
}

// scope is what a cursor was made for: the list, the workspace, and everything
// that decides which items come in which order.
type scope [8]byte

func scopeOf(list string, workspace uuid.UUID, parameters any) scope {
	text, err := json.Marshal([]any{list, workspace, parameters}, json.Deterministic(true))
	if err != nil { // parameters are structs of ours
		panic(err)
	}
	sum := sha256.Sum256(text)
	return scope(sum[:8])
}

// cursor makes the token of a position.
func (s *sealer) cursor(of scope, position any) (string, error) {
	text, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return s.seal(forCursor, append(of[:], text...)), nil
}

// readCursor reads a cursor's position; Malformed when the cursor is not one of
// ours, or was made for something else.
func (s *sealer) readCursor(token string, of scope, position any) error {
	payload, ok := s.open(forCursor, token)
	if !ok || len(payload) < len(of) {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor")
	}
	if scope(payload[:len(of)]) != of {
		return fault.Field(fault.Malformed, "cursor", "was made for another list, filter or sort")
	}
	if err := json.Unmarshal(payload[len(of):], position); err != nil {
		return fault.Field(fault.Malformed, "cursor", "is not a cursor").Because(err)
	}
	return nil
}
