// Package scan reads the tokens that wire formats have in common: numbers and times. It works
// over the bytes of a body and allocates nothing.
package scan

import "unsafe"

// Failed is what a step of a parser returns instead of the index at which it ended.
const Failed = -1

// View returns bytes as a string without copying. It is good only as long as the
// bytes are not changed, so nothing that outlives the request may keep it:
// whatever is handed on to a store is cloned first.
func View(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // G103: nobody changes the bytes meanwhile
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
