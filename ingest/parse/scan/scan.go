// Package scan parses the tokens that wire formats have in common: numbers and times. It reads
// the bytes of a body and does not allocate.
package scan

import "unsafe"

// Failed is the index that a parser function returns if it fails.
const Failed = -1

// View returns bytes as a string without copying. The string is valid only until the
// bytes are changed, so nothing that outlives the request may keep it. Clone it before
// passing it to a store.
func View(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // G103: the bytes do not change during its use
}

// Bytes returns a string as bytes without copying. Nobody may change them.
func Bytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // G103: the bytes do not change during its use
}

// HasEscape reports whether a token contains a backslash.
func HasEscape(token []byte) bool {
	for _, c := range token {
		if c == '\\' {
			return true
		}
	}
	return false
}
