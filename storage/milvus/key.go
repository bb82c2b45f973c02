package milvus

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"

	"github.com/google/uuid"
)

// A primary key consists of the 16 bytes of the workspace, the 16 of the node and the 4 of the chunk,
// encoded in URL-safe base64: 48 characters that need no escaping in an expression.
const (
	keyBytes  = 16 + 16 + 4
	keyLength = keyBytes / 3 * 4
	maxChunk  = math.MaxInt32
)

var errKey = errors.New("a key in Milvus was not created by Livegraph")

// EntryID identifies an entry by workspace, node and chunk.
type EntryID struct {
	Workspace, Node uuid.UUID
	Chunk           int // 0 to 2,147,483,647
}

// key returns the entry's primary key.
func (id EntryID) key() string {
	var raw [keyBytes]byte
	copy(raw[:16], id.Workspace[:])
	copy(raw[16:32], id.Node[:])
	binary.BigEndian.PutUint32(raw[32:], uint32(id.Chunk))
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// parseKey parses a primary key.
func parseKey(key string) (EntryID, error) {
	var raw [keyBytes]byte
	if len(key) != keyLength {
		return EntryID{}, errKey
	}
	if n, err := base64.RawURLEncoding.Decode(raw[:], []byte(key)); err != nil || n != keyBytes {
		return EntryID{}, errKey
	}
	chunk := binary.BigEndian.Uint32(raw[32:])
	if chunk > maxChunk {
		return EntryID{}, errKey
	}
	return EntryID{uuid.UUID(raw[:16]), uuid.UUID(raw[16:32]), int(chunk)}, nil
}
