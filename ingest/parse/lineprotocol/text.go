package lineprotocol

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// skipBlanks skips spaces and tabs.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// lineEnds reports whether a line ends at b[i], and returns the index of the next line. A
// carriage return before the line feed, or at the end of b, belongs to the line end.
func lineEnds(b []byte, i int) (next int, ends bool) {
	if i < len(b) && b[i] == '\r' {
		i++
		if i < len(b) && b[i] != '\n' {
			return 0, false
		}
	}
	if i == len(b) {
		return i, true
	}
	return i + 1, b[i] == '\n'
}

func atLineEnd(b []byte, i int) bool {
	_, ends := lineEnds(b, i)
	return ends
}

// nextLine returns the index after the next line feed, or the end of b.
func nextLine(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// skipLine returns the index of the line that follows the one at b[i], which cannot be
// parsed. If the line has the form of a line, line ends within its strings are skipped, so
// that the content of a string is not parsed as a line. Otherwise only strings that follow
// an equals sign and end like a value are skipped, so that an unclosed quote does not skip
// the lines after it.
func skipLine(b []byte, i int) int {
	fields := scanHead(b, i)
	if end := scanFields(b, skipBlanks(b, fields)); end != scan.Failed {
		return nextLine(b, end)
	}
	for i = fields; i < len(b); i++ {
		switch b[i] {
		case '\n':
			return i + 1
		case '"':
			if b[i-1] != '=' {
				continue
			}
			if end, _ := scanQuoted(b, i); end > 0 && valueEnds(b, end) {
				i = end - 1
			}
		}
	}
	return len(b)
}

// scanFields returns the end of the fields that begin at b[i], or failed. It checks only
// that they are keys and values, separated by commas.
func scanFields(b []byte, i int) int {
	for {
		value := scanEscaped(b, i, inKey)
		if value == i || value == len(b) || b[value] != '=' {
			return scan.Failed
		}
		if i = value + 1; i < len(b) && b[i] == '"' {
			if i, _ = scanQuoted(b, i); i < 0 || !valueEnds(b, i) {
				return scan.Failed
			}
		} else {
			for !valueEnds(b, i) {
				i++
			}
		}
		if i == len(b) || b[i] != ',' {
			return i
		}
		i++
	}
}

// scanQuoted returns the index after the closing quote of the string that begins at b[i], or
// -1, and whether the string has escapes.
func scanQuoted(b []byte, i int) (end int, escaped bool) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return -1, false
}

// scanHead returns the end of the head that begins at b[i]: an unescaped space, the end of
// the line, or the end of b. It reads eight bytes at a time. A borrow can only cause a false
// match in a byte above a correct match.
func scanHead(b []byte, i int) int {
	const ones, highBits = 0x0101010101010101, 0x8080808080808080
	for {
		for ; i+8 <= len(b); i += 8 {
			w := binary.LittleEndian.Uint64(b[i:])
			space, slash, end := w^' '*ones, w^'\\'*ones, w^'\n'*ones
			found := ((space-ones)&^space | (slash-ones)&^slash | (end-ones)&^end) & highBits
			if found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
		}
		for i < len(b) && b[i] != ' ' && b[i] != '\\' && b[i] != '\n' {
			i++
		}
		if i >= len(b) || b[i] != '\\' {
			return i
		}
		for i < len(b) && b[i] == '\\' {
			if i++; i < len(b) && b[i] == ' ' {
				i++
			}
		}
	}
}
