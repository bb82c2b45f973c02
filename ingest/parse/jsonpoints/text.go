package jsonpoints

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// byteAt returns b[i], or 0 beyond the end. Valid JSON does not contain 0.
func byteAt(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// skipSpace skips white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scanString validates the JSON string whose opening quote is at b[i]: it must have no
// control characters, valid escapes without lone surrogates, and valid UTF-8. It returns
// the index after the closing quote, or -1, and whether the string has escapes.
func scanString(b []byte, i int) (end int, escaped bool) {
	start := i + 1
	i = scanPlain(b, start)
	if byteAt(b, i) == '"' {
		return i + 1, false
	}
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			if i = scanEscape(b, i); i < 0 {
				return -1, false
			}
			escaped = true
		case c < 0x20:
			return -1, false
		case c < utf8.RuneSelf:
			i = scanPlain(b, i)
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return -1, false
			}
			i += size
		}
	}
	return -1, false
}

// scanPlain returns the index of the first byte from b[i] on that is a quote, a backslash,
// a control character, or not ASCII. It reads eight bytes at a time. A borrow can only cause
// a false match in a byte above a correct match.
func scanPlain(b []byte, i int) int {
	const ones, highBits = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-0x20*ones)&^w | w) & highBits
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// scanEscape validates the escape at b[i] and returns the index of its end, or -1.
func scanEscape(b []byte, i int) int {
	switch byteAt(b, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return -1
	}
	r := hexRune(b, i+2)
	switch {
	case r < 0:
		return -1
	case !utf16.IsSurrogate(r):
		return i + 6
	case byteAt(b, i+6) != '\\' || byteAt(b, i+7) != 'u':
		return -1
	}
	if utf16.DecodeRune(r, hexRune(b, i+8)) == utf8.RuneError {
		return -1
	}
	return i + 12
}

// hexRune returns the value of the four hexadecimal digits at b[i], or -1 if they are not digits.
func hexRune(b []byte, i int) rune {
	if i+4 > len(b) {
		return -1
	}
	var r rune
	for _, c := range b[i : i+4] {
		d := hexDigit(c)
		if d > 15 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// hexDigit returns the value of a hexadecimal digit, or 255 for another character.
func hexDigit(c byte) byte {
	switch {
	case c-'0' <= 9:
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// appendUnescaped appends the unescaped form of s, the content of a string that scanString
// has validated.
func appendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hexRune(s, i+2)
			i += 4
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, hexRune(s, i+4))
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// parseUUID parses a UUID in the form 8-4-4-4-12, in upper or lower case.
func parseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	for n, i := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		high, low := hexDigit(s[i]), hexDigit(s[i+1])
		if high > 15 || low > 15 {
			return id, false
		}
		id[n] = high<<4 | low
	}
	return id, true
}
