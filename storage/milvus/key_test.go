package milvus

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func ids() *rapid.Generator[EntryID] {
	return rapid.Custom(func(t *rapid.T) EntryID {
		bytes := rapid.SliceOfN(rapid.Byte(), 16, 16)
		return EntryID{
			uuid.UUID(bytes.Draw(t, "workspace")), uuid.UUID(bytes.Draw(t, "node")),
			rapid.IntRange(0, maxChunk).Draw(t, "chunk"),
		}
	})
}

func TestAKeyIsParsedToItsID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ids().Draw(t, "id")
		key := id.key()
		if len(key) != keyLength {
			t.Fatalf("%q has %d characters", key, len(key))
		}
		if back, err := parseKey(key); err != nil || back != id {
			t.Fatalf("%v became %v, %v", id, back, err)
		}
	})
}

func TestTwoIdentitiesHaveTwoKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := ids().Draw(t, "one"), ids().Draw(t, "other")
		switch rapid.IntRange(0, 2).Draw(t, "what they share") {
		case 0:
			other.Workspace, other.Node = one.Workspace, one.Node
		case 1:
			other.Node, other.Chunk = one.Node, one.Chunk
		case 2:
			other.Workspace, other.Chunk = one.Workspace, one.Chunk
		}
		if (one == other) != (one.key() == other.key()) {
			t.Fatalf("%v and %v have the keys %s and %s", one, other, one.key(), other.key())
		}
	})
}

func TestInvalidKeysAreRefused(t *testing.T) {
	good := EntryID{uuid.New(), uuid.New(), 3}.key()
	for _, text := range []string{
		"", "x", good[1:], good + "A", good[:47] + "!", good[:46] + "\n\n", good[:42] + "______",
	} {
		_, err := parseKey(text)
		require.ErrorIs(t, err, errKey, "%q", text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if id, err := parseKey(text); err == nil && id.key() != text {
			t.Fatalf("%q was read as %v", text, id)
		}
	})
}
