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
	scope := token.ScopeOf("nodes", workspace, map[string]string{"sort": "name", "type": "object"})
	text, err := s.Cursor(scope, position{ID: 7})
	require.NoError(t, err)
	var read position
	require.NoError(t, s.ReadCursor(text, scope, &read))
	require.EqualValues(t, 7, read.ID)
	for what, err := range map[string]error{
		"another list": s.ReadCursor(
			text, token.ScopeOf("edges", workspace, map[string]string{"sort": "name", "type": "object"}), &read,
		),
		"another workspace": s.ReadCursor(
			text, token.ScopeOf("nodes", uuid.New(), map[string]string{"sort": "name", "type": "object"}), &read,
		),
		"another parameter": s.ReadCursor(text, token.ScopeOf("nodes", workspace, map[string]string{"sort": "name"}), &read),
		"another key":       (&token.Sealer{Key: [32]byte{2}}).ReadCursor(text, scope, &read),
		"a checkpoint":      s.ReadCursor(s.Seal(token.ForCheckpoint, scope[:]), scope, &read),
		"a longer text":     s.ReadCursor(text+"A", scope, &read),
		"no position":       s.ReadCursor(s.Seal(token.ForCursor, append(scope[:], "[]"...)), scope, &read),
	} {
		require.Equal(t, fault.Malformed, fault.KindOf(err), what)
	}
}

// FuzzReadCursor checks that any token is refused that was not created by Cursor.
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
	scope := token.ScopeOf("nodes", workspace, "sort=name")
	text, _ := s.Cursor(scope, position{ID: 7})
	var read position
	fmt.Println(s.ReadCursor(text, scope, &read), read.ID)
	// Output: <nil> 7
}
