package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

func TestTextsAreCutAtCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "limit")
		short := truncate.Bytes(text, limit)
		require.True(t, strings.HasPrefix(text, short))
		require.LessOrEqual(t, len(short), limit)
		next, size := utf8.DecodeRuneInString(text[len(short):])
		require.True(t, len(short) == len(text) || len(short)+size > limit, "%q fits", next)

		short = truncate.Runes(text, limit)
		require.True(t, strings.HasPrefix(text, short))
		require.Equal(t, min(limit, utf8.RuneCountInString(text)), utf8.RuneCountInString(short))
	})
}
