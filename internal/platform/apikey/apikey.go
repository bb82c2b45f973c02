// Package apikey is the text of an API key: how it is made, read, hashed and
// shown. Keys are lg_live_ or lg_test_, 32 random base62 characters (190 bits),
// and 6 base62 characters of the CRC-32 of what precedes, so that a mistyped key
// is refused without a look-up and a leaked one is found by scanners. It stores
// nothing.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"log/slog"
	"regexp"
	"strings"
)

// Modes of keys and workspaces.
const (
	Live = "live"
	Test = "test"
)

const (
	alphabet      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength  = 32
	checkLength   = 6 // 62^6 > 2^32
	displayLength = 4
	prefixLength  = len("lg_live_")
	textLength    = prefixLength + randomLength + checkLength
)

// ErrMalformed is what Parse says of a text that no key has.
var ErrMalformed = errors.New("not an API key")

// Key is a key's text. It shows itself only as far as Display does; Reveal
// gives the text, for the one answer that creates it.
type Key struct{ text string }

// Generate creates a new key of the mode, Live or Test.
func Generate(mode string) Key {
	text := make([]byte, 0, textLength)
	text = append(text, "lg_"+mode+"_"...)
	for len(text) < prefixLength+randomLength {
		var random [randomLength]byte
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		for _, b := range random {
			// 248 = 4 * 62: larger bytes would favour the alphabet's beginning.
			if b < 248 && len(text) < prefixLength+randomLength {
				text = append(text, alphabet[b%62])
			}
		}
	}
	return Key{text: string(appendChecksum(text))}
}

// Parse reads a key's text and checks its checksum, without any look-up.
func Parse(text string) (Key, error) {
	if len(text) != textLength || (!strings.HasPrefix(text, "lg_live_") && !strings.HasPrefix(text, "lg_test_")) {
		return Key{}, ErrMalformed
	}
	for _, c := range []byte(text[prefixLength:]) {
		if strings.IndexByte(alphabet, c) < 0 {
			return Key{}, ErrMalformed
		}
	}
	if string(appendChecksum([]byte(text[:textLength-checkLength]))) != text {
		return Key{}, ErrMalformed
	}
	return Key{text: text}, nil
}

// appendChecksum appends the CRC-32 (IEEE) of text in base62, most significant
// digit first.
func appendChecksum(text []byte) []byte {
	sum := crc32.ChecksumIEEE(text)
	var digits [checkLength]byte
	for i := checkLength - 1; i >= 0; i-- {
		digits[i] = alphabet[sum%62]
		sum /= 62
	}
	return append(text, digits[:]...)
}

// Mode returns Live or Test.
func (k Key) Mode() string { return k.text[len("lg_") : prefixLength-1] }

// Hash returns the SHA-256 of the text: what is stored. The text has too much
// randomness for a slow hash to add anything.
func (k Key) Hash() [32]byte { return sha256.Sum256([]byte(k.text)) }

// Display returns what may be shown of the key: lg_live_ and four characters.
func (k Key) Display() string { return k.text[:prefixLength+displayLength] }

// Reveal returns the text itself.
func (k Key) Reveal() string { return k.text }

// String is Display, so that no log shows a key by accident.
func (k Key) String() string { return k.Display() }

// GoString is Display.
func (k Key) GoString() string { return k.Display() }

// LogValue is Display.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.Display()) }

// within finds keys, and what looks like one, in other text.
var within = regexp.MustCompile(`lg_(?:live|test)_[0-9A-Za-z]{5,}`)

// Within reports whether a text may hold a key's.
func Within(text string) bool {
	return strings.Contains(text, "lg_live_") || strings.Contains(text, "lg_test_")
}

// Redact leaves of every key in a text, and of what looks like one, no more than
// Display does.
func Redact(text string) string {
	return within.ReplaceAllStringFunc(text, func(key string) string { return key[:prefixLength+displayLength] + "…" })
}

// MarshalText is Display.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.Display()), nil }
