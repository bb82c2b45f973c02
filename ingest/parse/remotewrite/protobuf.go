package remotewrite

import (
	"encoding/binary"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// maxTag is the tag of the highest field number.
const maxTag = 1<<32 - 1

// uvarint decodes the varint at b[i] and returns the index of its end, or failed.
func uvarint(b []byte, i int) (value uint64, end int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	if i > len(b) {
		return 0, scan.Failed
	}
	value, n := binary.Uvarint(b[i:])
	if n <= 0 {
		return 0, scan.Failed
	}
	return value, i + n
}

// bytesField decodes the length at b[i] and returns the start and the end of the bytes
// after it. end is failed if b is too short.
func bytesField(b []byte, i int) (from, end int) {
	if i < len(b) && b[i] < 0x80 {
		if end = i + 1 + int(b[i]); end <= len(b) {
			return i + 1, end
		}
		return 0, scan.Failed
	}
	n, from := uvarint(b, i)
	if from == scan.Failed || n > uint64(len(b)-from) {
		return 0, scan.Failed
	}
	return from, from + int(n)
}

// skipField skips the field at b[i], including its tag, and returns the index of its end,
// or failed. It fails for groups, which are unused, and for tags that are longer than
// necessary, because such a tag could be that of a known field.
func skipField(b []byte, i int) int {
	start := i
	tag, i := uvarint(b, i)
	if i == scan.Failed || tag < 1<<3 || tag > maxTag || i-start > 1 && b[i-1] == 0 {
		return scan.Failed
	}
	switch tag & 7 {
	case wireVarint:
		_, i = uvarint(b, i)
	case wireFixed64:
		i += 8
	case wireBytes:
		_, i = bytesField(b, i)
	case wireFixed32:
		i += 4
	default:
		return scan.Failed
	}
	if i > len(b) {
		return scan.Failed
	}
	return i
}
