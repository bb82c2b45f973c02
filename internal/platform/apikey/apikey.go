// Package apikey generates, parses, hashes and masks API keys. A key is lg_live_ or
// lg_test_, 32 random base62 characters (190 bits), and 6 base62 characters with the
// CRC-32 of the preceding characters. The checksum makes it possible to reject a
// mistyped key without a lookup, and lets scanners find leaked keys. The package does
// not store keys.
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

// ErrMalformed is returned by Parse for a text that is not an API key.
var ErrMalformed = errors.New("not an API key")

// Key is the text of an API key. It is formatted as Display returns it. Reveal returns the
// text, for the response that creates the key.
type Key struct{ text string }

// Generate creates a key of the mode, Live or Test.
func Generate(mode string) Key {
	text := make([]byte, 0, textLength)
	text = append(text, "lg_"+mode+"_"...)
	for len(text) < prefixLength+randomLength {
		var random [randomLength]byte
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		for _, b := range random {
			// 248 = 4 * 62: larger bytes would favour the first characters of the alphabet.
			if b < 248 && len(text) < prefixLength+randomLength {
				text = append(text, alphabet[b%62])
			}
		}
	}
	return Key{text: string(appendChecksum(text))}
}

// Parse parses a key and verifies its checksum. It does not look up the key.
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

// Mode returns the mode of the key, Live or Test.
func (k Key) Mode() string { return k.text[len("lg_") : prefixLength-1] }

// Hash returns the SHA-256 of the text, which is stored instead of the key. The text has
// so much entropy that a slow hash would not add security.
func (k Key) Hash() [32]byte { return sha256.Sum256([]byte(k.text)) }

// Display returns the part of the key that may be shown: lg_live_ and four characters.
func (k Key) Display() string { return k.text[:prefixLength+displayLength] }

// Reveal returns the text.
func (k Key) Reveal() string { return k.text }

// String returns Display, so that no log contains a key by accident.
func (k Key) String() string { return k.Display() }

// GoString returns Display.
func (k Key) GoString() string { return k.Display() }

// LogValue returns Display.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.Display()) }

// keyPattern matches keys, and similar texts, in other text.
var keyPattern = regexp.MustCompile(`lg_(?:live|test)_[0-9A-Za-z]{5,}`)

// MayContainKey reports whether a text may contain a key.
func MayContainKey(text string) bool {
	return strings.Contains(text, "lg_live_") || strings.Contains(text, "lg_test_")
}

// Redact replaces every key in a text, and every text that resembles one, by the part that
// Display returns.
func Redact(text string) string {
	return keyPattern.ReplaceAllStringFunc(text, func(key string) string {
		return key[:prefixLength+displayLength] + "…"
	})
}

// MarshalText returns Display.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.Display()), nil }
