package apikey_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/apikey"
)

func TestAGeneratedKeyIsReadBack(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		for _, mode := range []string{apikey.Live, apikey.Test} {
			key := apikey.Generate(mode)
			require.Regexp(t, regexp.MustCompile(`^lg_`+mode+`_[0-9A-Za-z]{38}$`), key.Reveal())
			back, err := apikey.Parse(key.Reveal())
			require.NoError(t, err)
			require.Equal(t, key, back)
			require.Equal(t, mode, back.Mode())
			require.Equal(t, key.Hash(), back.Hash())
			require.False(t, seen[key.Reveal()])
			seen[key.Reveal()] = true
		}
	}
}

// The checksum is part of the published format: scanners compute it as well.
func TestTheChecksumIsCRC32InBase62(t *testing.T) {
	const body = "lg_live_0123456789abcdefghijABCDEFGHIJKL"
	key, err := apikey.Parse(body + "0IbvcK")
	if err != nil {
		t.Fatalf("%v: the checksum has another format", err)
	}
	require.Equal(t, "lg_live_0123", key.Display())
}

func TestEveryChangedCharacterIsRefused(t *testing.T) {
	text := apikey.Generate(apikey.Live).Reveal()
	for i := range text {
		changed := []byte(text)
		changed[i] = "ab"[(int(changed[i])+1)%2]
		if string(changed) == text {
			continue
		}
		_, err := apikey.Parse(string(changed))
		require.ErrorIs(t, err, apikey.ErrMalformed, "position %d", i)
	}
	for _, bad := range []string{
		"", "lg_live_", text[:len(text)-1], text + "a", " " + text, strings.ToUpper(text), "sk" + text[2:],
		text[:20] + "\x00" + text[21:], strings.Repeat("é", 23),
	} {
		_, err := apikey.Parse(bad)
		require.ErrorIs(t, err, apikey.ErrMalformed, "%q", bad)
	}
}

func TestAKeyDoesNotShowItself(t *testing.T) {
	key := apikey.Generate(apikey.Live)
	asJSON, err := json.Marshal(map[string]any{"key": key})
	require.NoError(t, err)
	for _, shown := range []string{
		fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key), key.String(), string(asJSON),
	} {
		require.Contains(t, shown, key.Display())
		require.NotContains(t, shown, key.Reveal())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(apikey.Generate(apikey.Live).Reveal())
	f.Add("lg_test_")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := apikey.Parse(text)
		if err == nil && key.Reveal() != text {
			t.Fatalf("%q was read as another key", text)
		}
	})
}

func ExampleParse() {
	_, err := apikey.Parse("lg_live_mistyped")
	fmt.Println(err)
	// Output: not an API key
}
