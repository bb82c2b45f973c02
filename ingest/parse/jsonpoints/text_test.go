package jsonpoints

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func requireString(t require.TestingT, token []byte) {
	end, escaped := scanString(token, 0)
	valid := jsontext.Value(token).IsValid() && token[len(token)-1] == '"'
	if !valid {
		require.NotEqual(t, len(token), end, "%q", token)
		return
	}
	require.Equal(t, len(token), end, "%q", token)
	want, err := jsontext.AppendUnquote(nil, token)
	require.NoError(t, err)
	got := token[1 : end-1]
	if escaped {
		got = appendUnescaped(nil, got)
	}
	require.Equal(t, string(want), string(got), "%q", token)
}

func TestEveryByteInAStringIsJudgedAsTheOtherParserJudgesIt(t *testing.T) {
	for before := range 9 { // to test each position in an eight-byte word
		for c := range 256 {
			for after := range 9 {
				requireString(t, []byte(`"`+strings.Repeat("x", before)+string([]byte{byte(c)})+strings.Repeat("y", after)+`"`))
			}
			requireString(t, []byte(`"`+strings.Repeat("x", before)+`\`+string([]byte{byte(c)})+`0041"`))
		}
	}
}

func TestStringsAreReadAsTheOtherParserReadsThem(t *testing.T) {
	fragment := rapid.SampledFrom([]string{
		"a", "temperature", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u12`, `\x`, "é",
		"😀",
		"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x00", "\x1f", "\x7f", `"`, `\`, `\uD834\uDD1E`, `\ud83d\u0041`,
		`\ud83dx`,
	})
	rapid.Check(t, func(t *rapid.T) {
		requireString(t, []byte(`"`+strings.Join(rapid.SliceOfN(fragment, 0, 8).Draw(t, "fragments"), "")+`"`))
	})
}

func TestUUIDsHaveOneForm(t *testing.T) {
	for range 100 {
		want := uuid.New()
		for _, text := range []string{want.String(), strings.ToUpper(want.String())} {
			id, ok := parseUUID(text)
			require.True(t, ok)
			require.Equal(t, want, uuid.UUID(id))
		}
	}
	good := "0198a1b2-0000-7000-8000-00000000000a"
	for _, text := range []string{
		"", good[:35], good + "0", "{" + good[:34] + "}", "urn:uuid:" + good, strings.ReplaceAll(good, "-", ""),
		strings.Replace(good, "a", "g", 1),
		" " + good[:35], good[:35] + " ", "-198a1b--0000-7000-8000-00000000000a", "0198a1b2_0000_7000_8000_00000000000a",
		"0198a1b20-000-7000-8000-00000000000a",
	} {
		_, ok := parseUUID(text)
		require.False(t, ok, text)
	}
}
