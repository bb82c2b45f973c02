package token_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

type position struct {
	ID int64 `json:"i"`
}

var workspace = uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")

func TestACursorIsGoodForWhatItWasMadeForAlone(t *testing.T) {
	s := &token.Sealer{Key: [32]byte{1}}
	of := token.ScopeOf("nodes", workspace, map[string]string{"sort": "name", "type": "object"})
	text, err := s.Cursor(of, position{ID: 7})
	require.NoError(t, err)
	var at position
	require.NoError(t, s.ReadCursor(text, of, &at))
	require.EqualValues(t, 7, at.ID)
	for what, err := range map[string]error{
		"another list": s.ReadCursor(
			text, token.ScopeOf("edges", workspace, map[string]string{"sort": "name", "type": "object"}), &at,
		),
		"another workspace": s.ReadCursor(
			text, token.ScopeOf("nodes", uuid.New(), map[string]string{"sort": "name", "type": "object"}), &at,
		),
		"another parameter": s.ReadCursor(text, token.ScopeOf("nodes", workspace, map[string]string{"sort": "name"}), &at),
		"another key":       (&token.Sealer{Key: [32]byte{2}}).ReadCursor(text, of, &at),
		"a checkpoint":      s.ReadCursor(s.Seal(token.ForCheckpoint, of[:]), of, &at),
		"a longer text":     s.ReadCursor(text+"A", of, &at),
		"no position":       s.ReadCursor(s.Seal(token.ForCursor, append(of[:], "[]"...)), of, &at),
	} {
		require.Equal(t, fault.Malformed, fault.KindOf(err), what)
	}
}

// FuzzReadCursor: whatever a client sends is refused, for nobody made a cursor.
func FuzzReadCursor(f *testing.F) {
	s := &token.Sealer{Key: [32]byte{1}}
	f.Add("")
	f.Add(s.Seal(token.ForCheckpoint, []byte("12345678{}")))
	f.Fuzz(func(t *testing.T, text string) {
		require.Error(t, s.ReadCursor(text, token.Scope{}, &position{}))
	})
}

func ExampleSealer_Cursor() {
	s := &token.Sealer{Key: [32]byte{1}}
	of := token.ScopeOf("nodes", workspace, "sort=name")
	text, _ := s.Cursor(of, position{ID: 7})
	var at position
	fmt.Println(s.ReadCursor(text, of, &at), at.ID)
	// Output: <nil> 7
}
