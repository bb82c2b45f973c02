// Package truncate shortens texts without splitting a character.
package truncate

import "unicode/utf8"

// Bytes returns the beginning of a text, of at most limit bytes.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Runes returns the beginning of a text, of at most limit characters.
func Runes(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
