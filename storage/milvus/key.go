package milvus

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"

	"github.com/google/uuid"
)

// A key is the 16 bytes of the workspace, the 16 of the node and the 4 of the chunk,
// in the base64 of URLs: 48 characters, none of which needs quoting in an expression.
const (
	keyBytes = 16 + 16 + 4
	keyText  = keyBytes / 3 * 4
	maxChunk = math.MaxInt32
)

var errKey = errors.New("a key in Milvus that is not of our making")

// EntryID says which chunk of which node an entry is of.
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

// parseKey reads a primary key.
func parseKey(key string) (EntryID, error) {
	var raw [keyBytes]byte
	if len(key) != keyText {
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
