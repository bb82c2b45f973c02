package milvus

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// FuzzParseKey: a key of ours is read as what it was made of, and no other text is one.
func FuzzParseKey(f *testing.F) {
	f.Add(EntryID{Workspace: uuid.Max, Node: uuid.Nil, Chunk: 7}.key())
	f.Add("")
	f.Add(strings.Repeat("_", keyText))
	f.Add(strings.Repeat("=", keyText))
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := parseKey(text); err == nil {
			require.Equal(t, text, id.key())
		}
	})
}

// FuzzExpression: whatever types are asked for, a filter holds its workspace and no
// quote that is not its own.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"object", `x"] or workspace != "`, "", `\`, "a b", "\n", "é"} {
		f.Add(text)
	}
	workspace := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	f.Fuzz(func(t *testing.T, text string) {
		expression, err := Near{EntityTypes: []string{text}, Nodes: []uuid.UUID{uuid.Nil}}.expression(workspace)
		if err != nil {
			return
		}
		require.True(t, strings.HasPrefix(expression, ofWorkspace(workspace)+" && "))
		require.Equal(t, 6, strings.Count(expression, `"`)+strings.Count(expression, `'`), expression)
	})
}

// FuzzAddress: an address that is taken has a host.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"", "localhost:19530", "https://milvus.example/db", "http://", "://", "unix:///x", "http://[::1", "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, err := (Options{Address: text}).parse(); err == nil {
			require.NotEmpty(t, at.host)
		} else {
			require.NotContains(t, err.Error(), "%!")
		}
	})
}
