package ingest

import "unsafe"

// failed is what a step of a parser returns instead of the index at which it ended.
const failed = -1

// view returns bytes as a string without copying. It is good only as long as the
// bytes are not changed, so nothing that outlives the request may keep it:
// whatever is handed on to a store is cloned first.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // G103: nobody changes the bytes meanwhile
}

// hasEscape reports whether a token contains a backslash.
func hasEscape(token []byte) bool {
	for _, c := range token {
		if c == '\\' {
			return true
		}
	}
	return false
}
