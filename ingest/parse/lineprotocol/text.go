package lineprotocol

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// blanks skips spaces and tabs.
func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// lineEnds reports whether a line ends at b[i], and where the next one begins. A
// carriage return before the line end, or at the end of all, belongs to it.
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

// afterLine returns where the line begins that follows b[i], whatever precedes
// it.
func afterLine(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// skipLine returns where the line begins that follows the one at b[i], which cannot
// be read. Where that one has the form of a line, its strings may have line ends
// in them, which do not count: what somebody wrote into a string is not taken for
// a line. Else a string is what looks like the value of a field, its end included,
// so that a quote that is not closed does not swallow the lines after it.
func skipLine(b []byte, i int) int {
	fields := scanHead(b, i)
	if end := scanFields(b, blanks(b, fields)); end != scan.Failed {
		return afterLine(b, end)
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

// scanFields returns where the fields end that begin at b[i], by their form alone:
// keys and values with commas between, whatever they are; or failed.
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

// scanQuoted returns where the string ends that begins with the quote at b[i], after
// its closing quote, or -1.
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

// scanHead returns where the head that begins at b[i] ends: at a space without a
// backslash before it, at the end of the line, or with b. It reads eight bytes
// at a time; a borrow can only mark a byte above a right one.
func scanHead(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for {
		for ; i+8 <= len(b); i += 8 {
			w := binary.LittleEndian.Uint64(b[i:])
			space, slash, end := w^' '*ones, w^'\\'*ones, w^'\n'*ones
			found := ((space-ones)&^space | (slash-ones)&^slash | (end-ones)&^end) & tops
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
