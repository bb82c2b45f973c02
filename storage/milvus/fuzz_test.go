package milvus

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// FuzzParseKey checks that parsed keys encode to the same text.
func FuzzParseKey(f *testing.F) {
	f.Add(EntryID{Workspace: uuid.Max, Node: uuid.Nil, Chunk: 7}.key())
	f.Add("")
	f.Add(strings.Repeat("_", keyLength))
	f.Add(strings.Repeat("=", keyLength))
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := parseKey(text); err == nil {
			require.Equal(t, text, id.key())
		}
	})
}

// FuzzExpression checks that a filter contains its workspace and no injected quotes, for any entity
// type.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"object", `x"] or workspace != "`, "", `\`, "a b", "\n", "é"} {
		f.Add(text)
	}
	workspace := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	f.Fuzz(func(t *testing.T, text string) {
		expression, err := Filter{EntityTypes: []string{text}, Nodes: []uuid.UUID{uuid.Nil}}.expression(workspace)
		if err != nil {
			return
		}
		require.True(t, strings.HasPrefix(expression, workspaceFilter(workspace)+" && "))
		require.Equal(t, 6, strings.Count(expression, `"`)+strings.Count(expression, `'`), expression)
	})
}

// FuzzAddress checks that an accepted address has a host.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"", "localhost:19530", "https://milvus.example/db", "http://", "://", "unix:///x", "http://[::1", "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := (Options{Address: text}).parse(); err == nil {
			require.NotEmpty(t, e.host)
		} else {
			require.NotContains(t, err.Error(), "%!")
		}
	})
}
